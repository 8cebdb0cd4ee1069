#ifndef REFERENCE_BLOCK_CACHE_H_
#define REFERENCE_BLOCK_CACHE_H_

// BlockCache: host memory in 64-byte aligned blocks, kept for reuse when freed. A fresh large block
// costs a page fault every 4 KiB, which is more than most kernels spend on it.
//
// Threads: any member from any thread.

#include <cstddef>
#include <mutex>
#include <vector>

#include "generated/config.h"

namespace PJRT_PLUGIN_NS::reference {

class BlockCache {
 public:
  static constexpr size_t kAlignment = 64;

  // Keeps at most `max_kept` bytes of freed blocks.
  explicit BlockCache(size_t max_kept = size_t{512} << 20) : max_kept_(max_kept) {}
  ~BlockCache() { Trim(); }
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;

  // At least `bytes` bytes, not cleared; null when the system has none left. Never null for 0
  // bytes.
  void* Take(size_t bytes);
  // `bytes` as given to Take.
  void Give(void* block, size_t bytes);
  // Frees all that is kept.
  void Trim();

 private:
  // Four size classes in each doubling, so at most a quarter of a block is unused.
  static size_t ClassOf(size_t bytes);
  static size_t BytesOf(size_t size_class);

  const size_t max_kept_;
  std::mutex mutex_;
  size_t kept_ = 0;
  std::vector<std::vector<void*>> free_;  // by size class
};

}  // namespace PJRT_PLUGIN_NS::reference

#endif  // REFERENCE_BLOCK_CACHE_H_
