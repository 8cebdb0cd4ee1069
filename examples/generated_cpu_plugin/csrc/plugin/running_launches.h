#ifndef PLUGIN_RUNNING_LAUNCHES_H_
#define PLUGIN_RUNNING_LAUNCHES_H_

// RunningLaunches: the executions of one device that have not ended, so that one can be failed from
// outside (PJRT_Device_PoisonExecution). What is failed is what the caller sees, the outputs and
// the event; the work itself goes on, and whoever waits for the end of its reading and writing
// still waits for that.
//
//   outputs_ready = device->running.Watch(launch_id, result.done);
//   device->running.Poison(launch_id, status);   // true: the outputs are failures
//
// Threads: any member from any thread.

#include <list>
#include <memory>
#include <mutex>

#include "backend/completion.h"
#include "generated/config.h"
#include "plugin/error.h"

namespace PJRT_PLUGIN_NS::plugin {

class RunningLaunches {
 public:
  // Ready when `done` is, with its outcome, or before that with the failure that Poison gives.
  backend::Completion Watch(int64_t launch_id, const backend::Completion& done);

  // Fails the earliest execution with that id that still runs and has not been failed. False when
  // there is none.
  bool Poison(int64_t launch_id, const Status& failure);

 private:
  struct Launch {
    int64_t id;
    std::shared_ptr<const backend::Promise> promise;
  };
  // Shared with the callbacks of the executions, which may end after the client.
  struct State {
    std::mutex mutex;
    std::list<Launch> launches;  // in the order of their start; a failed one has no promise
  };
  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace PJRT_PLUGIN_NS::plugin

#endif  // PLUGIN_RUNNING_LAUNCHES_H_
