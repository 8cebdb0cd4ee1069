#include "reference/thread_pool.h"

#include <atomic>
#include <numeric>
#include <thread>
#include <vector>

#include "testing/test.h"

namespace PJRT_PLUGIN_NS::reference {
namespace {

// Runs a loop that marks every index, and returns how many were not marked exactly once.
int64_t Misses(ThreadPool& pool, int64_t n, int64_t grain) {
  std::vector<std::atomic<int>> seen(size_t(n) + 1);
  pool.ParallelFor(n, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) ++seen[size_t(i)];
  });
  int64_t misses = seen[size_t(n)] != 0;
  for (int64_t i = 0; i < n; ++i) misses += seen[size_t(i)] != 1;
  return misses;
}

TEST(ThreadPool, EveryIndexIsVisitedOnce) {
  ThreadPool pool(4);
  for (int64_t n : {0, 1, 7, 64, 1000, 12345})
    for (int64_t grain : {1, 3, 64, 100000}) EXPECT_EQ(Misses(pool, n, grain), 0);
}

TEST(ThreadPool, RangesAreMultiplesOfTheGrain) {
  ThreadPool pool(3);
  std::atomic<int> bad{0};
  pool.ParallelFor(1003, 10, [&](int64_t begin, int64_t end) {
    if (begin % 10 != 0 || (end % 10 != 0 && end != 1003)) ++bad;
  });
  EXPECT_EQ(bad.load(), 0);
}

TEST(ThreadPool, OneThreadIsAPlainLoop) {
  ThreadPool pool(1);
  std::thread::id where;
  pool.ParallelFor(1000, 1, [&](int64_t, int64_t) { where = std::this_thread::get_id(); });
  EXPECT_TRUE(where == std::this_thread::get_id());
}

TEST(ThreadPool, NestedLoopsRun) {
  ThreadPool pool(4);
  std::atomic<int64_t> sum{0};
  pool.ParallelFor(8, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      pool.ParallelFor(10, 1, [&](int64_t b, int64_t e) { sum += e - b; });
  });
  EXPECT_EQ(sum.load(), 80);
}

TEST(ThreadPool, ManyCallersShareIt) {
  ThreadPool pool(4);
  std::vector<std::thread> callers;
  std::atomic<int64_t> misses{0};
  for (int t = 0; t < 4; ++t)
    callers.emplace_back([&] {
      for (int i = 0; i < 50; ++i) misses += Misses(pool, 500, 7);
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(misses.load(), 0);
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::reference
