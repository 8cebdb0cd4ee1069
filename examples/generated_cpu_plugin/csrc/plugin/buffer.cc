#include "plugin/buffer.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "plugin/alias_block.h"
#include "plugin/dtype.h"
#include "plugin/layer.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

// Finished readings are dropped from the list when it would grow beyond its memory, the first time
// at this size: looking at all of them costs no more than growing does.
constexpr size_t kManyUses = 8;

void Append(Completion use, std::vector<Completion>* uses) {
  if (uses->size() == uses->capacity()) {
    std::erase_if(*uses, [](const Completion& one) { return one.IsReady(); });
    uses->reserve(std::max(kManyUses, 2 * uses->size()));
  }
  uses->push_back(std::move(use));
}

}  // namespace

Result<Buffer::Use> Buffer::Read(const char* function) {
  PJRT_PLUGIN_RETURN_IF_ERROR(ReserveBlock());
  std::lock_guard lock(mutex_);
  FindBlock();
  if (block_ == nullptr) return WhyNoBlock(function);
  starting_uses_.fetch_add(1, std::memory_order_relaxed);
  return Use(this, block_);
}

void Buffer::Use::End(const Completion& done) {
  Buffer* buffer = std::exchange(buffer_, nullptr);
  if (!done.IsReady()) {
    std::lock_guard lock(buffer->mutex_);
    Append(done, &buffer->uses_);
  }
  buffer->starting_uses_.fetch_sub(1, std::memory_order_release);
}

bool Buffer::Donate(Donation* donation) {
  if (!ReserveBlock().ok()) return false;
  std::lock_guard lock(mutex_);
  FindBlock();
  if (!donatable_ || block_ == nullptr || external_references_ != 0 ||
      starting_uses_.load(std::memory_order_acquire) != 0) {
    return false;
  }
  donation->block = std::move(block_);
  donation->uses = std::move(uses_);
  block_ = nullptr;
  uses_.clear();
  state_ = State::kDonated;
  return true;
}

void Buffer::TakeBack(Donation donation) {
  std::lock_guard lock(mutex_);
  if (state_ != State::kDonated) return;
  block_ = std::move(donation.block);
  uses_ = std::move(donation.uses);
  state_ = State::kLive;
}

Result<Buffer::Donation> Buffer::HandOver(const char* function) {
  PJRT_PLUGIN_RETURN_IF_ERROR(ReserveBlock());
  std::lock_guard lock(mutex_);
  FindBlock();
  if (state_ != State::kLive) return DeletedError(function);
  const bool seen =
      external_references_ != 0 || starting_uses_.load(std::memory_order_acquire) != 0;
  Donation donation = {block_, std::move(uses_), donatable_ && !seen};
  if (external_references_ != 0) external_block_ = block_;
  block_ = nullptr;
  uses_.clear();
  state_ = State::kDeleted;
  return donation;
}

Status Buffer::ReserveBlock() {
  if (!is_alias_) return Status();
  std::shared_ptr<AliasBlock> alias;
  {
    std::lock_guard lock(mutex_);
    if (state_ != State::kLive || (ready.IsReady() && !ready.status().ok())) return Status();
    alias = alias_;
  }
  return alias == nullptr ? Status() : alias->Reserve();
}

void Buffer::FindBlock() {
  if (alias_ == nullptr || state_ != State::kLive) return;
  std::optional<Donation> from = alias_->Take();
  if (!from.has_value()) return;  // the alias failed before there was memory
  block_ = std::move(from->block);
  uses_ = std::move(from->uses);
  donatable_ = from->donatable;
  alias_ = nullptr;
}

void Buffer::Delete() {
  Block last;  // freed after the lock
  std::shared_ptr<AliasBlock> last_alias;
  std::lock_guard lock(mutex_);
  last_alias = std::move(alias_);
  alias_ = nullptr;
  if (external_references_ != 0 && block_ != nullptr) {
    external_block_ = std::move(block_);
  } else {
    last = std::move(block_);
  }
  block_ = nullptr;
  state_ = State::kDeleted;
}

bool Buffer::IsDeleted() const {
  std::lock_guard lock(mutex_);
  return state_ != State::kLive;
}

Status Buffer::AddExternalReference(const char* function) {
  PJRT_PLUGIN_RETURN_IF_ERROR(ReserveBlock());
  std::lock_guard lock(mutex_);
  FindBlock();
  if (block_ == nullptr) return WhyNoBlock(function);
  ++external_references_;
  return Status();
}

Status Buffer::DropExternalReference(const char* function) {
  Block last;  // freed after the lock
  std::lock_guard lock(mutex_);
  if (external_references_ == 0) {
    return InvalidArgument(std::string(function) + ": the buffer has no external reference");
  }
  if (--external_references_ == 0) last = std::move(external_block_);
  return Status();
}

Result<void*> Buffer::Address(const char* function) {
  PJRT_PLUGIN_RETURN_IF_ERROR(ReserveBlock());
  std::lock_guard lock(mutex_);
  FindBlock();
  const Block& block = block_ != nullptr ? block_ : external_block_;
  if (block != nullptr) return block->address();
  return WhyNoBlock(function);
}

Status Buffer::WhyNoBlock(const char* function) const {
  return state_ == State::kLive ? ready.status() : DeletedError(function);
}

