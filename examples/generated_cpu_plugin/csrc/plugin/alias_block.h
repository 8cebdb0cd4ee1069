#ifndef PLUGIN_ALIAS_BLOCK_H_
#define PLUGIN_ALIAS_BLOCK_H_

// AliasBlock: the memory of a buffer that another buffer will supply. In the usual order the other
// one's block is handed over before anybody needs it, and nothing is copied. Who needs memory
// sooner, a launch for one, gets a block of its own, to which the contents are copied later.
//
//   alias buffer:  FindBlock() -> Take()     once, when its memory is first needed
//   fulfiller:     Give(donation)            once, when the other buffer is known
//
// Threads: both may be called from any thread.

#include <cstddef>
#include <mutex>
#include <optional>
#include <utility>

#include "backend/memory.h"
#include "generated/config.h"
#include "plugin/buffer.h"
#include "plugin/error.h"

namespace PJRT_PLUGIN_NS::plugin {

class AliasBlock {
 public:
  AliasBlock(backend::Memory* memory, size_t bytes) : memory_(memory), bytes_(bytes) {}

  // What was given, or a new block. RESOURCE_EXHAUSTED is the memory's, and leaves all as it was.
  Result<Buffer::Donation> Take() {
    std::lock_guard lock(mutex_);
    if (given_.has_value()) return *std::exchange(given_, std::nullopt);
    PJRT_PLUGIN_ASSIGN_OR_RETURN(taken_, memory_->Allocate(bytes_));
    return Buffer::Donation{taken_, {}};
  }

  // Null: `donation` is, or will be, the alias's memory. Else the block that was taken before, to
  // which the contents must be copied.
  Block Give(Buffer::Donation donation) {
    std::lock_guard lock(mutex_);
    if (taken_ == nullptr) given_ = std::move(donation);
    return std::move(taken_);
  }

 private:
  backend::Memory* const memory_;
  const size_t bytes_;
  std::mutex mutex_;
  std::optional<Buffer::Donation> given_;
  Block taken_;
};

}  // namespace PJRT_PLUGIN_NS::plugin

#endif  // PLUGIN_ALIAS_BLOCK_H_
