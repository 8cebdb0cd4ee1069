#ifndef VENDOR_DRIVER_MEMORY_H_
#define VENDOR_DRIVER_MEMORY_H_

// The memories of one device. Here all of them are host memory.

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "backend/memory.h"
#include "generated/config.h"

namespace PJRT_PLUGIN_NS::vendor {

// VENDOR: a device has at least the memory of kind "device", first in its list; JAX gives that name
// to the place where arrays live. "pinned_host" is where it offloads to, "unpinned_host" is plain
// host memory. List only kinds that work. Every block is dense and row-major; layouts of the
// hardware's own are the compiler's business, inside a program.
class Memory final : public backend::Memory {
 public:
  // `limit` in bytes, 0 for none.
  Memory(backend::MemoryInfo info, backend::Device* device, size_t limit)
      : info_(std::move(info)), devices_{device}, limit_(limit) {}

  const backend::MemoryInfo& info() const override { return info_; }
  std::span<backend::Device* const> devices() const override { return devices_; }
  // VENDOR: called from any thread, often: a pool pays. Zero bytes are valid and give an address
  // too.
  backend::Result<std::shared_ptr<backend::Allocation>> Allocate(size_t bytes) override;
  // VENDOR: jax.Device.memory_stats(), and the limit that compilers are told at every compile, so
  // keep it cheap.
  backend::Result<backend::MemoryStats> Stats() const override;

 private:
  class Block;

  const backend::MemoryInfo info_;
  const std::vector<backend::Device*> devices_;
  const size_t limit_;
  std::atomic<size_t> in_use_{0};
  std::atomic<size_t> peak_{0};
};

}  // namespace PJRT_PLUGIN_NS::vendor

#endif  // VENDOR_DRIVER_MEMORY_H_
