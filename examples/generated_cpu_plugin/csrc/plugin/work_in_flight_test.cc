// A memory that is full while work is under way: the plugin waits for that before it fails.

#include "plugin/work_in_flight.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "generated/features.h"
#include "generated/pjrt_extensions.h"
#include "plugin/api_test_util.h"
#include "plugin/fake_backend_test_util.h"
#include "testing/test.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

using Floats = std::vector<float>;
using backend::Completion;
using backend::MakeCompletion;

// ---- The list itself ----

// Memory with room for one.
struct Room {
  std::atomic<int> taken{1};
  std::atomic<int> attempts{0};
  Result<int> Take() {
    ++attempts;
    int none = 0;
    if (!taken.compare_exchange_strong(none, 1)) return backend::ResourceExhausted("full");
    return 1;
  }
};

TEST(WorkInFlight, NothingToWaitForIsTheFailure) {
  WorkInFlight work;
  Room room;
  work.Add(Completion());
  EXPECT_EQ(work.Retry([&] { return room.Take(); }).status().message(), "full");
  EXPECT_EQ(room.attempts.load(), 1);
}

TEST(WorkInFlight, OtherFailuresAreNotTriedAgain) {
  WorkInFlight work;
  auto [done, promise] = MakeCompletion();
  work.Add(done);
  int attempts = 0;
  const Result<int> result = work.Retry([&]() -> Result<int> {
    ++attempts;
    return backend::Internal("broken");
  });
  EXPECT_EQ(result.status().message(), "broken");
  EXPECT_EQ(attempts, 1);
}

TEST(WorkInFlight, WaitsForOneAfterTheOther) {
  WorkInFlight work;
  Room room;
  auto [first, first_promise] = MakeCompletion();
  auto [second, second_promise] = MakeCompletion();
  auto [third, third_promise] = MakeCompletion();
  for (const Completion& one : {first, second, third}) work.Add(one);
  // Clang before 16 captures no structured bindings by default.
  std::thread other([&, &first_promise = first_promise, &second_promise = second_promise] {
    first_promise.Set(backend::Internal("a failure lets go of memory too"));
    while (room.attempts < 2) std::this_thread::yield();
    room.taken = 0;
    second_promise.Set(Status());
  });
  EXPECT_TRUE(work.Retry([&] { return room.Take(); }).ok());
  other.join();
  EXPECT_FALSE(third.IsReady());
}

TEST(WorkInFlight, FailsWhenAllOfItIsOver) {
  WorkInFlight work;
  Room room;
  auto [done, promise] = MakeCompletion();
  work.Add(done);
  std::thread other([&promise = promise] { promise.Set(Status()); });
  EXPECT_EQ(work.Retry([&] { return room.Take(); }).status().message(), "full");
  other.join();
  EXPECT_EQ(room.attempts.load(), 2);
}

TEST(WorkInFlight, DoesNotWaitForTheCaller) {
  WorkInFlight work;
  Room room;
  auto [before, before_promise] = MakeCompletion();
  auto [callers, callers_promise] = MakeCompletion();
  auto [after, after_promise] = MakeCompletion();
  work.Add(before);
  work.Add(callers, /*waits_for_caller=*/true);
  work.Add(after);  // maybe behind it on a device that goes in order
  before_promise.Set(Status());
  EXPECT_FALSE(work.Retry([&] { return room.Take(); }).ok());
  EXPECT_EQ(room.attempts.load(), 2);
}

// The work that is waited for may need this very thread.
TEST(WorkInFlight, DoesNotWaitInACallback) {
  WorkInFlight work;
  Room room;
  auto [done, promise] = MakeCompletion();
  work.Add(done);
  auto [event, event_promise] = MakeCompletion();
  bool ok = true;
  event.OnReady([&](const Status&) { ok = work.Retry([&] { return room.Take(); }).ok(); });
  event_promise.Set(Status());
  EXPECT_FALSE(ok);
  {
    const backend::CallbackScope scope;  // a framework's code, called by a running program
    EXPECT_FALSE(work.Retry([&] { return room.Take(); }).ok());
  }
  EXPECT_EQ(room.attempts.load(), 2);
}

