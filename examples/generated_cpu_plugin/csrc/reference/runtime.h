#ifndef REFERENCE_RUNTIME_H_
#define REFERENCE_RUNTIME_H_

// Runtime: what all devices and executables of one driver share: cores, workers and kept memory.

#include <condition_variable>
#include <mutex>
#include <vector>

#include "backend/custom_call.h"
#include "backend/recorder.h"
#include "generated/config.h"
#include "reference/block_cache.h"
#include "reference/thread_pool.h"
#include "reference/worker.h"

namespace PJRT_PLUGIN_NS::reference {

struct Runtime {
  explicit Runtime(size_t num_devices) : workers(num_devices) {}
  ~Runtime() { Finish(); }

  // Waits for all that was launched. What it used may go then.
  void Finish() {
    {
      std::unique_lock lock(launch_order);
      launched.wait(lock, [&] { return launches_waiting == 0; });
    }
    for (Worker& worker : workers) worker.Finish();
  }

  backend::CustomCalls* custom_calls = nullptr;  // null: there are none
  backend::Recorder* recorder = backend::Recorder::None();
  BlockCache blocks;
  ThreadPool pool;
  std::vector<Worker> workers;  // by local device
  // Held while a program is queued on several devices: all of them see all programs in one order,
  // or two programs would wait for each other.
  std::mutex launch_order;
  int launches_waiting = 0;  // for their inputs; under launch_order
  std::condition_variable launched;
};

}  // namespace PJRT_PLUGIN_NS::reference

#endif  // REFERENCE_RUNTIME_H_
