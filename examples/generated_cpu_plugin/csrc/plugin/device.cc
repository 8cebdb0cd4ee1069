#include "plugin/device.h"

#include <string>
#include <string_view>
#include <utility>

#include "plugin/client.h"
#include "plugin/layer.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

// -1 in a backend's figures: not known.
void SetFigure(int64_t figure, int64_t* value, bool* is_set) {
  *is_set = figure >= 0;
  *value = *is_set ? figure : 0;
}

}  // namespace

Memory* Device::FindMemory(std::string_view kind) const {
  for (Memory* memory : memories()) {
    if (memory->impl->info().kind == kind) return memory;
  }
  return nullptr;
}

PJRT_Error* Layer::DeviceDescription_Id(PJRT_DeviceDescription_Id_Args* args) {
  args->id = FromC(args->device_description)->info.id;
  return nullptr;
}

PJRT_Error* Layer::DeviceDescription_ProcessIndex(PJRT_DeviceDescription_ProcessIndex_Args* args) {
  args->process_index = FromC(args->device_description)->info.process_index;
  return nullptr;
}

PJRT_Error* Layer::DeviceDescription_Attributes(PJRT_DeviceDescription_Attributes_Args* args) {
  const NamedValues& attributes = FromC(args->device_description)->attributes;
  args->attributes = attributes.data();
  args->num_attributes = attributes.size();
  return nullptr;
}

PJRT_Error* Layer::DeviceDescription_Kind(PJRT_DeviceDescription_Kind_Args* args) {
  const std::string& kind = FromC(args->device_description)->info.kind;
  args->device_kind = kind.data();
  args->device_kind_size = kind.size();
  return nullptr;
}

PJRT_Error* Layer::DeviceDescription_DebugString(PJRT_DeviceDescription_DebugString_Args* args) {
  const std::string& text = FromC(args->device_description)->info.debug_string;
  args->debug_string = text.data();
  args->debug_string_size = text.size();
  return nullptr;
}

PJRT_Error* Layer::DeviceDescription_ToString(PJRT_DeviceDescription_ToString_Args* args) {
  const std::string& text = FromC(args->device_description)->info.to_string;
  args->to_string = text.data();
  args->to_string_size = text.size();
  return nullptr;
}

PJRT_Error* Layer::Device_GetDescription(PJRT_Device_GetDescription_Args* args) {
  args->device_description = ToC(&FromC(args->device)->description);
  return nullptr;
}

PJRT_Error* Layer::Device_IsAddressable(PJRT_Device_IsAddressable_Args* args) {
  args->is_addressable = FromC(args->device)->addressable;
  return nullptr;
}

PJRT_Error* Layer::Device_LocalHardwareId(PJRT_Device_LocalHardwareId_Args* args) {
  args->local_hardware_id = FromC(args->device)->impl->info().local_hardware_id;
  return nullptr;
}

PJRT_Error* Layer::Device_AddressableMemories(PJRT_Device_AddressableMemories_Args* args) {
  const std::vector<Memory*>& memories = FromC(args->device)->memories();
  args->memories = reinterpret_cast<PJRT_Memory* const*>(memories.data());
  args->num_memories = memories.size();
  return nullptr;
}

PJRT_Error* Layer::Device_DefaultMemory(PJRT_Device_DefaultMemory_Args* args) {
  const Device* device = FromC(args->device);
  if (device->memories().empty()) {
    return MakeError(InvalidArgument(
        "PJRT_Device_DefaultMemory: device " + std::to_string(device->impl->info().id) +
        " belongs to another process, which alone can reach its memories"));
  }
  args->memory = ToC(device->memories().front());
  return nullptr;
}

PJRT_Error* Layer::Device_MemoryStats(PJRT_Device_MemoryStats_Args* args) {
  const Device* device = FromC(args->device);
  if (device->memories().empty()) {
    return MakeError(
        Unimplemented("PJRT_Device_MemoryStats: the device belongs to another process"));
  }
  PJRT_PLUGIN_ASSIGN_OR_RETURN_C(const backend::MemoryStats stats,
                                 device->memories().front()->impl->Stats());
  // Callers do not clear the struct: what is not written here would be garbage to them.
  PJRT_Device_MemoryStats_Args out = {};
  out.struct_size = args->struct_size;
  out.extension_start = args->extension_start;
  out.device = args->device;
  out.bytes_in_use = stats.bytes_in_use;
  SetFigure(stats.peak_bytes_in_use, &out.peak_bytes_in_use, &out.peak_bytes_in_use_is_set);
  SetFigure(stats.num_allocs, &out.num_allocs, &out.num_allocs_is_set);
  SetFigure(stats.largest_alloc_size, &out.largest_alloc_size, &out.largest_alloc_size_is_set);
  SetFigure(stats.bytes_limit, &out.bytes_limit, &out.bytes_limit_is_set);
  *args = out;
  return nullptr;
}

#if PJRT_SCAFFOLD_HAS_PJRT_Device_ClearMemoryStats
PJRT_Error* Layer::Device_ClearMemoryStats(PJRT_Device_ClearMemoryStats_Args* args) {
  const Device* device = FromC(args->device);
  if (device->memories().empty()) {
    return MakeError(
        Unimplemented("PJRT_Device_ClearMemoryStats: the device belongs to another process"));
  }
  return MakeError(device->memories().front()->impl->ClearStats());
}
#endif

#if PJRT_SCAFFOLD_HAS_PJRT_Device_GetAttributes
PJRT_Error* Layer::Device_GetAttributes(PJRT_Device_GetAttributes_Args* args) {
  const NamedValues& attributes = FromC(args->device)->description.attributes;
  args->attributes = attributes.data();
  args->num_attributes = attributes.size();
  args->device_attributes = nullptr;  // the client owns them
  args->attributes_deleter = [](PJRT_Device_Attributes*) {};
  return nullptr;
}
#endif

#if PJRT_SCAFFOLD_HAS_PJRT_Device_PoisonExecution
PJRT_Error* Layer::Device_PoisonExecution(PJRT_Device_PoisonExecution_Args* args) {
  constexpr char kFunction[] = "PJRT_Device_PoisonExecution";
  const Device* device = FromC(args->device);
  PJRT_PLUGIN_RETURN_IF_C_ERROR(device->client->CheckProcess(kFunction));
  Status::Payloads payloads;
#if PJRT_SCAFFOLD_HAS_PJRT_Device_PoisonExecution_Args_payload
  payloads = ReadPayloads(args->payload, args->num_payload);
#endif
  const Status failure = MakeStatus(args->error_code, args->error_message, args->error_message_size,
                                    std::move(payloads));
  if (failure.ok()) {
    return MakeError(
        InvalidArgument(std::string(kFunction) + ": error_code is OK; give the code of a failure"));
  }
  args->poisoned = device->client->work.Poison(device, args->launch_id, failure);
  return nullptr;
}
#endif

}  // namespace PJRT_PLUGIN_NS::plugin
