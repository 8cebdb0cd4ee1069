// Functions that copy buffers: to the host, and to other devices and memories.

#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "plugin/await_on_failure.h"
#include "plugin/buffer.h"
#include "plugin/host_copy.h"
#include "plugin/layer.h"
#include "plugin/profiler.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

// Where and how the caller wants the array; without a layout, as it lies on the device.
struct HostTarget {
  Strides strides;
  bool as_on_device;  // byte for byte
  size_t bytes;       // from the first to the last byte that is written
};

Result<HostTarget> ReadTarget(const PJRT_Buffer_MemoryLayout* layout, const backend::Shape& shape) {
  constexpr char kFunction[] = "PJRT_Buffer_ToHostBuffer";
  if (layout == nullptr) return HostTarget{{}, true, shape.byte_size()};
  PJRT_PLUGIN_ASSIGN_OR_RETURN(Strides strides, LayoutStrides(layout, shape, kFunction));
  PJRT_PLUGIN_ASSIGN_OR_RETURN(const size_t bytes, Extent(shape, strides, kFunction));
  for (size_t i = 0; i < strides.size(); ++i) {
    if (shape.dims[i] > 1 && strides[i] <= 0) {
      return InvalidArgument(std::string(kFunction) + ": stride " + std::to_string(i) +
                             " of host_layout is " + std::to_string(strides[i]) +
                             "; strides to write to must be positive");
    }
  }
  const bool as_on_device = IsAsOnDevice(shape, strides);
  return HostTarget{std::move(strides), as_on_device, bytes};
}

void CopyOut(const backend::Shape& shape, const void* from, const HostTarget& target, void* dst) {
  if (target.as_on_device) {
    std::memcpy(dst, from, shape.byte_size());
  } else {
    CopyStrided(shape.dims, DTypeBytes(shape.dtype), from, DeviceStrides(shape), dst,
                target.strides);
  }
}

// The transfer of a dense array, and then the caller's layout out of that.
Completion CopyStaged(Buffer& buffer, const Block& block, HostTarget target, void* dst) {
  const size_t bytes = buffer.shape.byte_size();
  std::shared_ptr<std::byte[]> staging(new std::byte[bytes]);
  auto [done, promise] = backend::MakeCompletion();
  const Completion copied = buffer.device->impl->stream().CopyToHost(
      {block, 0, bytes}, staging.get(), {&buffer.ready, 1});
  const AwaitOnFailure await(copied);
  copied.OnReady(
      [staging, dst, shape = buffer.shape, target = std::move(target),
       promise = std::make_shared<backend::Promise>(std::move(promise))](const Status& status) {
        if (status.ok()) CopyOut(shape, staging.get(), target, dst);
        promise->Set(status);
      });
  return done;
}

Result<Completion> ToHost(Buffer& buffer, HostTarget target, void* dst) {
  constexpr char kFunction[] = "PJRT_Buffer_ToHostBuffer";
  PJRT_PLUGIN_RETURN_IF_ERROR(buffer.client->CheckProcess(kFunction));
  if (buffer.IsDeleted()) return buffer.DeletedError(kFunction);
  if (buffer.ready.IsReady() && !buffer.ready.status().ok()) return buffer.ready;
  PJRT_PLUGIN_ASSIGN_OR_RETURN(Buffer::Use use, buffer.Read(kFunction));
  const size_t bytes = buffer.shape.byte_size();
  if (bytes == 0) return buffer.ready;
  const Recording recording(buffer.device->impl->info().id, Work::kDeviceToHost, bytes,
                            {&buffer.ready, 1});
  if (buffer.memory->host_accessible && buffer.ready.IsReady()) {
    CopyOut(buffer.shape, use.block()->address(), target, dst);
    recording.Until(Completion());
    return Completion();
  }
  Completion done = target.as_on_device ? buffer.device->impl->stream().CopyToHost(
                                              {use.block(), 0, bytes}, dst, {&buffer.ready, 1})
                                        : CopyStaged(buffer, use.block(), std::move(target), dst);
  const AwaitOnFailure await(done);
  recording.Until(done);
  buffer.client->work.Add(done, buffer.IsWaitingForCaller());
  use.End(done);
  return done;
}

