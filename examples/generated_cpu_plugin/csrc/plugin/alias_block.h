#ifndef PLUGIN_ALIAS_BLOCK_H_
#define PLUGIN_ALIAS_BLOCK_H_

// AliasBlock: the memory of a buffer that another buffer will supply. In the usual order the other
// one's block is handed over before anybody needs it, and nothing is copied. Who needs memory
// sooner, a launch for one, gets a block of its own, to which the contents are copied later.
//
//   alias buffer:  Reserve(), then Take()    when its memory is first needed
//   fulfiller:     Give(donation)            once, when the other buffer is known
//
// Threads: all may be called from any thread. Reserve may wait, so not under a lock.

#include <cstddef>
#include <mutex>
#include <optional>
#include <utility>

#include "generated/config.h"
#include "plugin/buffer.h"
#include "plugin/error.h"
#include "plugin/memory.h"

namespace PJRT_PLUGIN_NS::plugin {

class AliasBlock {
 public:
  AliasBlock(const Memory* memory, size_t bytes) : memory_(memory), bytes_(bytes) {}

  // Makes sure that there is something to take. Failures are those of Memory::Allocate, and leave
  // all as it was.
  Status Reserve() {
    {
      std::lock_guard lock(mutex_);
      if (settled_) return Status();
    }
    PJRT_PLUGIN_ASSIGN_OR_RETURN(Block block, memory_->Allocate(bytes_));
    std::lock_guard lock(mutex_);
    if (std::exchange(settled_, true)) return Status();  // somebody was faster: `block` goes again
    reserved_ = block;
    contents_ = Buffer::Donation{std::move(block), {}};
    return Status();
  }

  // What was given or reserved, once; nothing when that has not happened yet.
  std::optional<Buffer::Donation> Take() {
    std::lock_guard lock(mutex_);
    return std::exchange(contents_, std::nullopt);
  }

  // Null: `donation` is, or will be, the alias's memory. Else the block that was reserved before,
  // to which the contents must be copied.
  Block Give(Buffer::Donation donation) {
    std::lock_guard lock(mutex_);
    if (!std::exchange(settled_, true)) contents_ = std::move(donation);
    return std::move(reserved_);
  }

 private:
  const Memory* const memory_;
  const size_t bytes_;
  std::mutex mutex_;
  bool settled_ = false;  // given or reserved
  std::optional<Buffer::Donation> contents_;
  Block reserved_;
};

}  // namespace PJRT_PLUGIN_NS::plugin

#endif  // PLUGIN_ALIAS_BLOCK_H_
