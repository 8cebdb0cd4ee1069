#include "backend/completion.h"

#include <atomic>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "testing/test.h"

namespace PJRT_PLUGIN_NS::backend {
namespace {

TEST(Completion, DefaultIsReadyAndOk) {
  int calls = 0;
  Completion().OnReady([&](const Status& s) { calls += s.ok() ? 1 : 100; });
  EXPECT_TRUE(Completion().IsReady());
  EXPECT_TRUE(Completion().Await().ok());
  EXPECT_EQ(calls, 1);
}

TEST(Completion, CallbacksRunOnceWithTheOutcome) {
  auto [done, promise] = MakeCompletion();
  int calls = 0;
  done.OnReady([&](const Status& s) { calls += s.code() == Code::kNotFound ? 1 : 100; });
  EXPECT_EQ(calls, 0);
  EXPECT_TRUE(promise.Set(NotFound("first")));
  EXPECT_FALSE(promise.Set(Status()));
  EXPECT_EQ(calls, 1);
  done.OnReady([&](const Status&) { ++calls; });
  EXPECT_EQ(calls, 2);
}

TEST(Completion, WhatACallbackThrowsIsDropped) {
  auto [done, promise] = MakeCompletion();
  int calls = 0;
  const auto throws = [&](const Status&) {
    ++calls;
    throw std::runtime_error("a callback threw");
  };
  done.OnReady(throws);
  done.OnReady([&](const Status&) { calls += RunningCallbacks() ? 10 : 100; });
  promise.Set(Status());
  EXPECT_EQ(calls, 11);
  EXPECT_FALSE(RunningCallbacks());
  done.OnReady(throws);
  EXPECT_EQ(calls, 12);
}

TEST(Completion, CallbackMayDropCompletionAndPromise) {
  auto [done, promise] = MakeCompletion();
  std::optional<Completion> held(std::move(done));
  std::optional<Promise> set(std::move(promise));
  held->OnReady([&](const Status&) {
    held.reset();
    set.reset();
  });
  set->Set(Status());
  EXPECT_FALSE(held.has_value());
}

TEST(Completion, DroppedPromiseFailsItsWaiters) {
  std::optional<Completion> done;
  {
    auto [completion, promise] = MakeCompletion();
    done.emplace(completion);
  }
  EXPECT_EQ(done->Await().code(), Code::kInternal);
  auto [first, a] = MakeCompletion();
  auto [second, b] = MakeCompletion();
  a = std::move(b);
  EXPECT_TRUE(first.IsReady());
  EXPECT_FALSE(second.IsReady());
}

TEST(WhenAll, WaitsForAllAndReportsTheFirstInOrder) {
  auto [one, p1] = MakeCompletion();
  auto [two, p2] = MakeCompletion();
  std::vector<Completion> all = {one, Completion(NotFound("second")), two};
  Completion done = WhenAll(all);
  p2.Set(Internal("third"));
  EXPECT_FALSE(done.IsReady());
  p1.Set(Status());
  EXPECT_EQ(done.Await().code(), Code::kNotFound);
  EXPECT_TRUE(WhenAll({}).IsReady());
  EXPECT_EQ(WhenAll(std::vector<Completion>{Completion(NotFound("x"))}).status().code(),
            Code::kNotFound);
}

TEST(WhenAll, ManyThreads) {
  for (int round = 0; round < 50; ++round) {
    std::vector<Completion> all;
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
      auto [done, promise] = MakeCompletion();
      all.push_back(done);
      threads.emplace_back([p = std::move(promise)] { p.Set(Status()); });
    }
    std::atomic<int> calls{0};
    Completion done = WhenAll(all);
    done.OnReady([&](const Status&) { ++calls; });
    EXPECT_TRUE(done.Await().ok());
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(calls.load(), 1);
  }
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::backend