Status Buffer::DeletedError(const char* function) const {
  return InvalidArgument(std::string(function) +
                         ": the buffer has been deleted or donated; its contents are gone");
}

Buffer* NewErrorBuffer(std::shared_ptr<Client> client, Device* device, Memory* memory,
                       backend::Shape shape, Status status) {
  return new Buffer(std::move(client), device, memory, std::move(shape), Block(),
                    Completion(std::move(status)));
}

PJRT_Error* Layer::Buffer_Destroy(PJRT_Buffer_Destroy_Args* args) {
  delete FromC(args->buffer);
  return nullptr;
}

PJRT_Error* Layer::Buffer_ElementType(PJRT_Buffer_ElementType_Args* args) {
  args->type = ToBufferType(FromC(args->buffer)->shape.dtype);
  return nullptr;
}

PJRT_Error* Layer::Buffer_Dimensions(PJRT_Buffer_Dimensions_Args* args) {
  const std::vector<int64_t>& dims = FromC(args->buffer)->shape.dims;
  args->dims = dims.data();
  args->num_dims = dims.size();
  return nullptr;
}

PJRT_Error* Layer::Buffer_UnpaddedDimensions(PJRT_Buffer_UnpaddedDimensions_Args* args) {
  const std::vector<int64_t>& dims = FromC(args->buffer)->shape.dims;
  args->unpadded_dims = dims.data();
  args->num_dims = dims.size();
  return nullptr;
}

PJRT_Error* Layer::Buffer_DynamicDimensionIndices(PJRT_Buffer_DynamicDimensionIndices_Args* args) {
  args->dynamic_dim_indices = nullptr;
  args->num_dynamic_dims = 0;
  return nullptr;
}

PJRT_Error* Layer::Buffer_OnDeviceSizeInBytes(PJRT_Buffer_OnDeviceSizeInBytes_Args* args) {
  args->on_device_size_in_bytes = FromC(args->buffer)->shape.byte_size();
  return nullptr;
}

PJRT_Error* Layer::Buffer_Device(PJRT_Buffer_Device_Args* args) {
  args->device = ToC(FromC(args->buffer)->device);
  return nullptr;
}

PJRT_Error* Layer::Buffer_Memory(PJRT_Buffer_Memory_Args* args) {
  args->memory = ToC(FromC(args->buffer)->memory);
  return nullptr;
}

PJRT_Error* Layer::Buffer_Delete(PJRT_Buffer_Delete_Args* args) {
  FromC(args->buffer)->Delete();
  return nullptr;
}

PJRT_Error* Layer::Buffer_IsDeleted(PJRT_Buffer_IsDeleted_Args* args) {
  args->is_deleted = FromC(args->buffer)->IsDeleted();
  return nullptr;
}

PJRT_Error* Layer::Buffer_IsOnCpu(PJRT_Buffer_IsOnCpu_Args* args) {
  // True lets frameworks look at the memory itself. Arrays are row-major here, external references
  // keep the memory in place, and a donation leaves an array alone that has any.
  args->is_on_cpu = FromC(args->buffer)->memory->host_accessible;
  return nullptr;
}

PJRT_Error* Layer::Buffer_ReadyEvent(PJRT_Buffer_ReadyEvent_Args* args) {
  constexpr char kFunction[] = "PJRT_Buffer_ReadyEvent";
  const Buffer* buffer = FromC(args->buffer);
  Completion ready = buffer->ready;
  if (buffer->IsDeleted()) {
    ready = Completion(buffer->DeletedError(kFunction));
  } else if (!ready.IsReady()) {  // in a forked child it never will be
    if (Status status = buffer->client->CheckProcess(kFunction); !status.ok()) {
      ready = Completion(std::move(status));
    }
  }
  args->event = NewEvent(std::move(ready));
  return nullptr;
}

PJRT_Error* Layer::Buffer_UnsafePointer(PJRT_Buffer_UnsafePointer_Args* args) {
  PJRT_PLUGIN_ASSIGN_OR_RETURN_C(void* address,
                                 FromC(args->buffer)->Address("PJRT_Buffer_UnsafePointer"));
  args->buffer_pointer = reinterpret_cast<uintptr_t>(address);
  return nullptr;
}

PJRT_Error* Layer::Buffer_IncreaseExternalReferenceCount(
    PJRT_Buffer_IncreaseExternalReferenceCount_Args* args) {
  return MakeError(
      FromC(args->buffer)->AddExternalReference("PJRT_Buffer_IncreaseExternalReferenceCount"));
}

PJRT_Error* Layer::Buffer_DecreaseExternalReferenceCount(
    PJRT_Buffer_DecreaseExternalReferenceCount_Args* args) {
  return MakeError(
      FromC(args->buffer)->DropExternalReference("PJRT_Buffer_DecreaseExternalReferenceCount"));
}

PJRT_Error* Layer::Buffer_OpaqueDeviceMemoryDataPointer(
    PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args* args) {
  PJRT_PLUGIN_ASSIGN_OR_RETURN_C(
      args->device_memory_ptr,
      FromC(args->buffer)->Address("PJRT_Buffer_OpaqueDeviceMemoryDataPointer"));
  return nullptr;
}

}  // namespace PJRT_PLUGIN_NS::plugin
