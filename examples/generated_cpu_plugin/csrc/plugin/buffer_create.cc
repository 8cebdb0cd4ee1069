// Functions that make buffers out of something else than buffers.

#include <algorithm>
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

// Below this many bytes a copy is cheaper than keeping the caller's memory alive.
constexpr size_t kWorthSharing = 16 << 10;

struct Place {
  Device* device;
  Memory* memory;
};

// Callers name a memory, or a device whose default memory is meant.
Result<Place> ResolvePlace(const Client* client, PJRT_Device* c_device, PJRT_Memory* c_memory,
                           const char* function) {
  Device* device = FromC(c_device);
  Memory* memory = FromC(c_memory);
  if (memory != nullptr) {
    if (memory->client != client) {
      return InvalidArgument(std::string(function) + ": the memory belongs to another client");
    }
    // A device that is named too says on which of several the buffer is.
    if (device == nullptr) return Place{memory->devices.front(), memory};
    if (std::ranges::find(memory->devices, device) == memory->devices.end()) {
      return InvalidArgument(std::string(function) + ": device " +
                             std::to_string(device->impl->info().id) + " cannot address " +
                             memory->impl->info().debug_string + "; name a device or a memory");
    }
    return Place{device, memory};
  }
  if (device == nullptr) {
    return InvalidArgument(std::string(function) +
                           ": device and memory are both null; name one of them");
  }
  if (device->client != client) {
    return InvalidArgument(std::string(function) + ": the device belongs to another client");
  }
  if (!device->addressable) {
    return InvalidArgument(std::string(function) + ": device " +
                           std::to_string(device->impl->info().id) +
                           " belongs to another process; only that one can place arrays on it");
  }
  return Place{device, device->memories().front()};
}

// Gives `block` back to its caller when the last user lets go of it.
Block NotifyWhenFreed(Block block, backend::Promise promise) {
  backend::Allocation* address = block.get();
  auto held = std::make_shared<backend::Promise>(std::move(promise));
  return Block(address, [block = std::move(block), held](backend::Allocation*) mutable {
    block.reset();
    held->Set(Status());
  });
}

struct HostBuffer {
  Client* client;
  Place place;
  backend::Shape shape;
  const void* data;
  Strides strides;
  bool as_on_device;  // byte for byte
  int semantics;      // a PJRT_HostBufferSemantics; what is none of them is taken for the strictest

  // Whether the caller leaves the memory as it is until it hears that the transfer is over.
  bool StaysUntilDone() const {
    return semantics == PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes ||
           semantics == PJRT_HostBufferSemantics_kImmutableZeroCopy ||
           semantics == PJRT_HostBufferSemantics_kMutableZeroCopy;
  }
};

// A buffer, and when the caller may have its memory back.
struct Created {
  std::unique_ptr<Buffer> buffer;
  Completion host_done;
};

Result<HostBuffer> ReadArgs(const PJRT_Client_BufferFromHostBuffer_Args& args) {
  constexpr char kFunction[] = "PJRT_Client_BufferFromHostBuffer";
  HostBuffer host = {};
  host.client = FromC(args.client);
  PJRT_PLUGIN_RETURN_IF_ERROR(host.client->CheckProcess(kFunction));
  PJRT_PLUGIN_ASSIGN_OR_RETURN(host.place,
                               ResolvePlace(host.client, args.device, args.memory, kFunction));
  PJRT_PLUGIN_ASSIGN_OR_RETURN(host.shape,
                               MakeShape(args.type, args.dims, args.num_dims, kFunction));
  PJRT_PLUGIN_RETURN_IF_ERROR(SetLayout(args.device_layout, kFunction, &host.shape));
  host.data = args.data;
  host.semantics = Raw(args.host_buffer_semantics);
  host.strides = RowMajor(host.shape);
  if (args.byte_strides != nullptr && args.num_byte_strides != 0) {
    if (args.num_byte_strides != args.num_dims) {
      return InvalidArgument(std::string(kFunction) + ": there are " +
                             std::to_string(args.num_byte_strides) + " byte strides for " +
                             std::to_string(args.num_dims) + " dimensions");
    }
    host.strides.assign(args.byte_strides, args.byte_strides + args.num_byte_strides);
    PJRT_PLUGIN_RETURN_IF_ERROR(Extent(host.shape, host.strides, kFunction).status());
  }
  PJRT_PLUGIN_RETURN_IF_ERROR(CheckPointer(host.data, host.shape.byte_size(), "data", kFunction));
  host.as_on_device = IsAsOnDevice(host.shape, host.strides);
  return host;
}