TEST(WorkInFlight, ForgetsWhatHasEnded) {
  WorkInFlight work;
  Room room;
  for (int i = 0; i < 1000; ++i) {
    auto [done, promise] = MakeCompletion();
    work.Add(done);
    promise.Set(Status());
  }
  EXPECT_FALSE(work.Retry([&] { return room.Take(); }).ok());
  EXPECT_EQ(room.attempts.load(), 2);  // what has ended is no reason to try more than once
}

// ---- Through the call table ----

constexpr size_t kRoomForTwo = 2 * 4 * sizeof(float);

// Two arrays fill the memory of each device, and work waits for RunQueued.
struct Full {
  Full() {
    Fake::Reset({.memory_bytes = kRoomForTwo});
    client = std::make_unique<TestClient>();
    inc = client->Compile("inc");
    x = client->Put<float>({1, 2, 3, 4}, {4});
    Fake::Reset({.manual = true});
  }
  ~Full() {
    Fake::RunQueued();
    DestroyBuffer(x);
    DestroyLoaded(inc);
  }
  // Does the queued work, while the caller waits.
  std::thread WorkSoon() const {
    return std::thread([] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      Fake::RunQueued();
    });
  }
  std::unique_ptr<TestClient> client;
  PJRT_LoadedExecutable* inc;
  PJRT_Buffer* x;
};

TEST(ShortMemory, ALaunchWaitsForTheOneBefore) {
  Full f;
  Execution first = Execute(f.inc, {{f.x}}, 1, {0});
  EXPECT_EQ(first.error, "");
  DestroyBuffer(first.outputs[0][0]);  // the memory is free when the launch has ended
  std::thread other = f.WorkSoon();
  Execution second = Execute(f.inc, {{f.x}}, 1, {0});
  other.join();
  EXPECT_EQ(second.error, "");
  EXPECT_EQ(Get<float>(second.outputs[0][0]), (Floats{2, 3, 4, 5}));
  DestroyEvent(first.done[0]);
  Destroy(second);
}

TEST(ShortMemory, FailsWhenNothingIsUnderWay) {
  Full f;
  Execution first = Execute(f.inc, {{f.x}}, 1, {0});
  std::thread other = f.WorkSoon();
  Execution second = Execute(f.inc, {{f.x}}, 1, {0});  // the first output is still there
  other.join();
  EXPECT_EQ(second.error, "8: inc: fake memory is full");
  EXPECT_FALSE(IsDeleted(f.x));
  EXPECT_EQ(Get<float>(f.x), (Floats{1, 2, 3, 4}));
  Destroy(first);
}

TEST(ShortMemory, ProgramsWithoutArgumentsTakeMemoryToo) {
  Full f;
  PJRT_LoadedExecutable* ones = f.client->Compile("ones");
  Execution first = Execute(f.inc, {{f.x}}, 1, {0});
  std::thread other = f.WorkSoon();
  EXPECT_CONTAINS(Execute(ones, {{}}).error, "8: ones");
  other.join();
  EXPECT_EQ(Get<float>(first.outputs[0][0]), (Floats{2, 3, 4, 5}));
  Destroy(first);
  DestroyLoaded(ones);
}

TEST(ShortMemory, TransfersWaitToo) {
  Full f;
  Execution first = Execute(f.inc, {{f.x}}, 1, {0});
  Destroy(first);
  std::thread other = f.WorkSoon();
  PJRT_Buffer* y = f.client->Put<float>({5, 6, 7, 8}, {4});
  other.join();
  EXPECT_EQ(f.client->error, "");
  EXPECT_EQ(Get<float>(y), (Floats{5, 6, 7, 8}));
  DestroyBuffer(y);
  auto copy = Make<PJRT_Buffer_CopyToMemory_Args>();
  Execution second = Execute(f.inc, {{f.x}}, 1, {0});
  Destroy(second);
  std::thread again = f.WorkSoon();
  copy.buffer = f.x;
  copy.dst_memory = f.client->memory(0, "device");
  EXPECT_EQ(Text(Api().PJRT_Buffer_CopyToMemory(&copy)), "");
  again.join();
  EXPECT_EQ(Get<float>(copy.dst_buffer), (Floats{1, 2, 3, 4}));
  DestroyBuffer(copy.dst_buffer);
}

