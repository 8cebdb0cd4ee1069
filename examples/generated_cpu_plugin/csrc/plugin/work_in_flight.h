#ifndef PLUGIN_WORK_IN_FLIGHT_H_
#define PLUGIN_WORK_IN_FLIGHT_H_

// WorkInFlight: the launches and copies of a client that have not ended, which hold memory until
// they do: working memory, and blocks of buffers that were deleted or donated meanwhile. Whoever
// finds a memory full waits for them, one after the other, before that is a failure.
//
//   Result<Block> block = client->work.Retry([&] { return memory->impl->Allocate(bytes); });
//   ...
//   client->work.Add(stream.CopyFromHost(...));
//
// Threads: any member from any thread. Retry may block, so it is not called under a lock. It never
// blocks a thread that runs callbacks, which the work may need to go on.

#include <mutex>
#include <vector>

#include "backend/completion.h"
#include "generated/config.h"
#include "plugin/error.h"

namespace PJRT_PLUGIN_NS::plugin {

class WorkInFlight {
 public:
  // Work that ends with `done`. `waits_for_caller`: not before the caller has done something, such
  // as sending the pieces of an input. Nobody may wait for that: the caller may be the one who
  // waits.
  void Add(const backend::Completion& done, bool waits_for_caller = false) {
    if (!done.IsReady()) AddPending(done, waits_for_caller);
  }

  // What `attempt` gives, a Result. When that is RESOURCE_EXHAUSTED, waits for the earliest work
  // that was in flight and tries again, until none of it is left.
  template <typename Attempt>
  auto Retry(Attempt attempt) {
    auto result = attempt();
    if (result.ok() || result.status().code() != Code::kResourceExhausted) return result;
    const std::vector<backend::Completion> earlier = Earlier();
    for (size_t i = 0; i < earlier.size(); ++i) {
      (void)earlier[i].Await();  // its own failure is not ours
      if (i + 1 < earlier.size() && earlier[i + 1].IsReady()) continue;
      result = attempt();
      if (result.ok() || result.status().code() != Code::kResourceExhausted) break;
    }
    return result;
  }

 private:
  struct Work {
    backend::Completion done;
    bool waits_for_caller;
  };

  void AddPending(const backend::Completion& done, bool waits_for_caller);
  // In the order of their start, those that this thread may wait for. A device may do its work in
  // order, so whatever came after work that waits for the caller may wait for it too. Those that
  // have ended may be among them: they may have ended since memory was found full.
  std::vector<backend::Completion> Earlier() const;

  mutable std::mutex mutex_;
  std::vector<Work> work_;  // in the order of their start
};

}  // namespace PJRT_PLUGIN_NS::plugin

#endif  // PLUGIN_WORK_IN_FLIGHT_H_
