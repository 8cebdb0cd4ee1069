// The Profiler extension: jax.profiler's profiles of this plugin, as Profiler records them. Up to
// jaxlib 0.9 frameworks start the profiler of every plugin when a profile is taken, and end the
// process where there is none.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "generated/features.h"
#include "generated/pjrt_extensions.h"
#include "plugin/error.h"
#include "plugin/extensions.h"
#include "plugin/profiler.h"
#include "plugin/proto.h"
#include "plugin/xspace.h"

namespace PJRT_PLUGIN_NS::plugin {

#if PJRT_SCAFFOLD_HAS_PJRT_Profiler_Extension
namespace {

// One profile: created, started, stopped, collected and destroyed, in this order, on any threads,
// one call at a time.
struct ProfileSession {
  ProfileOptions options;
  bool running = false;
  std::unique_ptr<Trace> trace;  // stopped, not yet serialized
  std::string bytes;             // serialized

  ~ProfileSession() {
    if (running) (void)Profiler::Get().Stop();
  }
};
struct ProfilerError {
  Status status;
};

// XLA's profiler interface for plugins, version 1. Callers do not set struct_size in arguments.
// They pass a handle that Create gives; errors are null or a handle of the plugin's.
struct CreateArgs {
  size_t struct_size;
  const char* options;
  size_t options_size;
  ProfileSession* profiler;  // out
};
struct ProfilerArgs {
  size_t struct_size;
  ProfileSession* profiler;
};
struct CollectDataArgs {
  size_t struct_size;
  ProfileSession* profiler;
  uint8_t* buffer;              // in: where to write, or null; out: the bytes
  size_t buffer_size_in_bytes;  // out
};
struct ErrorArgs {
  size_t struct_size;
  void* priv;
  const ProfilerError* error;
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
  ProfilerError* (*error_get_code)(ErrorCodeArgs*);
  ProfilerError* (*create)(CreateArgs*);
  ProfilerError* (*destroy)(ProfilerArgs*);
  ProfilerError* (*start)(ProfilerArgs*);
  ProfilerError* (*stop)(ProfilerArgs*);
  ProfilerError* (*collect_data)(CollectDataArgs*);
};
static_assert(sizeof(ProfilerTable) == 10 * sizeof(void*));

// Fields of the ProfileOptions message, of which a value that is 0 is left out.
enum ProfileOptionsField : uint32_t {
  kHostTracerLevel = 2,
  kDeviceTracerLevel = 3,
  kVersion = 5,
  kAdvancedConfiguration = 12
};
// Entries of the advanced configuration, a map, and its values.
enum AdvancedField : uint32_t { kKey = 1, kValue = 2, kInt64Value = 3 };

// The advanced option <platform>_profile_bytes: how much memory a profile may take.
void ReadAdvanced(std::string_view bytes, ProfileOptions* options) {
  std::string_view key, value;
  for (ProtoReader entry(bytes); entry.Next();) {
    if (entry.field() == kKey) key = entry.bytes();
    if (entry.field() == kValue) value = entry.bytes();
  }
  if (key != std::string(kPlatformName) + "_profile_bytes") return;
  for (ProtoReader reader(value); reader.Next();) {
    if (reader.field() == kInt64Value) options->max_bytes = size_t(reader.varint());
  }
}

Result<ProfileOptions> ReadProfileOptions(std::string_view bytes) {
  ProfileOptions options;
  uint64_t version = 0, host_level = 0, device_level = 0;
  ProtoReader reader(bytes);
  while (reader.Next()) {
    if (reader.field() == kVersion) version = reader.varint();
    if (reader.field() == kHostTracerLevel) host_level = reader.varint();
    if (reader.field() == kDeviceTracerLevel) device_level = reader.varint();
    if (reader.field() == kAdvancedConfiguration) ReadAdvanced(reader.bytes(), &options);
  }
  if (!reader.ok()) {
    return InvalidArgument("PLUGIN_Profiler_Create: the options are no ProfileOptions message");
  }
  if (version != 0) {  // before there were versions there were no levels
    options.host = host_level != 0;
    options.devices = device_level != 0;
  }
  return options;
}

Status CreateSession(CreateArgs* args) {
  args->profiler = nullptr;
  std::string_view bytes;
  if (args->options != nullptr) bytes = {args->options, args->options_size};
  auto session = std::make_unique<ProfileSession>();
  PJRT_PLUGIN_ASSIGN_OR_RETURN(session->options, ReadProfileOptions(bytes));
  args->profiler = session.release();
  return Status();
}

Status DestroySession(ProfilerArgs* args) {
  delete args->profiler;
  return Status();
}

// Callers may start what runs, and stop what does not.
Status StartSession(ProfilerArgs* args) {
  ProfileSession& session = *args->profiler;
  if (session.running) return Status();
  PJRT_PLUGIN_RETURN_IF_ERROR(Profiler::Get().Start(session.options));
  session.running = true;
  session.trace.reset();
  session.bytes.clear();
  return Status();
}

Status StopSession(ProfilerArgs* args) {
  ProfileSession& session = *args->profiler;
  if (!session.running) return Status();
  session.trace = Profiler::Get().Stop();
  session.running = false;
  return Status();
}

// Callers either read the bytes where they are, or ask for the size first and then for a copy.
Status CollectData(CollectDataArgs* args) {
  ProfileSession& session = *args->profiler;
  if (session.running) {
    return FailedPrecondition("PLUGIN_Profiler_CollectData: the profile runs; stop it first");
  }
  if (session.trace != nullptr) {
    session.bytes = SerializeXSpace(*session.trace);
    session.trace.reset();
  }
  auto* const bytes = reinterpret_cast<uint8_t*>(session.bytes.data());
  args->buffer_size_in_bytes = session.bytes.size();
  if (args->buffer == nullptr) {
    if (!session.bytes.empty()) args->buffer = bytes;
  } else if (args->buffer != bytes) {
    std::memcpy(args->buffer, bytes, session.bytes.size());
  }
  return Status();
}

ProfilerError* MakeProfilerError(Status status) noexcept {
  return status.ok() ? nullptr : new (std::nothrow) ProfilerError{std::move(status)};
}

template <typename Args, Status (*kFunction)(Args*)>
ProfilerError* Guarded(Args* args) noexcept {
  try {
    return MakeProfilerError(kFunction(args));
  } catch (const std::exception& error) {
    return MakeProfilerError(Internal(error.what()));
  }
}

void DestroyProfilerError(ErrorArgs* args) { delete args->error; }

// Callers ask for no code and no message of null.
void MessageOfProfilerError(ErrorMessageArgs* args) {
  const std::string_view message = args->base.error->status.message();
  args->message = message.data();
  args->message_size = message.size();
}

ProfilerError* CodeOfProfilerError(ErrorCodeArgs* args) {
  args->code = int(args->base.error->status.code());
  return nullptr;
}

}  // namespace

PJRT_Extension_Base* ProfilerExtension(PJRT_Extension_Base* next) {
  static ProfilerTable table = {
      .struct_size = sizeof(ProfilerTable),
      .priv = nullptr,
      .error_destroy = &DestroyProfilerError,
      .error_message = &MessageOfProfilerError,
      .error_get_code = &CodeOfProfilerError,
      .create = &Guarded<CreateArgs, CreateSession>,
      .destroy = &Guarded<ProfilerArgs, DestroySession>,
      .start = &Guarded<ProfilerArgs, StartSession>,
      .stop = &Guarded<ProfilerArgs, StopSession>,
      .collect_data = &Guarded<CollectDataArgs, CollectData>,
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