Created Make(HostBuffer& host, Block block, Completion ready, Completion host_done,
             bool donatable = true) {
  return {std::make_unique<Buffer>(host.client->shared_from_this(), host.place.device,
                                   host.place.memory, std::move(host.shape), std::move(block),
                                   std::move(ready), donatable),
          std::move(host_done)};
}

// Null where the memory does not use foreign addresses.
std::unique_ptr<Created> TryShare(HostBuffer& host, size_t bytes) {
  const bool is_mutable = host.semantics == PJRT_HostBufferSemantics_kMutableZeroCopy;
  if (!is_mutable && host.semantics != PJRT_HostBufferSemantics_kImmutableZeroCopy) return nullptr;
  if (!host.as_on_device || bytes < kWorthSharing) return nullptr;
  Result<Block> wrapped = host.place.memory->impl->Wrap(const_cast<void*>(host.data), bytes);
  if (!wrapped.ok()) return nullptr;
  auto [released, promise] = backend::MakeCompletion();
  // What the caller calls immutable is never donated: a launch would write to it.
  return std::make_unique<Created>(Make(host,
                                        NotifyWhenFreed(*std::move(wrapped), std::move(promise)),
                                        Completion(), released, is_mutable));
}

void CopyIn(const HostBuffer& host, size_t bytes, void* to) {
  if (host.as_on_device) {
    std::memcpy(to, host.data, bytes);
  } else {
    CopyStrided(host.shape.dims, DTypeBytes(host.shape.dtype), host.data, host.strides, to,
                DeviceStrides(host.shape));
  }
}

Result<Created> FromHost(HostBuffer host) {
  const size_t bytes = host.shape.byte_size();
  if (std::unique_ptr<Created> shared = TryShare(host, bytes)) return std::move(*shared);
  PJRT_PLUGIN_ASSIGN_OR_RETURN(Block block, host.place.memory->Allocate(bytes));
  if (bytes == 0) return Make(host, std::move(block), Completion(), Completion());
  const Recording recording(host.place.device->impl->info().id, Work::kHostToDevice, bytes);
  if (host.place.memory->host_accessible) {
    CopyIn(host, bytes, block->address());
    recording.Until(Completion());
    return Make(host, std::move(block), Completion(), Completion());
  }
  backend::Stream& stream = host.place.device->impl->stream();
  const backend::Region to = {block, 0, bytes};
  if (host.as_on_device && host.StaysUntilDone()) {
    Completion copied = stream.CopyFromHost(host.data, to, {});
    const AwaitOnFailure await(copied);
    recording.Until(copied);
    host.client->work.Add(copied);
    return Make(host, std::move(block), copied, copied);
  }
  // The caller's memory is free when this returns; the copy of it lives until the transfer ends.
  const auto staging = DenseCopy(host.shape, host.data, host.strides);
  Completion copied = stream.CopyFromHost(staging.get(), to, {});
  const AwaitOnFailure await(copied);
  recording.Until(copied);
  host.client->work.Add(copied);
  if (!copied.IsReady()) copied.OnReady([staging](const Status&) {});
  return Make(host, std::move(block), std::move(copied), Completion());
}

}  // namespace

PJRT_Error* Layer::Client_BufferFromHostBuffer(PJRT_Client_BufferFromHostBuffer_Args* args) {
  PJRT_PLUGIN_ASSIGN_OR_RETURN_C(HostBuffer host, ReadArgs(*args));
  PJRT_PLUGIN_ASSIGN_OR_RETURN_C(Created created, FromHost(std::move(host)));
  const AwaitOnFailure await(created.buffer->ready);
  args->done_with_host_buffer = NewEvent(std::move(created.host_done));
  args->buffer = ToC(created.buffer.release());
  return nullptr;
}

