#include "reference/block_cache.h"

#include <bit>

#include "backend/platform.h"

namespace PJRT_PLUGIN_NS::reference {

// Class 4k + j holds blocks of (4 + j) * 2^k * 16 bytes: 64, 80, 96, 112, 128, 160, ...
size_t BlockCache::ClassOf(size_t bytes) {
  size_t units = (bytes + 15) / 16;
  if (units <= 4) return 0;
  size_t k = size_t(std::bit_width(units - 1)) - 3;
  size_t step = size_t{1} << k;
  return 4 * k + (units + step - 1) / step - 4;
}

size_t BlockCache::BytesOf(size_t size_class) {
  return ((4 + size_class % 4) << (size_class / 4)) * 16;
}

void* BlockCache::Take(size_t bytes) {
  size_t size_class = ClassOf(bytes);
  {
    std::lock_guard lock(mutex_);
    if (size_class < free_.size() && !free_[size_class].empty()) {
      void* block = free_[size_class].back();
      free_[size_class].pop_back();
      kept_ -= BytesOf(size_class);
      return block;
    }
  }
  // The system wants a multiple of the alignment.
  size_t size = (BytesOf(size_class) + kAlignment - 1) / kAlignment * kAlignment;
  if (size < bytes) return nullptr;  // the sum ran over
  void* block = backend::platform::AllocateAligned(kAlignment, size);
  if (block == nullptr) {
    Trim();
    block = backend::platform::AllocateAligned(kAlignment, size);
  }
  return block;
}

void BlockCache::Give(void* block, size_t bytes) {
  size_t size_class = ClassOf(bytes);
  size_t size = BytesOf(size_class);
  {
    std::lock_guard lock(mutex_);
    if (kept_ + size <= max_kept_) {
      if (size_class >= free_.size()) free_.resize(size_class + 1);
      free_[size_class].push_back(block);
      kept_ += size;
      return;
    }
  }
  backend::platform::FreeAligned(block);
}

void BlockCache::Trim() {
  std::lock_guard lock(mutex_);
  for (std::vector<void*>& blocks : free_) {
    for (void* block : blocks) backend::platform::FreeAligned(block);
    blocks.clear();
  }
  kept_ = 0;
}

}  // namespace PJRT_PLUGIN_NS::reference
