// The RawBuffer extension: the bytes behind a buffer, for frameworks that move them themselves.

#include "generated/features.h"
#include "generated/guard.h"
#include "plugin/await_on_failure.h"
#include "plugin/extensions.h"
#include "plugin/raw_buffer.h"

namespace PJRT_PLUGIN_NS::plugin {

#if PJRT_SCAFFOLD_HAS_PJRT_RawBuffer_Extension
namespace {

PJRT_Error* CreateRawAlias(PJRT_RawBuffer_CreateRawAliasOfBuffer_Args* args) {
  PJRT_PLUGIN_ASSIGN_OR_RETURN_C(
      RawBuffer * raw,
      RawBuffer::AliasOf(*FromC(args->buffer), "PJRT_RawBuffer_CreateRawAliasOfBuffer"));
  args->raw_buffer = ToC(raw);
  return nullptr;
}

PJRT_Error* DestroyRaw(PJRT_RawBuffer_Destroy_Args* args) {
  RawBuffer::DropReference(FromC(args->buffer));
  return nullptr;
}

PJRT_Error* RawSize(PJRT_RawBuffer_GetOnDeviceSizeInBytes_Args* args) {
  args->on_device_size_in_bytes = FromC(args->buffer)->region.bytes;
  return nullptr;
}

PJRT_Error* RawMemory(PJRT_RawBuffer_GetMemorySpace_Args* args) {
  args->memory_space = ToC(FromC(args->buffer)->memory);
  return nullptr;
}

PJRT_Error* RawFromHost(PJRT_RawBuffer_CopyRawHostToDevice_Args* args) {
  PJRT_PLUGIN_ASSIGN_OR_RETURN_C(
      Completion done, FromC(args->buffer)
                           ->CopyFromHost(args->src, args->offset, args->transfer_size, {},
                                          "PJRT_RawBuffer_CopyRawHostToDevice"));
  const AwaitOnFailure await(done);
  args->event = NewEvent(std::move(done));
  return nullptr;
}

PJRT_Error* RawDeviceToHost(PJRT_RawBuffer_CopyRawDeviceToHost_Args* args) {
  PJRT_PLUGIN_ASSIGN_OR_RETURN_C(Completion done,
                                 FromC(args->buffer)
                                     ->CopyToHost(args->dst, args->offset, args->transfer_size, {},
                                                  "PJRT_RawBuffer_CopyRawDeviceToHost"));
  const AwaitOnFailure await(done);
  args->event = NewEvent(std::move(done));
  return nullptr;
}

#if PJRT_SCAFFOLD_HAS_PJRT_RawBuffer_GetHostPointer
// Null is an answer, and failures are not: frameworks end the process at one.
PJRT_Error* RawHostPointer(PJRT_RawBuffer_GetHostPointer_Args* args) {
  args->host_pointer = FromC(args->buffer)->HostPointer();
  return nullptr;
}
#endif

}  // namespace

PJRT_Extension_Base* RawBufferExtension(PJRT_Extension_Base* next) {
  using generated::Guard;
  static PJRT_RawBuffer_Extension extension = {};
  extension.PJRT_RawBuffer_CreateRawAliasOfBuffer = &Guard<&CreateRawAlias>::Call;
  extension.PJRT_RawBuffer_Destroy = &Guard<&DestroyRaw>::Call;
  extension.PJRT_RawBuffer_GetOnDeviceSizeInBytes = &Guard<&RawSize>::Call;
  extension.PJRT_RawBuffer_GetMemorySpace = &Guard<&RawMemory>::Call;
  extension.PJRT_RawBuffer_CopyRawHostToDevice = &Guard<&RawFromHost>::Call;
  extension.PJRT_RawBuffer_CopyRawDeviceToHost = &Guard<&RawDeviceToHost>::Call;
#if PJRT_SCAFFOLD_HAS_PJRT_RawBuffer_GetHostPointer
  extension.PJRT_RawBuffer_GetHostPointer = &Guard<&RawHostPointer>::Call;
#endif
  return LinkExtension(&extension, PJRT_Extension_Type_RawBuffer, next);
}
#else
PJRT_Extension_Base* RawBufferExtension(PJRT_Extension_Base* next) { return next; }
#endif

}  // namespace PJRT_PLUGIN_NS::plugin
