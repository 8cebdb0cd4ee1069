#include "testing/accelerator/queues.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

namespace PJRT_PLUGIN_NS::accelerator {

using backend::Status;

// One device's thread, there from its first work on.
class Queues::Worker {
 public:
  ~Worker() { Finish(); }

  void Enqueue(std::function<void()> work) {
    std::lock_guard lock(mutex_);
    if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
    queue_.push_back(std::move(work));
    wake_.notify_one();
  }
  void Finish() {
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
      wake_.notify_one();
    }
    if (thread_.joinable()) thread_.join();
  }
  bool IsCaller() const {
    std::lock_guard lock(mutex_);
    return thread_.get_id() == std::this_thread::get_id();
  }

 private:
  void Run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return stop_ || !queue_.empty(); });
      if (queue_.empty()) return;
      std::function<void()> work = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      work();
      work = nullptr;  // what it holds goes while no lock is held
      lock.lock();
    }
  }

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> queue_;
  std::thread thread_;
  bool stop_ = false;
};

// Shared with the callbacks of what tasks wait for, which may come after the driver's end.
struct Queues::Core {
  explicit Core(size_t devices) : workers(devices) {}

  void Enqueue(const std::shared_ptr<Task>& task) {
    for (size_t place = 0; place < task->devices.size(); ++place) {
      workers[task->devices[place]].Enqueue([task, place] { task->run(place); });
    }
  }

  std::mutex mutex;  // held while a task enters its queues
  std::condition_variable failed;
  int failing = 0;  // tasks that are being failed
  std::set<std::shared_ptr<Task>> waiting;
  std::vector<Worker> workers;
};

Queues::Queues(size_t devices) : core_(std::make_shared<Core>(devices)) {}

void Queues::Submit(Task given, std::span<const backend::Completion> after) {
  auto task = std::make_shared<Task>(std::move(given));
  {
    std::lock_guard lock(core_->mutex);
    core_->waiting.insert(task);
  }
  // The callback holds the task, but not what the task holds once it was failed by Finish.
  backend::WhenAll(after).OnReady([core = core_, task](const Status& inputs) {
    {
      std::lock_guard lock(core->mutex);
      if (core->waiting.erase(task) == 0) return;
      if (inputs.ok()) return core->Enqueue(task);
      ++core->failing;
    }
    task->fail(inputs);
    std::lock_guard lock(core->mutex);
    --core->failing;
    core->failed.notify_all();
  });
}

void Queues::Finish() {
  std::vector<Task> dropped;
  {
    std::unique_lock lock(core_->mutex);
    core_->failed.wait(lock, [&] { return core_->failing == 0; });
    for (const std::shared_ptr<Task>& task : core_->waiting) dropped.push_back(std::move(*task));
    core_->waiting.clear();
  }
  for (Worker& worker : core_->workers) worker.Finish();
  for (const Task& task : dropped) {
    task.fail(Status(backend::Code::kCancelled, "the client was destroyed before this work began"));
  }
}

bool Queues::OnDevice() const {
  for (const Worker& worker : core_->workers) {
    if (worker.IsCaller()) return true;
  }
  return false;
}

}  // namespace PJRT_PLUGIN_NS::accelerator
