#ifndef REFERENCE_THREAD_POOL_H_
#define REFERENCE_THREAD_POOL_H_

// ThreadPool: splits one loop over the cores. The calling thread takes part, so a pool of one
// thread is a plain loop and costs nothing.
//
//   pool.ParallelFor(n, 4096, [&](int64_t begin, int64_t end) { ... });   // returns when all of
//   [0, n) is done
//
// Threads: ParallelFor may be called from several threads at once, which then share the workers,
// and from inside a body, which then runs on its own thread alone. Bodies do not throw. Workers are
// started by the first loop that is large enough and joined by the destructor.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

#include "generated/config.h"

namespace PJRT_PLUGIN_NS::reference {

// A borrowed callable: two words, no allocation. The callable outlives the call.
class RangeBody {
 public:
  template <typename F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, RangeBody>)
  RangeBody(F&& f)  // NOLINT: implicit, so that lambdas read naturally
      : object_(const_cast<void*>(static_cast<const void*>(&f))),
        call_([](void* object, int64_t begin, int64_t end) {
          (*static_cast<std::remove_reference_t<F>*>(object))(begin, end);
        }) {}
  void operator()(int64_t begin, int64_t end) const { call_(object_, begin, end); }

 private:
  void* object_;
  void (*call_)(void*, int64_t, int64_t);
};

class ThreadPool {
 public:
  // `threads` counts the caller; 0 means the cores that this process may use.
  explicit ThreadPool(int threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return threads_; }

  // Runs `body` over disjoint ranges that cover [0, n), each of at least `grain` elements (but the
  // last) and a multiple of it. Returns when all are done.
  void ParallelFor(int64_t n, int64_t grain, RangeBody body);

 private:
  struct Loop;
  void Work();
  void Start();

  const int threads_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Loop*> loops_;  // with ranges left to take
  std::vector<std::thread> workers_;
  bool stop_ = false;
};

}  // namespace PJRT_PLUGIN_NS::reference

#endif  // REFERENCE_THREAD_POOL_H_
