#ifndef TESTING_ACCELERATOR_QUEUES_H_
#define TESTING_ACCELERATOR_QUEUES_H_

// Queues: the threads of the devices, one each, and no more. Work enters a device's queue when what
// it waits for is ready, and runs there one piece after the other. Work for several devices enters
// all of their queues at one time, so that all of them see it in the same order.
//
// Threads: Submit from any thread. Finish, and the destructor, from none of the devices.

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "backend/completion.h"
#include "backend/status.h"
#include "generated/config.h"

namespace PJRT_PLUGIN_NS::accelerator {

class Queues {
 public:
  // Neither member throws, and one of them is called: `run` once for each device, on its thread, or
  // `fail` once, on any.
  struct Task {
    std::vector<size_t> devices;
    std::function<void(size_t place)> run;  // place in `devices`
    std::function<void(const backend::Status&)> fail;
  };

  explicit Queues(size_t devices);
  ~Queues() { Finish(); }
  Queues(const Queues&) = delete;
  Queues& operator=(const Queues&) = delete;

  // Fails the task with the first failure among `after`.
  void Submit(Task task, std::span<const backend::Completion> after);
  // Ends what is in the queues, and fails what still waits for its inputs: nobody holds an array of
  // this driver any more.
  void Finish();
  // Whether the calling thread is one of the devices'.
  bool OnDevice() const;

 private:
  class Worker;
  struct Core;
  const std::shared_ptr<Core> core_;
};

}  // namespace PJRT_PLUGIN_NS::accelerator

#endif  // TESTING_ACCELERATOR_QUEUES_H_