PJRT_Error* Layer::Client_CreateViewOfDeviceBuffer(
    PJRT_Client_CreateViewOfDeviceBuffer_Args* args) {
  constexpr char kFunction[] = "PJRT_Client_CreateViewOfDeviceBuffer";
  Client* client = FromC(args->client);
  PJRT_PLUGIN_RETURN_IF_C_ERROR(client->CheckProcess(kFunction));
#if PJRT_SCAFFOLD_HAS_PJRT_Client_CreateViewOfDeviceBuffer_Args_memory
  PJRT_Memory* const memory = args->memory;
#else
  PJRT_Memory* const memory = nullptr;
#endif
  PJRT_PLUGIN_ASSIGN_OR_RETURN_C(const Place place,
                                 ResolvePlace(client, args->device, memory, kFunction));
  PJRT_PLUGIN_ASSIGN_OR_RETURN_C(
      backend::Shape shape, MakeShape(args->element_type, args->dims, args->num_dims, kFunction));
  PJRT_PLUGIN_RETURN_IF_C_ERROR(SetLayout(args->layout, kFunction, &shape));
  PJRT_PLUGIN_RETURN_IF_C_ERROR(
      CheckPointer(args->device_buffer_ptr, shape.byte_size(), "device_buffer_ptr", kFunction));
  PJRT_PLUGIN_ASSIGN_OR_RETURN_C(
      Block block, place.memory->impl->Wrap(args->device_buffer_ptr, shape.byte_size()));
  auto [freed, promise] = backend::MakeCompletion();
  if (args->on_delete_callback != nullptr) {
    freed.OnReady(
        [address = args->device_buffer_ptr, callback = args->on_delete_callback,
         user_arg = args->on_delete_callback_arg](const Status&) { callback(address, user_arg); });
  }
  args->buffer =
      ToC(new Buffer(client->shared_from_this(), place.device, place.memory, std::move(shape),
                     NotifyWhenFreed(std::move(block), std::move(promise)), Completion(),
                     /*donatable=*/false));
  return nullptr;
}

#if PJRT_SCAFFOLD_HAS_PJRT_Client_CreateUninitializedBuffer
PJRT_Error* Layer::Client_CreateUninitializedBuffer(
    PJRT_Client_CreateUninitializedBuffer_Args* args) {
  constexpr char kFunction[] = "PJRT_Client_CreateUninitializedBuffer";
  Client* client = FromC(args->client);
  PJRT_PLUGIN_RETURN_IF_C_ERROR(client->CheckProcess(kFunction));
  PJRT_PLUGIN_ASSIGN_OR_RETURN_C(const Place place,
                                 ResolvePlace(client, args->device, args->memory, kFunction));
  PJRT_PLUGIN_ASSIGN_OR_RETURN_C(
      backend::Shape shape,
      MakeShape(args->shape_element_type, args->shape_dims, args->shape_num_dims, kFunction));
  PJRT_PLUGIN_RETURN_IF_C_ERROR(SetLayout(args->shape_layout, kFunction, &shape));
  PJRT_PLUGIN_ASSIGN_OR_RETURN_C(Block block, place.memory->Allocate(shape.byte_size()));
  args->buffer = ToC(new Buffer(client->shared_from_this(), place.device, place.memory,
                                std::move(shape), std::move(block), Completion()));
  return nullptr;
}
#endif

#if PJRT_SCAFFOLD_HAS_PJRT_Client_CreateErrorBuffer
PJRT_Error* Layer::Client_CreateErrorBuffer(PJRT_Client_CreateErrorBuffer_Args* args) {
  constexpr char kFunction[] = "PJRT_Client_CreateErrorBuffer";
  Client* client = FromC(args->client);
  PJRT_PLUGIN_ASSIGN_OR_RETURN_C(const Place place,
                                 ResolvePlace(client, nullptr, args->memory, kFunction));
  PJRT_PLUGIN_ASSIGN_OR_RETURN_C(
      backend::Shape shape,
      MakeShape(args->shape_element_type, args->shape_dims, args->shape_num_dims, kFunction));
  Status::Payloads payloads;
#if PJRT_SCAFFOLD_HAS_PJRT_Client_CreateErrorBuffer_Args_payload
  payloads = ReadPayloads(args->payload, args->num_payload);
#endif
  PJRT_PLUGIN_RETURN_IF_C_ERROR(SetLayout(args->shape_layout, kFunction, &shape));
  Status status = MakeStatus(args->error_code, args->error_message, args->error_message_size,
                             std::move(payloads));
  if (status.ok()) {
    return MakeError(
        InvalidArgument(std::string(kFunction) + ": error_code is OK; give the code of a failure"));
  }
  args->buffer = ToC(NewErrorBuffer(client->shared_from_this(), place.device, place.memory,
                                    std::move(shape), std::move(status)));
  return nullptr;
}
#endif

}  // namespace PJRT_PLUGIN_NS::plugin
