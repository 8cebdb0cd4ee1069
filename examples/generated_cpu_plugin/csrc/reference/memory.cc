#include "reference/memory.h"

#include <string>

namespace PJRT_PLUGIN_NS::reference {
namespace {

void RaiseTo(std::atomic<size_t>& highest, size_t value) {
  size_t seen = highest.load(std::memory_order_relaxed);
  while (seen < value && !highest.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

}  // namespace

class HostMemory::Block final : public backend::Allocation {
 public:
  Block(HostMemory* memory, void* address, size_t bytes)
      : Allocation(memory, address, bytes), memory_(memory) {}
  ~Block() override {
    memory_->in_use_.fetch_sub(bytes(), std::memory_order_relaxed);
    memory_->blocks_->Give(address(), bytes());
  }

 private:
  HostMemory* memory_;
};

backend::Result<std::shared_ptr<backend::Allocation>> HostMemory::Allocate(size_t bytes) {
  size_t before = in_use_.fetch_add(bytes, std::memory_order_relaxed);
  auto full = [&](const std::string& what) {
    in_use_.fetch_sub(bytes, std::memory_order_relaxed);
    return backend::ResourceExhausted(info_.debug_string + ": cannot allocate " +
                                      std::to_string(bytes) + " bytes: " + std::to_string(before) +
                                      " bytes are in use and " + what);
  };
  if (limit_ != 0 && (bytes > limit_ || before > limit_ - bytes)) {
    return full("the limit is " + std::to_string(limit_) +
                "; delete arrays or raise the option memory_bytes");
  }
  void* address = blocks_->Take(bytes);
  if (address == nullptr) return full("the host has no more memory");
  RaiseTo(peak_, before + bytes);
  RaiseTo(largest_, bytes);
  count_.fetch_add(1, std::memory_order_relaxed);
  return std::shared_ptr<backend::Allocation>(std::make_shared<Block>(this, address, bytes));
}

backend::Result<std::shared_ptr<backend::Allocation>> HostMemory::Wrap(void* address,
                                                                       size_t bytes) {
  return std::make_shared<backend::Allocation>(this, address, bytes);
}

backend::Result<backend::MemoryStats> HostMemory::Stats() const {
  backend::MemoryStats stats;
  stats.bytes_in_use = int64_t(in_use_.load(std::memory_order_relaxed));
  stats.peak_bytes_in_use = int64_t(peak_.load(std::memory_order_relaxed));
  stats.num_allocs = count_.load(std::memory_order_relaxed);
  stats.largest_alloc_size = int64_t(largest_.load(std::memory_order_relaxed));
  if (limit_ != 0) stats.bytes_limit = int64_t(limit_);
  return stats;
}

backend::Status HostMemory::ClearStats() {
  peak_.store(in_use_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  largest_.store(0, std::memory_order_relaxed);
  count_.store(0, std::memory_order_relaxed);
  return backend::Status();
}

}  // namespace PJRT_PLUGIN_NS::reference
