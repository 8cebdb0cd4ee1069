#include "plugin/event.h"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "backend/completion.h"
#include "plugin/api_test_util.h"
#include "plugin/error.h"
#include "testing/test.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

// What a framework does: note the outcome and destroy the event inside its own callback.
struct Waiter {
  PJRT_Event* event = nullptr;
  std::atomic<int> calls{0};
  std::string text;

  void Register(PJRT_Event* on) {
    event = on;
    auto args = Make<PJRT_Event_OnReady_Args>();
    args.event = on;
    args.user_arg = this;
    args.callback = [](PJRT_Error* error, void* user_arg) {
      auto* self = static_cast<Waiter*>(user_arg);
      self->text = Text(error);
      DestroyEvent(self->event);
      ++self->calls;
    };
    (void)Api().PJRT_Event_OnReady(&args);
  }
};

TEST(Event, ReadyOneCallsBackAtOnce) {
  Waiter waiter;
  waiter.Register(NewEvent(Completion()));
  EXPECT_EQ(waiter.calls.load(), 1);
  EXPECT_EQ(waiter.text, "");
}

// pitfall 50: an event that is destroyed inside its own callback deadlocks
TEST(Event, DestroyedInsideItsCallback) {
  auto [done, promise] = backend::MakeCompletion();
  Waiter waiter;
  waiter.Register(NewEvent(done));
  EXPECT_EQ(waiter.calls.load(), 0);
  promise.Set(backend::NotFound("gone"));
  EXPECT_EQ(waiter.calls.load(), 1);
  EXPECT_EQ(waiter.text, "5: gone");
}

TEST(Event, DestroyingItDoesNotCancelCallbacks) {
  auto [done, promise] = backend::MakeCompletion();
  PJRT_Event* event = NewEvent(done);
  int calls = 0;
  auto args = Make<PJRT_Event_OnReady_Args>();
  args.event = event;
  args.user_arg = &calls;
  args.callback = [](PJRT_Error*, void* calls) { ++*static_cast<int*>(calls); };
  (void)Api().PJRT_Event_OnReady(&args);
  (void)Api().PJRT_Event_OnReady(&args);
  DestroyEvent(event);
  promise.Set(Status());
  EXPECT_EQ(calls, 2);
}

TEST(Event, EveryQueryGivesANewError) {
  PJRT_Event* event = NewEvent(Completion(backend::Internal("broken")));
  auto args = Make<PJRT_Event_Error_Args>();
  args.event = event;
  PJRT_Error* first = Api().PJRT_Event_Error(&args);
  PJRT_Error* second = Api().PJRT_Event_Error(&args);
  EXPECT_TRUE(first != second);
  EXPECT_EQ(Text(first), "13: broken");
  EXPECT_EQ(Text(second), "13: broken");
  EXPECT_EQ(Finish(event), "13: broken");
}

TEST(Event, ErrorBeforeReadyIsRefused) {
  auto [done, promise] = backend::MakeCompletion();
  PJRT_Event* event = NewEvent(done);
  auto args = Make<PJRT_Event_Error_Args>();
  args.event = event;
  EXPECT_CONTAINS(Text(Api().PJRT_Event_Error(&args)), "not ready");
  DestroyEvent(event);
}

#if PJRT_SCAFFOLD_HAS_PJRT_Event_Create
std::string Set(PJRT_Event* event, PJRT_Error_Code code, const char* message) {
  auto args = Make<PJRT_Event_Set_Args>();
  args.event = event;
  args.error_code = code;
  args.error_message = message;
  args.error_message_size = std::char_traits<char>::length(message);
  return Text(Api().PJRT_Event_Set(&args));
}

TEST(Event, FrameworkMakesAndSetsOne) {
  auto create = Make<PJRT_Event_Create_Args>();
  (void)Api().PJRT_Event_Create(&create);
  EXPECT_FALSE(IsReady(create.event));
  EXPECT_EQ(Set(create.event, PJRT_Error_Code_ABORTED, "stop"), "");
  EXPECT_CONTAINS(Set(create.event, PJRT_Error_Code_OK, ""), "set before");
  EXPECT_EQ(Finish(create.event), "10: stop");
  PJRT_Event* ours = NewEvent(Completion());
  EXPECT_CONTAINS(Set(ours, PJRT_Error_Code_OK, ""), "sets this event itself");
  DestroyEvent(ours);
}

