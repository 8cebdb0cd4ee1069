#include "reference/stream.h"

#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace PJRT_PLUGIN_NS::reference {
namespace {

using backend::Completion;
using backend::Region;
using backend::Status;

std::byte* At(const Region& region) {
  return static_cast<std::byte*>(region.block->address()) + region.offset;
}

Status CheckInside(const Region& region, const char* what) {
  if (region.offset <= region.block->bytes() &&
      region.bytes <= region.block->bytes() - region.offset)
    return Status();
  return backend::InvalidArgument(std::string(what) + " a part of a block at offset " +
                                  std::to_string(region.offset) + " with " +
                                  std::to_string(region.bytes) + " bytes: the block has " +
                                  std::to_string(region.block->bytes()) + " bytes");
}

}  // namespace

// One copy. Holds the blocks until it is done.
struct HostStream::Work {
  const void* from = nullptr;
  void* to = nullptr;
  size_t bytes = 0;
  std::shared_ptr<backend::Allocation> from_block, to_block;

  void Run() const {
    if (bytes != 0) std::memmove(to, from, bytes);
  }
};

// The copies that wait for something. Whoever makes that ready may do so after the stream is gone.
class HostStream::Waiting {
 public:
  struct Entry {
    Work work;
    backend::Promise done;
  };

  uint64_t Add(Entry entry) {
    const std::scoped_lock lock(mutex_);
    entries_.emplace(next_, std::move(entry));
    return next_++;
  }

  void Run(uint64_t id, const Status& ready) {
    std::unique_lock lock(mutex_);
    auto node = entries_.extract(id);
    if (node.empty()) return;  // the stream is gone
    ++running_;
    lock.unlock();
    {
      const Work work = std::move(node.mapped().work);
      if (ready.ok()) work.Run();
    }  // lets go of the blocks before anyone hears that the copy is over
    lock.lock();
    --running_;
    idle_.notify_all();
    lock.unlock();
    node.mapped().done.Set(ready);
  }

  void Drop() {
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [&] { return running_ == 0; });
    auto dropped = std::exchange(entries_, {});
    lock.unlock();
    for (auto& [id, entry] : dropped) {
      entry.work = {};
      entry.done.Set(Status(backend::Code::kCancelled,
                            "the client was destroyed before what the copy waits for was ready"));
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable idle_;
  std::map<uint64_t, Entry> entries_;
  uint64_t next_ = 0;
  int running_ = 0;
};

HostStream::HostStream() : waiting_(std::make_shared<Waiting>()) {}
HostStream::~HostStream() { Finish(); }

void HostStream::Finish() { waiting_->Drop(); }

Completion HostStream::CopyAfter(Work work, std::span<const Completion> after) {
  Completion ready = backend::WhenAll(after);
  if (ready.IsReady()) {
    if (ready.status().ok()) work.Run();
    return ready;
  }
  auto [done, promise] = backend::MakeCompletion();
  const uint64_t id = waiting_->Add({std::move(work), std::move(promise)});
  ready.OnReady([waiting = waiting_, id](const Status& status) { waiting->Run(id, status); });
  return done;
}

Completion HostStream::CopyFromHost(const void* host, Region to,
                                    std::span<const Completion> after) {
  if (Status status = CheckInside(to, "copying from the host to"); !status.ok())
    return Completion(status);
  return CopyAfter({host, At(to), to.bytes, nullptr, to.block}, after);
}

Completion HostStream::CopyToHost(Region from, void* host, std::span<const Completion> after) {
  if (Status status = CheckInside(from, "copying to the host from"); !status.ok())
    return Completion(status);
  return CopyAfter({At(from), host, from.bytes, from.block, nullptr}, after);
}

Completion HostStream::Copy(Region from, Region to, std::span<const Completion> after) {
  if (Status status = CheckInside(from, "copying from"); !status.ok()) return Completion(status);
  if (Status status = CheckInside(to, "copying to"); !status.ok()) return Completion(status);
  if (from.bytes != to.bytes)
    return Completion(backend::InvalidArgument(
        "copying " + std::to_string(from.bytes) + " bytes to a part of a block of " +
        std::to_string(to.bytes) + " bytes: both sides must have one size"));
  return CopyAfter({At(from), At(to), to.bytes, from.block, to.block}, after);
}

}  // namespace PJRT_PLUGIN_NS::reference
