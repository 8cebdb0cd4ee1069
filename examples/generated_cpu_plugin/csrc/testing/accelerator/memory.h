#ifndef TESTING_ACCELERATOR_MEMORY_H_
#define TESTING_ACCELERATOR_MEMORY_H_

// Memory of the accelerator. Blocks of device memory have addresses that nobody may follow: a range
// of pages without access, so that host code which touches it ends at once with SIGSEGV. What they
// hold lies in a block of the backend underneath, which only copies and launches look at. Host
// memory is what it is.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/memory.h"
#include "generated/config.h"
#include "testing/accelerator/control.h"

namespace PJRT_PLUGIN_NS::accelerator {

using BackendBlock = std::shared_ptr<backend::Allocation>;

class Memory final : public backend::Memory {
 public:
  class Block;

  // `inner` outlives the memory. Those of kind "device" are out of the host's reach.
  Memory(backend::Memory* inner, backend::Device* device, std::shared_ptr<Control> control);
  ~Memory() override;

  const backend::MemoryInfo& info() const override { return info_; }
  std::span<backend::Device* const> devices() const override { return devices_; }
  backend::Result<BackendBlock> Allocate(size_t bytes) override;
  backend::Result<BackendBlock> Wrap(void* address, size_t bytes) override;
  backend::Result<backend::MemoryStats> Stats() const override;

  // A block for a launch to fill: Block::Hold gives it its contents.
  backend::Result<BackendBlock> Reserve(size_t bytes);

 private:
  backend::Result<BackendBlock> Take(size_t bytes, BackendBlock inner);
  backend::Status Count(size_t bytes);

  backend::Memory* const inner_;
  const std::vector<backend::Device*> devices_;
  const std::shared_ptr<Control> control_;
  const bool on_device_;
  const int64_t limit_;  // bytes; 0: none
  backend::MemoryInfo info_;
  std::atomic<int64_t> in_use_{0}, peak_{0}, count_{0}, blocks_{0};
};

class Memory::Block final : public backend::Allocation {
 public:
  Block(Memory* memory, void* address, size_t bytes, BackendBlock inner);
  ~Block() override;

  // The block of the backend underneath; null in one that no launch has filled.
  const BackendBlock& inner() const { return inner_; }
  // The contents are those of `inner` from now on. Host memory stays where it is, so there they are
  // copied. On the device's thread, while nobody else looks at the block.
  backend::Status Hold(BackendBlock inner);

 private:
  Memory* const owner_;
  BackendBlock inner_;
};

// What stands behind a block of the accelerator's; INTERNAL when nothing does.
backend::Result<BackendBlock> Inner(const BackendBlock& block);
backend::Status Hold(const BackendBlock& block, BackendBlock inner);

}  // namespace PJRT_PLUGIN_NS::accelerator

#endif  // TESTING_ACCELERATOR_MEMORY_H_
