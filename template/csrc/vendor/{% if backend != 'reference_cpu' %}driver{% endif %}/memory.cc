#include "vendor/driver/memory.h"

#include <algorithm>
#include <new>
#include <string>

namespace PJRT_PLUGIN_NS::vendor {
namespace {

constexpr std::align_val_t kAlignment{64};

}  // namespace

// Freed by whoever drops the last reference, on any thread, also when the client is already gone in
// the caller's eyes: the layer above keeps the driver alive until then.
class Memory::Block final : public backend::Allocation {
 public:
  Block(Memory* memory, void* address, size_t bytes)
      : Allocation(memory, address, bytes), memory_(memory) {}
  ~Block() override {
    ::operator delete(address(), kAlignment);
    memory_->in_use_ -= bytes();
  }

 private:
  Memory* const memory_;
};

backend::Result<std::shared_ptr<backend::Allocation>> Memory::Allocate(size_t bytes) {
  const size_t in_use = in_use_ += bytes;
  if (limit_ != 0 && in_use > limit_) {
    in_use_ -= bytes;
    return backend::ResourceExhausted(info_.debug_string + " is full: " + std::to_string(bytes) +
                                      " bytes are asked for, " + std::to_string(in_use - bytes) +
                                      " of " + std::to_string(limit_) +
                                      " are in use; free arrays, or raise the option memory_bytes");
  }
  void* address = ::operator new(std::max<size_t>(bytes, 1), kAlignment, std::nothrow);
  if (address == nullptr) {
    in_use_ -= bytes;
    return backend::ResourceExhausted(info_.debug_string + ": the host has no " +
                                      std::to_string(bytes) + " bytes left");
  }
  size_t peak = peak_;
  while (peak < in_use && !peak_.compare_exchange_weak(peak, in_use)) {
  }
  return std::shared_ptr<backend::Allocation>(std::make_shared<Block>(this, address, bytes));
}

backend::Result<backend::MemoryStats> Memory::Stats() const {
  backend::MemoryStats stats;
  stats.bytes_in_use = int64_t(in_use_.load());
  stats.peak_bytes_in_use = int64_t(peak_.load());
  if (limit_ != 0) stats.bytes_limit = int64_t(limit_);
  return stats;
}

}  // namespace PJRT_PLUGIN_NS::vendor
