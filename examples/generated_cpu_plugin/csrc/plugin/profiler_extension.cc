// The Profiler extension, with a profiler that records nothing: frameworks up to jaxlib 0.9 start
// the profiler of every plugin when a program is traced, and end the process where there is none.

#include <cstddef>
#include <cstdint>

#include "generated/features.h"
#include "generated/pjrt_extensions.h"
#include "plugin/extensions.h"

namespace PJRT_PLUGIN_NS::plugin {

#if PJRT_SCAFFOLD_HAS_PJRT_Profiler_Extension
namespace {

// XLA's profiler interface for plugins, version 1. Callers do not set struct_size in arguments.
// They pass a handle that Create gives; errors are null or a handle of the plugin's.
struct CreateArgs {
  size_t struct_size;
  const char* options;
  size_t options_size;
  void* profiler;  // out
};
struct ProfilerArgs {
  size_t struct_size;
  void* profiler;
};
struct CollectDataArgs {
  size_t struct_size;
  void* profiler;
  uint8_t* buffer;              // out
  size_t buffer_size_in_bytes;  // out
};
struct ErrorArgs {
  size_t struct_size;
  void* priv;
  const void* error;
};
struct ErrorMessageArgs {
  ErrorArgs base;
  const char* message;  // out
  size_t message_size;  // out
};
struct ErrorCodeArgs {
  ErrorArgs base;
  int code;  // out
};
// Later versions append members, but the older frameworks want exactly this size.
struct ProfilerTable {
  size_t struct_size;
  void* priv;
  void (*error_destroy)(ErrorArgs*);
  void (*error_message)(ErrorMessageArgs*);
  void* (*error_get_code)(ErrorCodeArgs*);
  void* (*create)(CreateArgs*);
  void* (*destroy)(ProfilerArgs*);
  void* (*start)(ProfilerArgs*);
  void* (*stop)(ProfilerArgs*);
  void* (*collect_data)(CollectDataArgs*);
};
static_assert(sizeof(ProfilerTable) == 10 * sizeof(void*));

void* DoNothing(ProfilerArgs*) { return nullptr; }

void* CreateProfiler(CreateArgs* args) {
  static int profiler;  // stateless: all share it
  args->profiler = &profiler;
  return nullptr;
}

void* CollectNothing(CollectDataArgs* args) {
  args->buffer = nullptr;
  args->buffer_size_in_bytes = 0;
  return nullptr;
}

// There are no errors; these are here because callers do not ask.
void DestroyProfilerError(ErrorArgs*) {}
void* CodeOfProfilerError(ErrorCodeArgs* args) {
  args->code = 0;
  return nullptr;
}
void MessageOfProfilerError(ErrorMessageArgs* args) {
  args->message = "";
  args->message_size = 0;
}

}  // namespace

PJRT_Extension_Base* ProfilerExtension(PJRT_Extension_Base* next) {
  static ProfilerTable table = {
      .struct_size = sizeof(ProfilerTable),
      .priv = nullptr,
      .error_destroy = &DestroyProfilerError,
      .error_message = &MessageOfProfilerError,
      .error_get_code = &CodeOfProfilerError,
      .create = &CreateProfiler,
      .destroy = &DoNothing,
      .start = &DoNothing,
      .stop = &DoNothing,
      .collect_data = &CollectNothing,
  };
  static PJRT_Profiler_Extension extension = {};
  extension.profiler_api = reinterpret_cast<PLUGIN_Profiler_Api*>(&table);
  extension.traceme_context_id = 0;
  return LinkExtension(&extension, PJRT_Extension_Type_Profiler, next);
}
#else
PJRT_Extension_Base* ProfilerExtension(PJRT_Extension_Base* next) { return next; }
#endif

}  // namespace PJRT_PLUGIN_NS::plugin
