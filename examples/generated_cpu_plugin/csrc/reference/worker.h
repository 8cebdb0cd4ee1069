#ifndef REFERENCE_WORKER_H_
#define REFERENCE_WORKER_H_

// Worker: the thread of one simulated device, for programs that cannot run on the thread that
// launches them: those that wait for other devices or for their inputs. Started by the first task;
// the destructor finishes all tasks.

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "backend/status.h"
#include "generated/config.h"

namespace PJRT_PLUGIN_NS::reference {

class Worker {
 public:
  Worker() = default;
  ~Worker() { Finish(); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Tasks run one after the other in the order of the calls. They do not throw. RESOURCE_EXHAUSTED
  // when the system has no thread to give; the task is dropped then.
  backend::Status Enqueue(std::function<void()> task);
  // Finishes all tasks and ends the thread. Not from a task; nothing may be enqueued any more.
  void Finish();

 private:
  void Work();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> tasks_;
  std::thread thread_;
  bool stop_ = false;
};

}  // namespace PJRT_PLUGIN_NS::reference

#endif  // REFERENCE_WORKER_H_
