// AsyncHostToDeviceTransferManager: buffers that exist before their contents do. The caller fills
// them in pieces, on any threads, and each is ready when its last piece has arrived.

#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "generated/array.h"
#include "plugin/await_on_failure.h"
#include "plugin/buffer.h"
#include "plugin/dtype.h"
#include "plugin/host_copy.h"
#include "plugin/layer.h"
#include "plugin/profiler.h"

#if PJRT_SCAFFOLD_HAS_PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer

namespace PJRT_PLUGIN_NS::plugin {

struct TransferManager : Handle<Tag::kTransferManager> {
  struct Slot {
    backend::Shape shape;
    Block block;
    Completion ready;
    // Until all pieces are under way. Dropped unset, it fails the buffer.
    std::optional<backend::Promise> promise;
    bool closed = false;  // the last piece has begun, or an error was set
    int beginning = 0;    // pieces that have begun but are not in `pieces` yet
    std::vector<Completion> pieces;
    bool retrieved = false;
  };
  class Piece;

  // INVALID_ARGUMENT for an index that names no buffer.
  Status CheckIndex(int index, const char* function) const {
    if (index >= 0 && size_t(index) < slots.size()) return Status();
    return InvalidArgument(std::string(function) + ": buffer_index is " + std::to_string(index) +
                           "; the manager has " + std::to_string(slots.size()) + " buffers");
  }

  std::shared_ptr<Client> client;
  Device* device = nullptr;
  Memory* memory = nullptr;
  // Guards what changes in the slots; shapes, blocks and their number are constant.
  mutable std::mutex mutex;
  std::vector<Slot> slots;
};
PJRT_PLUGIN_HANDLE(PJRT_AsyncHostToDeviceTransferManager, TransferManager)

// One piece of a buffer, begun before a byte is sent: no byte may reach a buffer that is complete,
// or has failed, and the buffer is ready when every piece that had begun by the last one has
// arrived. Fails the buffer when it is dropped.
class TransferManager::Piece {
 public:
  // FAILED_PRECONDITION for a buffer that already has its last piece, or an error.
  static Result<Piece> Begin(TransferManager& manager, int index, bool is_last,
                             const char* function) {
    std::lock_guard lock(manager.mutex);
    Slot& slot = manager.slots[index];
    if (slot.closed) {
      return FailedPrecondition(std::string(function) + ": buffer " + std::to_string(index) +
                                " already has its last piece, or an error");
    }
    slot.closed = is_last;
    ++slot.beginning;
    return Piece(&manager, &slot);
  }
  Piece(Piece&& other) noexcept
      : manager_(other.manager_), slot_(std::exchange(other.slot_, nullptr)) {}
  Piece& operator=(Piece&&) = delete;
  ~Piece() {
    if (slot_ == nullptr) return;
    try {
      UnderWay(Completion(Internal("a piece of the array was not sent")));
    } catch (...) {  // without memory for that, the end of the manager fails the buffer
    }
  }

  // The piece has arrived, or failed, when `arrived` is ready.
  void UnderWay(Completion arrived) {
    std::shared_ptr<backend::Promise> promise;
    Completion all;
    {
      std::lock_guard lock(manager_->mutex);
      Slot& slot = *std::exchange(slot_, nullptr);
      if (!arrived.IsReady() || !arrived.status().ok()) slot.pieces.push_back(std::move(arrived));
      if (--slot.beginning != 0 || !slot.closed) return;
      promise = std::make_shared<backend::Promise>(*std::move(slot.promise));
      slot.promise.reset();
      all = backend::WhenAll(slot.pieces);
      slot.pieces.clear();
    }
    all.OnReady([promise](const Status& status) { promise->Set(status); });
  }

 private:
  Piece(TransferManager* manager, Slot* slot) : manager_(manager), slot_(slot) {}

