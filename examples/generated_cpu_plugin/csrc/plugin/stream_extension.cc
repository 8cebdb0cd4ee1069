// The Stream extension, for frameworks that share buffers with others (DLPack): the queue of a
// device in which foreign work tells that it is done, and a buffer that foreign work in such a
// queue waits for.
//
// A stream is whatever the makers of the hardware call a stream, so only a backend that has them
// can give one (backend::Stream::NativeHandle). Waiting is different: a buffer that is ready before
// the caller goes on is ready for all that the caller puts into any queue afterwards, so without
// help of the backend the caller itself waits.

#include <cstdint>
#include <string>

#include "generated/features.h"
#include "generated/guard.h"
#include "generated/pjrt_extensions.h"
#include "plugin/buffer.h"
#include "plugin/extensions.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

PJRT_Error* GetExternalStream(PJRT_Get_Stream_For_External_Ready_Events_Args* args) {
  constexpr char kFunction[] = "PJRT_Get_Stream_For_External_Ready_Events";
  const Device* device = FromC(args->device);
  PJRT_PLUGIN_RETURN_IF_C_ERROR(CheckPointer(device, 1, "device", kFunction));
  if (!device->addressable) {
    return MakeError(InvalidArgument(std::string(kFunction) + ": device " +
                                     std::to_string(device->impl->info().id) +
                                     " belongs to another process"));
  }
  const Result<intptr_t> handle = device->impl->stream().NativeHandle();
  if (!handle.ok()) return MakeError(handle.status().Annotated(kFunction));
  args->stream = *handle;
  return nullptr;
}

PJRT_Error* WaitOnExternalStream(PJRT_Wait_Until_Buffer_Ready_On_Stream_Args* args) {
  constexpr char kFunction[] = "PJRT_Wait_Until_Buffer_Ready_On_Stream";
  Buffer* buffer = FromC(args->buffer);
  PJRT_PLUGIN_RETURN_IF_C_ERROR(CheckPointer(buffer, 1, "buffer", kFunction));
  PJRT_PLUGIN_RETURN_IF_C_ERROR(buffer->client->CheckProcess(kFunction));
  const Status status = buffer->device->impl->stream().WaitOn(args->stream, buffer->ready);
  return MakeError(status.ok() ? status : status.Annotated(kFunction));
}

}  // namespace

PJRT_Extension_Base* StreamExtension(PJRT_Extension_Base* next) {
  using generated::Guard;
  static PJRT_Stream_Extension extension = {};
  extension.get_stream = &Guard<&GetExternalStream>::Call;
  extension.wait_stream = &Guard<&WaitOnExternalStream>::Call;
  return LinkExtension(&extension, PJRT_Extension_Type_Stream, next);
}

}  // namespace PJRT_PLUGIN_NS::plugin
