#include "reference/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <system_error>

namespace PJRT_PLUGIN_NS::reference {
namespace {

// True on a thread that is inside a loop body: a loop inside a loop gains nothing from more
// threads.
thread_local bool inside_loop = false;

}  // namespace

struct ThreadPool::Loop {
  Loop(RangeBody body, int64_t n, int64_t step) : body(body), n(n), step(step) {}

  RangeBody body;
  int64_t n;
  int64_t step;
  std::atomic<int64_t> next{0};
  int workers_inside = 0;  // under the pool's mutex
  std::condition_variable left;

  // Takes ranges until none is left.
  void Run() {
    for (;;) {
      int64_t begin = next.fetch_add(step, std::memory_order_relaxed);
      if (begin >= n) return;
      body(begin, std::min(begin + step, n));
    }
  }
};

ThreadPool::ThreadPool(int threads)
    : threads_(threads > 0 ? threads : std::max(1, int(std::thread::hardware_concurrency()))) {}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::Start() {
  // Where the system has no thread to give, the loop runs on those that there are.
  try {
    while (int(workers_.size()) < threads_ - 1) workers_.emplace_back([this] { Work(); });
  } catch (const std::system_error&) {
  }
}

void ThreadPool::ParallelFor(int64_t n, int64_t grain, RangeBody body) {
  if (n <= 0) return;
  grain = std::max<int64_t>(grain, 1);
  if (threads_ == 1 || n <= grain || inside_loop) {
    body(0, n);
    return;
  }
  // A few ranges a thread, so that a slow core does not hold up the rest.
  int64_t grains = (n + grain - 1) / grain;
  int64_t ranges = std::min<int64_t>(grains, int64_t(threads_) * 4);
  Loop loop(body, n, (grains + ranges - 1) / ranges * grain);
  {
    std::lock_guard lock(mutex_);
    Start();
    loops_.push_back(&loop);
  }
  if (threads_ == 2) {
    wake_.notify_one();
  } else {
    wake_.notify_all();
  }
  inside_loop = true;
  loop.Run();
  inside_loop = false;
  std::unique_lock lock(mutex_);
  std::erase(loops_, &loop);
  loop.left.wait(lock, [&] { return loop.workers_inside == 0; });
}

void ThreadPool::Work() {
  inside_loop = true;
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] { return stop_ || !loops_.empty(); });
    if (stop_) return;
    Loop* loop = loops_.front();
    ++loop->workers_inside;
    lock.unlock();
    loop->Run();
    lock.lock();
    // No range is left, so nobody else needs to join.
    if (!loops_.empty() && loops_.front() == loop) loops_.pop_front();
    if (--loop->workers_inside == 0) loop->left.notify_one();
  }
}

}  // namespace PJRT_PLUGIN_NS::reference