// A reading of a part of the block as it is.
Result<Buffer::Use> ReadRaw(Buffer& buffer, int64_t offset, int64_t size, const char* function) {
  PJRT_PLUGIN_RETURN_IF_ERROR(buffer.client->CheckProcess(function));
  PJRT_PLUGIN_RETURN_IF_ERROR(CheckPart(offset, size, buffer.shape.byte_size(), function));
  return buffer.Read(function);
}

// Old API versions lack both functions that copy raw bytes.
[[maybe_unused]] Result<Completion> RawToHost(Buffer& buffer, void* dst, int64_t offset,
                                              int64_t size) {
  constexpr char kFunction[] = "PJRT_Buffer_CopyRawToHost";
  PJRT_PLUGIN_ASSIGN_OR_RETURN(Buffer::Use use, ReadRaw(buffer, offset, size, kFunction));
  PJRT_PLUGIN_RETURN_IF_ERROR(CheckPointer(dst, size_t(size), "dst", kFunction));
  if (size == 0) return buffer.ready;
  const Recording recording(buffer.device->impl->info().id, Work::kDeviceToHost, size_t(size),
                            {&buffer.ready, 1});
  Completion done = buffer.device->impl->stream().CopyToHost(
      {use.block(), size_t(offset), size_t(size)}, dst, {&buffer.ready, 1});
  const AwaitOnFailure await(done);
  recording.Until(done);
  buffer.client->work.Add(done, buffer.IsWaitingForCaller());
  use.End(done);
  return done;
}

Result<Buffer*> CopyTo(Buffer& buffer, Device* device, Memory* memory, const char* function) {
  PJRT_PLUGIN_RETURN_IF_ERROR(buffer.client->CheckProcess(function));
  if (memory->client != buffer.client.get()) {
    return InvalidArgument(std::string(function) +
                           ": the destination belongs to another client; copy through the host");
  }
  if (buffer.IsDeleted()) return buffer.DeletedError(function);
  if (buffer.ready.IsReady() && !buffer.ready.status().ok()) {
    return NewErrorBuffer(buffer.client, device, memory, buffer.shape, buffer.ready.status());
  }
  const size_t bytes = buffer.shape.byte_size();
  PJRT_PLUGIN_ASSIGN_OR_RETURN(Block block, memory->Allocate(bytes));
  PJRT_PLUGIN_ASSIGN_OR_RETURN(Buffer::Use use, buffer.Read(function));
  Completion done = buffer.ready;
  if (bytes != 0) {
    const Recording recording(device->impl->info().id, Work::kDeviceToDevice, bytes,
                              {&buffer.ready, 1});
    done = buffer.device->impl->stream().Copy({use.block(), 0, bytes}, {block, 0, bytes},
                                              {&buffer.ready, 1});
    recording.Until(done);
    buffer.client->work.Add(done, buffer.IsWaitingForCaller());
    use.End(done);
  }
  Buffer* const copy =
      new Buffer(buffer.client, device, memory, buffer.shape, std::move(block), std::move(done));
  copy->waits_for_caller = buffer.IsWaitingForCaller();
  return copy;
}

}  // namespace

PJRT_Error* Layer::Buffer_ToHostBuffer(PJRT_Buffer_ToHostBuffer_Args* args) {
  Buffer& buffer = *FromC(args->src);
  PJRT_PLUGIN_ASSIGN_OR_RETURN_C(HostTarget target, ReadTarget(args->host_layout, buffer.shape));
  if (args->dst == nullptr) {  // a question: how many bytes?
    args->dst_size = target.bytes;
    args->event = nullptr;
    return nullptr;
  }
  if (args->dst_size < target.bytes) {
    return MakeError(
        InvalidArgument("PJRT_Buffer_ToHostBuffer: dst_size is " + std::to_string(args->dst_size) +
                        " bytes, but the array takes " + std::to_string(target.bytes)));
  }
  PJRT_PLUGIN_ASSIGN_OR_RETURN_C(Completion done, ToHost(buffer, std::move(target), args->dst));
  const AwaitOnFailure await(done);
  args->event = NewEvent(std::move(done));
  return nullptr;
}