TEST(Event, OneOfManySettersWins) {
  for (int round = 0; round < 100; ++round) {
    auto create = Make<PJRT_Event_Create_Args>();
    (void)Api().PJRT_Event_Create(&create);
    std::atomic<int> won{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&] {
        if (Set(create.event, PJRT_Error_Code_ABORTED, "stop").empty()) ++won;
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(won.load(), 1);
    EXPECT_EQ(Finish(create.event), "10: stop");
  }
}

TEST(Event, SetMayDestroyItInACallback) {
  auto create = Make<PJRT_Event_Create_Args>();
  (void)Api().PJRT_Event_Create(&create);
  Waiter waiter;
  waiter.Register(create.event);
  EXPECT_EQ(Set(create.event, PJRT_Error_Code_OK, ""), "");
  EXPECT_EQ(waiter.calls.load(), 1);
}

TEST(Event, UnsetOneFailsWhenItIsDestroyed) {
  auto create = Make<PJRT_Event_Create_Args>();
  (void)Api().PJRT_Event_Create(&create);
  std::string text;
  auto args = Make<PJRT_Event_OnReady_Args>();
  args.event = create.event;
  args.user_arg = &text;
  args.callback = [](PJRT_Error* error, void* text) {
    *static_cast<std::string*>(text) = Text(error);
  };
  (void)Api().PJRT_Event_OnReady(&args);
  DestroyEvent(create.event);
  EXPECT_CONTAINS(text, "13: ");
}
#endif

// Registrations from many threads race with the setting of the event; each must be answered exactly
// once.
// What callbacks do to their own event and its buffer would hang if a lock were held around them.
// pitfall 45: a callback hangs because the plugin holds a lock while it runs
TEST(Event, CallbacksMayUseTheEvent) {
  for (const bool ready_before : {true, false}) {
    auto [done, promise] = backend::MakeCompletion();
    if (ready_before) promise.Set(Status());
    struct Nested {
      PJRT_Event* event;
      int calls = 0;
    } nested{NewEvent(done)};
    auto args = Make<PJRT_Event_OnReady_Args>();
    args.event = nested.event;
    args.user_arg = &nested;
    args.callback = [](PJRT_Error* error, void* user_arg) {
      auto* self = static_cast<Nested*>(user_arg);
      EXPECT_EQ(Text(error), "");
      EXPECT_TRUE(IsReady(self->event));
      auto await = Make<PJRT_Event_Await_Args>();
      await.event = self->event;
      EXPECT_EQ(Text(Api().PJRT_Event_Await(&await)), "");
      auto again = Make<PJRT_Event_OnReady_Args>();
      again.event = self->event;
      again.user_arg = self;
      again.callback = [](PJRT_Error*, void* one) { ++static_cast<Nested*>(one)->calls; };
      EXPECT_EQ(Text(Api().PJRT_Event_OnReady(&again)), "");
      ++self->calls;
    };
    EXPECT_EQ(Text(Api().PJRT_Event_OnReady(&args)), "");
    if (!ready_before) promise.Set(Status());
    EXPECT_EQ(nested.calls, 2);
    DestroyEvent(nested.event);
  }
}

TEST(Event, StormOfCallbacks) {
  constexpr int kRounds = 200;
  constexpr int kThreads = 4;
  constexpr int kPerThread = 8;
  for (int round = 0; round < kRounds; ++round) {
    auto [done, promise] = backend::MakeCompletion();
    std::vector<Waiter> waiters(kThreads * kPerThread);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t, done = done] {
        for (int i = 0; i < kPerThread; ++i) {
          waiters[t * kPerThread + i].Register(NewEvent(done));
        }
      });
    }
    promise.Set(Status());
    for (std::thread& thread : threads) thread.join();
    for (const Waiter& waiter : waiters) EXPECT_EQ(waiter.calls.load(), 1);
  }
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::plugin