#if PJRT_SCAFFOLD_HAS_PJRT_RawBuffer_Extension
TEST(ShortMemory, CopiesOfRawBuffersAreWaitedFor) {
  Full f;
  PJRT_Buffer* y = f.client->Put<float>({5, 6, 7, 8}, {4});
  Fake::RunQueued();
  const auto& extension = *FindExtension<PJRT_RawBuffer_Extension>(PJRT_Extension_Type_RawBuffer);
  auto alias = Make<PJRT_RawBuffer_CreateRawAliasOfBuffer_Args>();
  alias.buffer = y;
  EXPECT_EQ(Text(extension.PJRT_RawBuffer_CreateRawAliasOfBuffer(&alias)), "");
  Floats read(4);
  auto copy = Make<PJRT_RawBuffer_CopyRawDeviceToHost_Args>();
  copy.buffer = alias.raw_buffer;
  copy.dst = read.data();
  copy.transfer_size = 4 * sizeof(float);
  EXPECT_EQ(Text(extension.PJRT_RawBuffer_CopyRawDeviceToHost(&copy)), "");
  auto destroy = Make<PJRT_RawBuffer_Destroy_Args>();
  destroy.buffer = alias.raw_buffer;
  EXPECT_EQ(Text(extension.PJRT_RawBuffer_Destroy(&destroy)), "");
  DestroyBuffer(y);  // the memory is free when the copy has ended
  std::thread other = f.WorkSoon();
  PJRT_Buffer* z = f.client->Put<float>({9, 9, 9, 9}, {4});
  other.join();
  EXPECT_EQ(f.client->error, "");
  EXPECT_EQ(Finish(copy.event), "");
  EXPECT_EQ(read, (Floats{5, 6, 7, 8}));
  DestroyBuffer(z);
}
#endif

#if PJRT_SCAFFOLD_HAS_PJRT_Client_CreateAliasBuffer
TEST(ShortMemory, TheCopyToAnAliasIsWaitedFor) {
  Full f;
  const int64_t dims[] = {4};
  auto create = Make<PJRT_Client_CreateAliasBuffer_Args>();
  create.client = f.client->client;
  create.memory = f.client->memory(0, "device");
  create.shape_dims = dims;
  create.shape_num_dims = 1;
  create.shape_element_type = PJRT_Buffer_Type_F32;
  EXPECT_EQ(Text(Api().PJRT_Client_CreateAliasBuffer(&create)), "");
  auto look = Make<PJRT_Buffer_UnsafePointer_Args>();  // needs memory before it is fulfilled
  look.buffer = create.alias_buffer;
  EXPECT_EQ(Text(Api().PJRT_Buffer_UnsafePointer(&look)), "");
  auto fulfill = Make<PJRT_Client_FulfillAliasBuffer_Args>();
  fulfill.buffer = f.x;  // whose memory is free when it has been copied
  fulfill.fulfill_alias_buffer_cb = create.fulfill_alias_buffer_cb;
  EXPECT_EQ(Text(Api().PJRT_Client_FulfillAliasBuffer(&fulfill)), "");
  std::thread other = f.WorkSoon();
  PJRT_Buffer* y = f.client->Put<float>({5, 6, 7, 8}, {4});
  other.join();
  EXPECT_EQ(f.client->error, "");
  EXPECT_EQ(Get<float>(create.alias_buffer), (Floats{1, 2, 3, 4}));
  DestroyBuffer(y);
  DestroyBuffer(create.alias_buffer);
}
#endif

#if PJRT_SCAFFOLD_HAS_PJRT_Buffer_DonateWithControlDependency
// The launch under way waits for this thread, which therefore must not wait for the launch.
TEST(ShortMemory, WorkThatWaitsForTheCallerIsNotWaitedFor) {
  Full f;
  auto donate = Make<PJRT_Buffer_DonateWithControlDependency_Args>();
  donate.buffer = f.x;
  EXPECT_EQ(Text(Api().PJRT_Buffer_DonateWithControlDependency(&donate)), "");
  Execution held = Execute(f.inc, {{donate.out_buffer}}, 1, {0});
  EXPECT_EQ(held.error, "");
  Execution next =
      Execute(f.inc, {{held.outputs[0][0]}}, 1, {0});  // neither for what comes after it
  EXPECT_CONTAINS(next.error, "8: inc");
  EXPECT_TRUE(f.client->Put<float>({5, 6, 7, 8}, {4}) == nullptr);
  EXPECT_CONTAINS(f.client->error, "8: ");
  auto end = Make<PJRT_Buffer_DonateWithControlDependency_Callback_Args>();
  end.callback_data = donate.callback_data;
  donate.dependency_ready_callback(&end);
  EXPECT_EQ(Get<float>(held.outputs[0][0]), (Floats{2, 3, 4, 5}));
  Destroy(held);
  DestroyBuffer(donate.out_buffer);
}

