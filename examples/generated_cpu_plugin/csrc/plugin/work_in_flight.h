#ifndef PLUGIN_WORK_IN_FLIGHT_H_
#define PLUGIN_WORK_IN_FLIGHT_H_

// WorkInFlight: the launches and copies of a client that have not ended.
//
// They hold memory until they do: working memory, and blocks of buffers that were deleted or
// donated meanwhile. Whoever finds a memory full waits for them, one after the other, before that
// is a failure.
//
//   Result<Block> block = client->work.Retry([&] { return memory->impl->Allocate(bytes); });
//   ...
//   client->work.Add(stream.CopyFromHost(...));
//
// And a launch can be failed from outside (PJRT_Device_PoisonExecution). What is failed is what the
// caller sees, the outputs and the event; the work itself goes on, and whoever waits for the end of
// its reading and writing still waits for that.
//
//   outputs_ready = client->work.AddLaunch(result.done, program, {.device = device, .id = id});
//   client->work.Poison(device, id, status);   // true: the outputs are failures
//
// Work that is over when it is added costs nothing.
//
// Threads: any member from any thread. Retry may block, so it is not called under a lock. It never
// blocks a thread that runs callbacks, which the work may need to go on.

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "backend/completion.h"
#include "generated/config.h"
#include "plugin/error.h"

namespace PJRT_PLUGIN_NS::plugin {

struct CompiledProgram;
struct Device;

class WorkInFlight {
 public:
  // One device's part of an execution.
  struct Launch {
    const Device* device;
    int64_t id;
    bool waits_for_caller = false;  // see Add
    bool may_be_poisoned = true;
  };

  // Work that ends with `done`. `waits_for_caller`: not before the caller has done something, such
  // as sending the pieces of an input. Nobody may wait for that: the caller may be the one who
  // waits.
  void Add(const backend::Completion& done, bool waits_for_caller = false) {
    if (!done.IsReady()) AddPending({done, waits_for_caller});
  }

  // A launch that ends with `done`. Gives what its outputs wait for, which is ready when `done` is,
  // with its outcome, or before that with the failure that Poison gives. `program`, and with it the
  // client, stays until `done`, whatever the caller destroys meanwhile.
  backend::Completion AddLaunch(const backend::Completion& done,
                                const std::shared_ptr<const CompiledProgram>& program,
                                const Launch& launch) {
    return done.IsReady() ? done : AddPendingLaunch(done, program, launch);
  }

  // Fails the outputs of the device's earliest launch with that id that has not ended and was not
  // failed before. False when there is none.
  bool Poison(const Device* device, int64_t launch_id, const Status& failure);

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
    bool waits_for_caller = false;
    // Of a launch that may be poisoned: what sets its outputs; null once that has happened.
    std::shared_ptr<const backend::Promise> outputs = nullptr;
    const Device* device = nullptr;
    int64_t launch_id = 0;
  };

  void AddPending(Work work);
  backend::Completion AddPendingLaunch(const backend::Completion& done,
                                       std::shared_ptr<const CompiledProgram> program,
                                       const Launch& launch);
  // In the order of their start, those that this thread may wait for. A device may do its work in
  // order, so whatever came after work that waits for the caller may wait for it too. Those that
  // have ended may be among them: they may have ended since memory was found full.
  std::vector<backend::Completion> Earlier() const;

  mutable std::mutex mutex_;
  std::vector<Work> work_;  // in the order of their start; what has ended may be among it
};

}  // namespace PJRT_PLUGIN_NS::plugin

#endif  // PLUGIN_WORK_IN_FLIGHT_H_
