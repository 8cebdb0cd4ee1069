// The MemoryDescriptions extension: the memories of a device as a topology describes them, without
// a client.

#include "generated/features.h"
#include "generated/guard.h"
#include "generated/pjrt_extensions.h"
#include "plugin/device.h"
#include "plugin/extensions.h"
#include "plugin/memory.h"

namespace PJRT_PLUGIN_NS::plugin {

#if PJRT_SCAFFOLD_HAS_PJRT_MemoryDescriptions_Extension
namespace {

// A memory describes itself: the handle of the one is that of the other.
PJRT_Error* OfDevice(PJRT_DeviceDescription_MemoryDescriptions_Args* args) {
  const std::vector<Memory*>& memories = FromC(args->device_description)->memories;
  args->memory_descriptions =
      reinterpret_cast<const PJRT_MemoryDescription* const*>(memories.data());
  args->num_memory_descriptions = memories.size();
#if PJRT_SCAFFOLD_HAS_PJRT_DeviceDescription_MemoryDescriptions_Args_default_memory_index
  args->default_memory_index = 0;
#endif
  return nullptr;
}

PJRT_Error* Kind(PJRT_MemoryDescription_Kind_Args* args) {
  const Memory* memory = FromC(reinterpret_cast<const PJRT_Memory*>(args->memory_description));
  const backend::MemoryInfo& info = memory->impl->info();
  args->kind = info.kind.data();
  args->kind_size = info.kind.size();
  args->kind_id = KindId(info.kind);
  return nullptr;
}

}  // namespace

PJRT_Extension_Base* MemoryDescriptionsExtension(PJRT_Extension_Base* next) {
  using generated::Guard;
  static PJRT_MemoryDescriptions_Extension extension = {};
  extension.PJRT_DeviceDescription_MemoryDescriptions = &Guard<&OfDevice>::Call;
  extension.PJRT_MemoryDescription_Kind = &Guard<&Kind>::Call;
  return LinkExtension(&extension, PJRT_Extension_Type_MemoryDescriptions, next);
}
#else
PJRT_Extension_Base* MemoryDescriptionsExtension(PJRT_Extension_Base* next) { return next; }
#endif

}  // namespace PJRT_PLUGIN_NS::plugin