  TransferManager* manager_;
  Slot* slot_;
};

namespace {

Result<std::unique_ptr<TransferManager>> Create(
    const PJRT_Client_CreateBuffersForAsyncHostToDevice_Args& args) {
  constexpr char kFunction[] = "PJRT_Client_CreateBuffersForAsyncHostToDevice";
  auto manager = std::make_unique<TransferManager>();
  Client* client = FromC(args.client);
  PJRT_PLUGIN_RETURN_IF_ERROR(client->CheckProcess(kFunction));
  manager->client = client->shared_from_this();
  manager->memory = FromC(args.memory);
  if (manager->memory == nullptr || manager->memory->client != client) {
    return InvalidArgument(std::string(kFunction) + ": memory is null or another client's");
  }
  manager->device = manager->memory->devices.front();
  const generated::StructArray<const PJRT_ShapeSpec> specs(args.shape_specs, args.num_shape_specs);
  for (size_t i = 0; i < specs.size(); ++i) {
    const PJRT_ShapeSpec& spec = specs[i];
    TransferManager::Slot slot;
    PJRT_PLUGIN_ASSIGN_OR_RETURN(slot.shape,
                                 MakeShape(spec.element_type, spec.dims, spec.num_dims, kFunction));
    if (args.device_layouts != nullptr && i < args.num_device_layouts) {
      PJRT_PLUGIN_RETURN_IF_ERROR(SetLayout(args.device_layouts[i], kFunction, &slot.shape));
    }
    PJRT_PLUGIN_ASSIGN_OR_RETURN(slot.block, manager->memory->Allocate(slot.shape.byte_size()));
    auto [ready, promise] = backend::MakeCompletion();
    slot.ready = ready;
    slot.promise.emplace(std::move(promise));
    manager->slots.push_back(std::move(slot));
  }
  return manager;
}

// Copies `size` bytes to a part of the buffer's block. `host` is the caller's until the completion
// is ready.
Completion Send(TransferManager& manager, int index, const void* host, size_t offset, size_t size) {
  const TransferManager::Slot& slot = manager.slots[index];
  if (size == 0) return Completion();
  const Recording recording(manager.device->impl->info().id, Work::kHostToDevice, size);
  if (manager.memory->host_accessible) {
    std::memcpy(static_cast<std::byte*>(slot.block->address()) + offset, host, size);
    recording.Until(Completion());
    return Completion();
  }
  const Completion sent =
      manager.device->impl->stream().CopyFromHost(host, {slot.block, offset, size}, {});
  const AwaitOnFailure await(sent);
  recording.Until(sent);
  manager.client->work.Add(sent);
  return sent;
}

}  // namespace

PJRT_Error* Layer::Client_CreateBuffersForAsyncHostToDevice(
    PJRT_Client_CreateBuffersForAsyncHostToDevice_Args* args) {
  PJRT_PLUGIN_ASSIGN_OR_RETURN_C(std::unique_ptr<TransferManager> manager, Create(*args));
  args->transfer_manager = ToC(manager.release());
  return nullptr;
}

PJRT_Error* Layer::AsyncHostToDeviceTransferManager_Destroy(
    PJRT_AsyncHostToDeviceTransferManager_Destroy_Args* args) {
  delete FromC(args->transfer_manager);
  return nullptr;
}

PJRT_Error* Layer::AsyncHostToDeviceTransferManager_TransferData(
    PJRT_AsyncHostToDeviceTransferManager_TransferData_Args* args) {
  constexpr char kFunction[] = "PJRT_AsyncHostToDeviceTransferManager_TransferData";
  TransferManager& manager = *FromC(args->transfer_manager);
  PJRT_PLUGIN_RETURN_IF_C_ERROR(manager.client->CheckProcess(kFunction));
  PJRT_PLUGIN_RETURN_IF_C_ERROR(manager.CheckIndex(args->buffer_index, kFunction));
  PJRT_PLUGIN_RETURN_IF_C_ERROR(CheckPart(args->offset, args->transfer_size,
                                          manager.slots[args->buffer_index].shape.byte_size(),
                                          kFunction));
  PJRT_PLUGIN_RETURN_IF_C_ERROR(
      CheckPointer(args->data, size_t(args->transfer_size), "data", kFunction));
  PJRT_PLUGIN_ASSIGN_OR_RETURN_C(TransferManager::Piece piece,
                                 TransferManager::Piece::Begin(manager, args->buffer_index,
                                                               args->is_last_transfer, kFunction));
  const Completion sent = Send(manager, args->buffer_index, args->data, size_t(args->offset),
                               size_t(args->transfer_size));
  const AwaitOnFailure await(sent);
  piece.UnderWay(sent);
  args->done_with_h2d_transfer = NewEvent(sent);
  return nullptr;
}

PJRT_Error* Layer::AsyncHostToDeviceTransferManager_RetrieveBuffer(
    PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args* args) {
  constexpr char kFunction[] = "PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer";
  TransferManager& manager = *FromC(args->transfer_manager);
  PJRT_PLUGIN_RETURN_IF_C_ERROR(manager.CheckIndex(args->buffer_index, kFunction));
  std::lock_guard lock(manager.mutex);
  TransferManager::Slot& slot = manager.slots[args->buffer_index];
  if (std::exchange(slot.retrieved, true)) {
    return MakeError(FailedPrecondition(std::string(kFunction) + ": buffer " +
                                        std::to_string(args->buffer_index) +
                                        " has been retrieved before"));
  }
  Buffer* const buffer = new Buffer(manager.client, manager.device, manager.memory, slot.shape,
                                    slot.block, slot.ready);
  buffer->waits_for_caller = !slot.closed;
  args->buffer_out = ToC(buffer);
  return nullptr;
}

PJRT_Error* Layer::AsyncHostToDeviceTransferManager_Device(
    PJRT_AsyncHostToDeviceTransferManager_Device_Args* args) {
  args->device_out = ToC(FromC(args->transfer_manager)->device);
  return nullptr;
}

PJRT_Error* Layer::AsyncHostToDeviceTransferManager_BufferCount(
    PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args* args) {
  args->buffer_count = FromC(args->transfer_manager)->slots.size();
  return nullptr;
}

PJRT_Error* Layer::AsyncHostToDeviceTransferManager_BufferSize(
    PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args* args) {
  const TransferManager& manager = *FromC(args->transfer_manager);
  PJRT_PLUGIN_RETURN_IF_C_ERROR(
      manager.CheckIndex(args->buffer_index, "PJRT_AsyncHostToDeviceTransferManager_BufferSize"));
  args->buffer_size = manager.slots[args->buffer_index].shape.byte_size();
  return nullptr;
}

PJRT_Error* Layer::AsyncHostToDeviceTransferManager_SetBufferError(
    PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args* args) {
  constexpr char kFunction[] = "PJRT_AsyncHostToDeviceTransferManager_SetBufferError";
  TransferManager& manager = *FromC(args->transfer_manager);
  PJRT_PLUGIN_RETURN_IF_C_ERROR(manager.CheckIndex(args->buffer_index, kFunction));
  Status status = MakeStatus(args->error_code, args->error_message, args->error_message_size);
  if (status.ok()) {  // it would show memory that nobody has written
    return MakeError(
        InvalidArgument(std::string(kFunction) + ": error_code is OK; give the code of a failure"));
  }
  PJRT_PLUGIN_ASSIGN_OR_RETURN_C(
      TransferManager::Piece piece,
      TransferManager::Piece::Begin(manager, args->buffer_index, /*is_last=*/true, kFunction));
  piece.UnderWay(Completion(std::move(status)));
  return nullptr;
}

PJRT_Error* Layer::AsyncHostToDeviceTransferManager_AddMetadata(
    PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args*) {
  // Names and texts by which people who debug a framework tell its transfers apart. They change
  // nothing about the transfer, and nothing of the C API gives them back, so they are taken and
  // dropped, whatever they are: frameworks end the process at a failure here.
  return nullptr;
}

#if PJRT_SCAFFOLD_HAS_PJRT_AsyncHostToDeviceTransferManager_TransferLiteral
PJRT_Error* Layer::AsyncHostToDeviceTransferManager_TransferLiteral(
    PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args* args) {
  constexpr char kFunction[] = "PJRT_AsyncHostToDeviceTransferManager_TransferLiteral";
  TransferManager& manager = *FromC(args->transfer_manager);
  PJRT_PLUGIN_RETURN_IF_C_ERROR(manager.client->CheckProcess(kFunction));
  PJRT_PLUGIN_RETURN_IF_C_ERROR(manager.CheckIndex(args->buffer_index, kFunction));
  PJRT_PLUGIN_ASSIGN_OR_RETURN_C(
      const backend::Shape shape,
      MakeShape(args->shape_element_type, args->shape_dims, args->shape_num_dims, kFunction));
  const backend::Shape& on_device = manager.slots[args->buffer_index].shape;
  if (shape.dtype != on_device.dtype || shape.dims != on_device.dims) {
    return MakeError(InvalidArgument(std::string(kFunction) +
                                     ": the literal's shape is not that of buffer " +
                                     std::to_string(args->buffer_index)));
  }
  PJRT_PLUGIN_ASSIGN_OR_RETURN_C(const Strides strides,
                                 LayoutStrides(args->shape_layout, shape, kFunction));
  PJRT_PLUGIN_RETURN_IF_C_ERROR(Extent(shape, strides, kFunction).status());
  const size_t bytes = shape.byte_size();
  PJRT_PLUGIN_RETURN_IF_C_ERROR(CheckPointer(args->data, bytes, "data", kFunction));
  PJRT_PLUGIN_ASSIGN_OR_RETURN_C(
      TransferManager::Piece piece,
      TransferManager::Piece::Begin(manager, args->buffer_index, /*is_last=*/true, kFunction));
  Completion sent;
  if (IsAsOnDevice(on_device, strides)) {
    sent = Send(manager, args->buffer_index, args->data, 0, bytes);
  } else {
    const auto staging = DenseCopy(on_device, args->data, strides);
    sent = Send(manager, args->buffer_index, staging.get(), 0, bytes);
    const AwaitOnFailure await(sent);
    if (!sent.IsReady()) sent.OnReady([staging](const Status&) {});
  }
  const AwaitOnFailure await(sent);
  piece.UnderWay(sent);
  args->done_with_h2d_transfer = NewEvent(sent);
  return nullptr;
}
#endif

}  // namespace PJRT_PLUGIN_NS::plugin

#endif
