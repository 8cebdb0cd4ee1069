#include "reference/worker.h"

#include <string>
#include <system_error>
#include <utility>

namespace PJRT_PLUGIN_NS::reference {

void Worker::Finish() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

backend::Status Worker::Enqueue(std::function<void()> task) {
  {
    std::lock_guard lock(mutex_);
    if (!thread_.joinable()) {
      try {
        thread_ = std::thread([this] { Work(); });
      } catch (const std::system_error& error) {
        return backend::ResourceExhausted(std::string("cannot start a device's thread: ") +
                                          error.what());
      }
    }
    tasks_.push_back(std::move(task));
  }
  wake_.notify_one();
  return backend::Status();
}

void Worker::Work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] { return stop_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    task = nullptr;  // what it holds goes before the lock is taken
    lock.lock();
  }
}

}  // namespace PJRT_PLUGIN_NS::reference
