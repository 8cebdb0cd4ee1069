#include "testing/accelerator/memory.h"

#include <algorithm>
#include <string>
#include <utility>

#include "backend/device.h"
#include "testing/pages.h"

namespace PJRT_PLUGIN_NS::accelerator {
namespace {

using backend::Result;
using backend::Status;

size_t WholePages(size_t bytes) {
  static const size_t page = test::pages::Size();
  return (std::max<size_t>(bytes, 1) + page - 1) / page * page;
}

}  // namespace

Memory::Memory(backend::Memory* inner, backend::Device* device, std::shared_ptr<Control> control)
    : inner_(inner),
      devices_{device},
      control_(std::move(control)),
      on_device_(inner->info().kind == backend::kDeviceMemoryKind),
      limit_(on_device_ ? control_->settings().memory_bytes : 0),
      info_(inner->info()) {
  if (on_device_) info_.host_accessible = false;
}

Memory::~Memory() {
  if (blocks_ == 0) return;
  control_->Complain(std::to_string(blocks_) + " blocks of " + info_.debug_string +
                     " are there when the driver is destroyed");
}

Status Memory::Count(size_t bytes) {
  const int64_t before = in_use_.fetch_add(int64_t(bytes));
  if (limit_ == 0 || before + int64_t(bytes) <= limit_) {
    int64_t seen = peak_;
    while (seen < before + int64_t(bytes) &&
           !peak_.compare_exchange_weak(seen, before + int64_t(bytes))) {
    }
    ++count_;
    return Status();
  }
  in_use_.fetch_sub(int64_t(bytes));
  return backend::ResourceExhausted(info_.debug_string + ": cannot allocate " +
                                    std::to_string(bytes) + " bytes: " + std::to_string(before) +
                                    " bytes are in use and the limit is " + std::to_string(limit_));
}

Result<BackendBlock> Memory::Take(size_t bytes, BackendBlock inner) {
  const Verdict verdict = control_->Ask(Work::kAllocate, devices_[0]->info().id);
  PJRT_PLUGIN_RETURN_IF_ERROR(verdict.at_once());
  PJRT_PLUGIN_RETURN_IF_ERROR(Count(bytes));
  void* const address = on_device_ ? test::pages::Reserve(WholePages(bytes)) : inner->address();
  if (address == nullptr) {
    in_use_.fetch_sub(int64_t(bytes));
    return backend::ResourceExhausted(info_.debug_string + ": no addresses for " +
                                      std::to_string(bytes) + " bytes");
  }
  return BackendBlock(std::make_shared<Block>(this, address, bytes, std::move(inner)));
}

Result<BackendBlock> Memory::Allocate(size_t bytes) {
  PJRT_PLUGIN_ASSIGN_OR_RETURN(BackendBlock inner, inner_->Allocate(bytes));
  return Take(bytes, std::move(inner));
}

Result<BackendBlock> Memory::Reserve(size_t bytes) {
  if (!on_device_) return Allocate(bytes);
  return Take(bytes, nullptr);
}

Result<BackendBlock> Memory::Wrap(void* address, size_t bytes) {
  if (on_device_) return backend::Memory::Wrap(address, bytes);
  PJRT_PLUGIN_ASSIGN_OR_RETURN(BackendBlock inner, inner_->Wrap(address, bytes));
  return Take(bytes, std::move(inner));
}

Result<backend::MemoryStats> Memory::Stats() const {
  backend::MemoryStats stats;
  stats.bytes_in_use = in_use_;
  stats.peak_bytes_in_use = peak_;
  stats.num_allocs = count_;
  if (limit_ != 0) stats.bytes_limit = limit_;
  return stats;
}

Memory::Block::Block(Memory* memory, void* address, size_t bytes, BackendBlock inner)
    : Allocation(memory, address, bytes), owner_(memory), inner_(std::move(inner)) {
  ++owner_->blocks_;
}

Memory::Block::~Block() {
  if (owner_->on_device_) test::pages::Release(address(), WholePages(bytes()));
  owner_->in_use_.fetch_sub(int64_t(bytes()));
  --owner_->blocks_;
}

Status Memory::Block::Hold(BackendBlock inner) {
  if (owner_->on_device_) {
    inner_ = std::move(inner);
    return Status();
  }
  if (inner == inner_ || bytes() == 0) return Status();
  backend::Device* const device = inner_->memory()->devices().front();
  return device->stream().Copy({std::move(inner), 0, bytes()}, {inner_, 0, bytes()}, {}).Await();
}

Result<BackendBlock> Inner(const BackendBlock& block) {
  if (const BackendBlock& inner = static_cast<const Memory::Block&>(*block).inner()) return inner;
  return backend::Internal("a block is read that no launch has filled");
}

Status Hold(const BackendBlock& block, BackendBlock inner) {
  return static_cast<Memory::Block&>(*block).Hold(std::move(inner));
}

}  // namespace PJRT_PLUGIN_NS::accelerator
