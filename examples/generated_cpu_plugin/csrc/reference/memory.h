#ifndef REFERENCE_MEMORY_H_
#define REFERENCE_MEMORY_H_

// HostMemory: one memory space of a simulated device. It is the host's memory, with its own
// accounting and limit, so a program that would not fit on the device does not fit here either.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/memory.h"
#include "generated/config.h"
#include "reference/block_cache.h"

namespace PJRT_PLUGIN_NS::reference {

class HostMemory final : public backend::Memory {
 public:
  // `limit` in bytes, 0 for none. `blocks` outlives the memory.
  HostMemory(backend::MemoryInfo info, backend::Device* device, size_t limit, BlockCache* blocks)
      : info_(std::move(info)), devices_{device}, limit_(limit), blocks_(blocks) {}

  const backend::MemoryInfo& info() const override { return info_; }
  std::span<backend::Device* const> devices() const override { return devices_; }
  backend::Result<std::shared_ptr<backend::Allocation>> Allocate(size_t bytes) override;
  backend::Result<std::shared_ptr<backend::Allocation>> Wrap(void* address, size_t bytes) override;
  backend::Result<backend::MemoryStats> Stats() const override;
  backend::Status ClearStats() override;

 private:
  class Block;

  backend::MemoryInfo info_;
  std::vector<backend::Device*> devices_;
  const size_t limit_;
  BlockCache* blocks_;
  std::atomic<size_t> in_use_{0};
  std::atomic<size_t> peak_{0};
  std::atomic<size_t> largest_{0};
  std::atomic<int64_t> count_{0};
};

}  // namespace PJRT_PLUGIN_NS::reference

#endif  // REFERENCE_MEMORY_H_