PJRT_Error* Layer::Buffer_CopyToDevice(PJRT_Buffer_CopyToDevice_Args* args) {
  constexpr char kFunction[] = "PJRT_Buffer_CopyToDevice";
  Device* device = FromC(args->dst_device);
  if (!device->addressable) {
    return MakeError(
        InvalidArgument(std::string(kFunction) + ": the destination belongs to another process"));
  }
  PJRT_PLUGIN_ASSIGN_OR_RETURN_C(
      Buffer * copy, CopyTo(*FromC(args->buffer), device, device->memories().front(), kFunction));
  args->dst_buffer = ToC(copy);
  return nullptr;
}

PJRT_Error* Layer::Buffer_CopyToMemory(PJRT_Buffer_CopyToMemory_Args* args) {
  Memory* memory = FromC(args->dst_memory);
  PJRT_PLUGIN_ASSIGN_OR_RETURN_C(
      Buffer * copy,
      CopyTo(*FromC(args->buffer), memory->devices.front(), memory, "PJRT_Buffer_CopyToMemory"));
  args->dst_buffer = ToC(copy);
  return nullptr;
}

#if PJRT_SCAFFOLD_HAS_PJRT_Buffer_CopyRawToHost
PJRT_Error* Layer::Buffer_CopyRawToHost(PJRT_Buffer_CopyRawToHost_Args* args) {
  Buffer& buffer = *FromC(args->buffer);
  PJRT_PLUGIN_ASSIGN_OR_RETURN_C(Completion done,
                                 RawToHost(buffer, args->dst, args->offset, args->transfer_size));
  const AwaitOnFailure await(done);
  args->event = NewEvent(std::move(done));
  return nullptr;
}
#endif

#if PJRT_SCAFFOLD_HAS_PJRT_Buffer_CopyRawToHostFuture
namespace {

// A copy whose destination the caller names later, once.
struct LateCopy {
  static constexpr char kFunction[] = "PJRT_Buffer_CopyRawToHostFuture";

  std::shared_ptr<Client> client;
  backend::Device* device;
  backend::Region from;
  Completion ready;
  backend::Promise promise;

  void Start(void* dst) && {
    Status status = CheckPointer(dst, from.bytes, "dst", kFunction);
    if (!status.ok() || from.bytes == 0) {
      promise.Set(std::move(status));
      return;
    }
    const auto done = std::make_shared<const backend::Promise>(std::move(promise));
    const Recording recording(device->info().id, Work::kDeviceToHost, from.bytes, {&ready, 1});
    const Completion copied = device->stream().CopyToHost(from, dst, {&ready, 1});
    const AwaitOnFailure await(copied);
    recording.Until(copied);
    copied.OnReady([done](const Status& status) { done->Set(status); });
  }
};

void StartLateCopy(PJRT_Buffer_CopyRawToHostFuture_Callback_Args* args) noexcept {
  std::unique_ptr<LateCopy> copy(static_cast<LateCopy*>(args->callback_data));
  try {
    Status status = MakeStatus(args->error_code, args->error_message, args->error_message_size);
    if (status.ok()) return std::move(*copy).Start(args->dst);
    copy->promise.Set(std::move(status));
  } catch (...) {
    // There is nobody to tell but the event, which a dropped promise fails.
  }
}

}  // namespace

PJRT_Error* Layer::Buffer_CopyRawToHostFuture(PJRT_Buffer_CopyRawToHostFuture_Args* args) {
  Buffer& buffer = *FromC(args->buffer);
  PJRT_PLUGIN_ASSIGN_OR_RETURN_C(
      Buffer::Use use, ReadRaw(buffer, args->offset, args->transfer_size, LateCopy::kFunction));
  auto [done, promise] = backend::MakeCompletion();
  args->event = NewEvent(done);
  args->callback_data =
      new LateCopy{buffer.client,
                   buffer.device->impl,
                   {use.block(), size_t(args->offset), size_t(args->transfer_size)},
                   buffer.ready,
                   std::move(promise)};
  args->future_ready_callback = StartLateCopy;
  buffer.client->work.Add(done, /*waits_for_caller=*/true);
  use.End(done);
  return nullptr;
}
#endif

}  // namespace PJRT_PLUGIN_NS::plugin
