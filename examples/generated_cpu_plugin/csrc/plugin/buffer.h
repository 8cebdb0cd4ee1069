#ifndef PLUGIN_BUFFER_H_
#define PLUGIN_BUFFER_H_

// Buffer: an array in one memory. Its block is shared with the work that uses it, so Delete and
// Destroy never wait.
//
// Whoever reads the block does so under a Use, and says when the reading ends: a launch that the
// buffer is donated to starts to write only after that.
//
//   PJRT_PLUGIN_ASSIGN_OR_RETURN(Use use, buffer->Read("PJRT_Buffer_ToHostBuffer"));
//   Completion copied = stream.CopyToHost({use.block(), 0, bytes}, dst, after);
//   use.End(copied);

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "backend/completion.h"
#include "backend/memory.h"
#include "backend/shape.h"
#include "generated/config.h"
#include "generated/pjrt_c_api.h"
#include "plugin/client.h"
#include "plugin/error.h"
#include "plugin/event.h"
#include "plugin/handle.h"

namespace PJRT_PLUGIN_NS::plugin {

using Block = std::shared_ptr<backend::Allocation>;
class AliasBlock;

struct Buffer : Handle<Tag::kBuffer> {
  class Use;

  // What a launch takes from a buffer that is donated to it, and a buffer from one whose place it
  // takes.
  struct Donation {
    Block block;
    std::vector<Completion> uses;  // readings that must end before the block is written
    bool donatable = true;         // nobody else sees the block: it may be donated on
  };

  // `block` is null in a buffer that stands for a failure, which is that of `ready`.
  Buffer(std::shared_ptr<Client> client, Device* device, Memory* memory, backend::Shape shape,
         Block block, Completion ready, bool donatable = true)
      : client(std::move(client)),
        device(device),
        memory(memory),
        shape(std::move(shape)),
        ready(std::move(ready)),
        donatable_(donatable),
        block_(std::move(block)) {}
  // In the place of a buffer that handed over `from`.
  Buffer(std::shared_ptr<Client> client, Device* device, Memory* memory, backend::Shape shape,
         Donation from, Completion ready)
      : Buffer(std::move(client), device, memory, std::move(shape), std::move(from.block),
               std::move(ready), from.donatable) {
    uses_ = std::move(from.uses);
  }
  // With memory that another buffer will supply.
  Buffer(std::shared_ptr<Client> client, Device* device, Memory* memory, backend::Shape shape,
         std::shared_ptr<AliasBlock> alias, Completion ready)
      : Buffer(std::move(client), device, memory, std::move(shape), Block(), std::move(ready)) {
    alias_ = std::move(alias);
    is_alias_ = true;
    waits_for_caller = true;
  }

  // INVALID_ARGUMENT when the buffer was deleted or donated; the failure of a buffer that stands
  // for one.
  Result<Use> Read(const char* function);
  // True, with the block in `donation`, if the block may be overwritten; from then on the buffer is
  // deleted. False when somebody outside sees the memory, or reads it at this moment: the launch
  // must then leave it as it is.
  bool Donate(Donation* donation);
  // Undoes Donate, when the launch did not start. A buffer that was deleted meanwhile stays so.
  void TakeBack(Donation donation);
  // Deletes the buffer and gives its block to one that takes its place, which reads it only:
  // whoever sees or reads the memory may go on. The block is null in a buffer that stands for a
  // failure. INVALID_ARGUMENT when the buffer was deleted or donated.
  Result<Donation> HandOver(const char* function);
  void Delete();
  bool IsDeleted() const;
  bool IsWaitingForCaller() const { return waits_for_caller && !ready.IsReady(); }

  // As long as there is a reference, the memory stays where it is, even when the buffer is deleted.
  Status AddExternalReference(const char* function);
  Status DropExternalReference(const char* function);
  // The address of the block, for those who hold a reference.
  Result<void*> Address(const char* function);

  Status DeletedError(const char* function) const;

  const std::shared_ptr<Client> client;
  Device* const device;
  Memory* const memory;
  const backend::Shape shape;
  const Completion ready;  // the contents are there, or why they never will be
  // `ready` waits for something that the caller has still to do, or for work that does. Set before
  // the caller gets the buffer.
  bool waits_for_caller = false;

 private:
  // To everybody but TakeBack a donated buffer is a deleted one.
  enum class State { kLive, kDonated, kDeleted };

  Status WhyNoBlock(const char* function) const;
  // The memory of an alias is settled when it is first needed, in two steps. Without the lock, as
  // there may be a wait for memory: sees to it that there is some, unless there will be no
  // contents.
  Status ReserveBlock();
  // With the lock held: takes it.
  void FindBlock();

  bool is_alias_ = false;  // was made as one; constant
  bool donatable_;
  mutable std::mutex mutex_;
  Block block_;  // null once deleted or donated, and in an alias that nobody has needed yet
  std::shared_ptr<AliasBlock> alias_;  // of such an alias
  Block external_block_;               // of a deleted buffer with external references
  State state_ = State::kLive;
  int external_references_ = 0;
  std::vector<Completion> uses_;  // readings that go on
  std::atomic<int> starting_uses_{
      0};  // readings that have begun but not said yet how long they last
};
PJRT_PLUGIN_HANDLE(PJRT_Buffer, Buffer)

// One reading of a buffer's block. Ends at once when it is dropped.
class Buffer::Use {
 public:
  Use(Use&& other) noexcept
      : buffer_(std::exchange(other.buffer_, nullptr)), block_(std::move(other.block_)) {}
  Use& operator=(Use&&) = delete;
  ~Use() {
    if (buffer_ != nullptr) End(Completion());
  }

  const Block& block() const { return block_; }
  // For work that keeps the block itself.
  Block TakeBlock() { return std::move(block_); }
  // The reading ends with `done`. The buffer may not be destroyed before this.
  void End(const Completion& done);

 private:
  friend struct Buffer;
  Use(Buffer* buffer, Block block) : buffer_(buffer), block_(std::move(block)) {}

  Buffer* buffer_;
  Block block_;
};

// A buffer that will never have contents.
Buffer* NewErrorBuffer(std::shared_ptr<Client> client, Device* device, Memory* memory,
                       backend::Shape shape, Status status);

}  // namespace PJRT_PLUGIN_NS::plugin

#endif  // PLUGIN_BUFFER_H_