// Once the caller has done its part, copies of the buffer are work as any other.
TEST(ShortMemory, WorkThatWaitedForTheCallerIsWaitedFor) {
  Full f;
  auto donate = Make<PJRT_Buffer_DonateWithControlDependency_Args>();
  donate.buffer = f.x;
  EXPECT_EQ(Text(Api().PJRT_Buffer_DonateWithControlDependency(&donate)), "");
  auto end = Make<PJRT_Buffer_DonateWithControlDependency_Callback_Args>();
  end.callback_data = donate.callback_data;
  donate.dependency_ready_callback(&end);
  auto copy = Make<PJRT_Buffer_CopyToMemory_Args>();
  copy.buffer = donate.out_buffer;
  copy.dst_memory = f.client->memory(0, "device");
  EXPECT_EQ(Text(Api().PJRT_Buffer_CopyToMemory(&copy)), "");
  DestroyBuffer(copy.dst_buffer);  // the memory is free when the copy has ended
  std::thread other = f.WorkSoon();
  PJRT_Buffer* y = f.client->Put<float>({5, 6, 7, 8}, {4});
  other.join();
  EXPECT_EQ(f.client->error, "");
  EXPECT_EQ(Get<float>(y), (Floats{5, 6, 7, 8}));
  DestroyBuffer(y);
  DestroyBuffer(donate.out_buffer);
}
#endif

#if PJRT_SCAFFOLD_HAS_PJRT_Buffer_CopyRawToHostFuture
// A copy whose destination this thread has still to name holds back a donation of what it reads.
TEST(ShortMemory, ALateCopyIsNotWaitedFor) {
  Full f;
  PJRT_Buffer* y = f.client->Put<float>({5, 6, 7, 8}, {4});
  Fake::RunQueued();
  Floats read(4);
  auto copy = Make<PJRT_Buffer_CopyRawToHostFuture_Args>();
  copy.buffer = f.x;
  copy.transfer_size = 4 * sizeof(float);
  EXPECT_EQ(Text(Api().PJRT_Buffer_CopyRawToHostFuture(&copy)), "");
  Execution held = Execute(f.inc, {{f.x}});
  EXPECT_EQ(held.error, "");
  EXPECT_TRUE(f.client->Put<float>({5, 6, 7, 8}, {4}) == nullptr);
  EXPECT_CONTAINS(f.client->error, "8: ");
  auto ready = Make<PJRT_Buffer_CopyRawToHostFuture_Callback_Args>();
  ready.callback_data = copy.callback_data;
  ready.dst = read.data();
  copy.future_ready_callback(&ready);
  Fake::RunQueued();
  EXPECT_EQ(Finish(copy.event), "");
  EXPECT_EQ(read, (Floats{1, 2, 3, 4}));
  EXPECT_EQ(Get<float>(held.outputs[0][0]), (Floats{2, 3, 4, 5}));
  Destroy(held);
  DestroyBuffer(y);
}
#endif

TEST(ShortMemory, ManyThreads) {
  Fake::Reset({.memory_bytes = kRoomForTwo});
  TestClient client;
  PJRT_LoadedExecutable* inc = client.Compile("inc");
  PJRT_Buffer* x = client.Put<float>({1, 2, 3, 4}, {4});
  Fake::Reset({.manual = true});
  std::atomic<bool> stop{false};
  std::thread worker([&] {
    while (!stop) Fake::RunQueued();
  });
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        Execution run = Execute(inc, {{x}}, 1, {0});
        if (!run.error.empty()) {
          // The others may have taken the room at every look.
          if (run.error != "8: inc: fake memory is full") ++wrong;
          continue;
        }
        if (Get<float>(run.outputs[0][0]) != (Floats{2, 3, 4, 5})) ++wrong;
        Destroy(run);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  stop = true;
  worker.join();
  EXPECT_EQ(wrong.load(), 0);
  DestroyBuffer(x);
  DestroyLoaded(inc);
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::plugin
