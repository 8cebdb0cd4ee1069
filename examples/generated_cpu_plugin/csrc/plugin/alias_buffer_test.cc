// Alias buffers: passed on before it is known which buffer they are.

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "generated/features.h"
#include "plugin/api_test_util.h"
#include "plugin/fake_backend_test_util.h"
#include "testing/test.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

#if PJRT_SCAFFOLD_HAS_PJRT_Client_CreateAliasBuffer
using Floats = std::vector<float>;

struct Alias {
  PJRT_Buffer* buffer = nullptr;
  std::string error;
  PJRT_FulfillAliasBufferCallback* callback = nullptr;

  std::string Fulfill(PJRT_Buffer* real, PJRT_Error_Code code = PJRT_Error_Code_OK,
                      const std::string& message = "") {
    auto args = Make<PJRT_Client_FulfillAliasBuffer_Args>();
    args.buffer = real;
    args.status_code = code;
    args.error_message = message.data();
    args.error_message_size = message.size();
    args.fulfill_alias_buffer_cb = std::exchange(callback, nullptr);
    return Text(Api().PJRT_Client_FulfillAliasBuffer(&args));
  }
};

Alias CreateAlias(const TestClient& client, PJRT_Memory* memory,
                  const std::vector<int64_t>& dims = {4}) {
  auto args = Make<PJRT_Client_CreateAliasBuffer_Args>();
  args.client = client.client;
  args.memory = memory;
  args.shape_dims = dims.data();
  args.shape_num_dims = dims.size();
  args.shape_element_type = PJRT_Buffer_Type_F32;
  Alias alias;
  alias.error = Text(Api().PJRT_Client_CreateAliasBuffer(&args));
  alias.buffer = args.alias_buffer;
  alias.callback = args.fulfill_alias_buffer_cb;
  return alias;
}

uintptr_t Address(PJRT_Buffer* buffer) {
  auto args = Make<PJRT_Buffer_UnsafePointer_Args>();
  args.buffer = buffer;
  EXPECT_EQ(Text(Api().PJRT_Buffer_UnsafePointer(&args)), "");
  return args.buffer_pointer;
}

std::string ReadyText(PJRT_Buffer* buffer) {
  auto args = Make<PJRT_Buffer_ReadyEvent_Args>();
  args.buffer = buffer;
  EXPECT_EQ(Text(Api().PJRT_Buffer_ReadyEvent(&args)), "");
  return Finish(args.event);
}

bool Ready(PJRT_Buffer* buffer) {
  auto args = Make<PJRT_Buffer_ReadyEvent_Args>();
  args.buffer = buffer;
  EXPECT_EQ(Text(Api().PJRT_Buffer_ReadyEvent(&args)), "");
  const bool ready = IsReady(args.event);
  DestroyEvent(args.event);
  return ready;
}

TEST(AliasBuffer, TakesTheMemoryOfTheRealBuffer) {
  Fake::Reset();
  {
    TestClient client;
    Alias alias = CreateAlias(client, client.memory(0, "device"));
    EXPECT_EQ(alias.error, "");
    EXPECT_FALSE(Ready(alias.buffer));
    EXPECT_EQ(Fake::LiveBlocks(), 0);
    PJRT_Buffer* x = client.Put<float>({1, 2, 3, 4}, {4});
    const uintptr_t address = Address(x);
    EXPECT_EQ(alias.Fulfill(x), "");
    EXPECT_TRUE(IsDeleted(x));
    DestroyBuffer(x);
    EXPECT_EQ(Address(alias.buffer), address);
    EXPECT_EQ(Fake::LiveBlocks(), 1);
    EXPECT_EQ(Get<float>(alias.buffer), (Floats{1, 2, 3, 4}));
    DestroyBuffer(alias.buffer);
  }
  EXPECT_EQ(Fake::LiveBlocks(), 0);
  EXPECT_EQ(Fake::LiveDrivers(), 0);
}

// A launch wants memory at once: the contents come by a copy then.
TEST(AliasBuffer, MayBeRunOnBeforeItIsFulfilled) {
  Fake::Reset();
  TestClient client;
  PJRT_LoadedExecutable* inc = client.Compile("inc");
  Alias alias = CreateAlias(client, client.memory(0, "device"));
  Execution run = Execute(inc, {{alias.buffer}});
  EXPECT_EQ(run.error, "");
  EXPECT_EQ(Fake::BlocksReused(), 1);  // a donation of memory whose contents are still to come
  EXPECT_TRUE(IsDeleted(alias.buffer));
  EXPECT_FALSE(IsReady(run.done[0]));
  PJRT_Buffer* x = client.Put<float>({1, 2, 3, 4}, {4});
  EXPECT_EQ(alias.Fulfill(x), "");
  EXPECT_EQ(Get<float>(run.outputs[0][0]), (Floats{2, 3, 4, 5}));
  DestroyBuffer(x);
  Destroy(run);
  DestroyBuffer(alias.buffer);
  DestroyLoaded(inc);
}

TEST(AliasBuffer, MayBeReadBeforeItIsFulfilled) {
  Fake::Reset();
  TestClient client;
  Alias alias = CreateAlias(client, client.memory(0, "device"));
  Floats seen(4);
  auto read = Make<PJRT_Buffer_ToHostBuffer_Args>();
  read.src = alias.buffer;
  read.dst = seen.data();
  read.dst_size = 16;
  EXPECT_EQ(Text(Api().PJRT_Buffer_ToHostBuffer(&read)), "");
  const uintptr_t address = Address(alias.buffer);
  PJRT_Buffer* x = client.Put<float>({1, 2, 3, 4}, {4});
  EXPECT_EQ(alias.Fulfill(x), "");
  DestroyBuffer(x);
  EXPECT_EQ(Finish(read.event), "");
  EXPECT_EQ(seen, (Floats{1, 2, 3, 4}));
  EXPECT_EQ(Address(alias.buffer), address);  // stays where it was said to be
  DestroyBuffer(alias.buffer);
  EXPECT_EQ(Fake::LiveBlocks(), 0);
}

TEST(AliasBuffer, IsReadyWhenTheRealBufferIs) {
  Fake::Reset({.manual = true});
  TestClient client;
  PJRT_Buffer* x = client.Put<float>({1, 2, 3, 4}, {4});
  Alias alias = CreateAlias(client, client.memory(0, "device"));
  EXPECT_EQ(alias.Fulfill(x), "");
  EXPECT_FALSE(Ready(alias.buffer));
  Fake::RunQueued();
  EXPECT_EQ(ReadyText(alias.buffer), "");
  DestroyBuffer(x);
  DestroyBuffer(alias.buffer);
}

// A launch that the alias is donated to writes only when those who read the real buffer are done.
TEST(AliasBuffer, ReadersOfTheRealBufferAreWaitedFor) {
  Fake::Reset();
  TestClient client;
  PJRT_LoadedExecutable* inc = client.Compile("inc");
  PJRT_Buffer* x = client.Put<float>({1, 2, 3, 4}, {4});
  Fake::Reset({.manual = true});
  Floats seen(4);
  auto read = Make<PJRT_Buffer_ToHostBuffer_Args>();
  read.src = x;
  read.dst = seen.data();
  read.dst_size = 16;
  EXPECT_EQ(Text(Api().PJRT_Buffer_ToHostBuffer(&read)), "");
  Alias alias = CreateAlias(client, client.memory(0, "device"));
  EXPECT_EQ(alias.Fulfill(x), "");
  Execution run = Execute(inc, {{alias.buffer}});
  EXPECT_EQ(Fake::BlocksReused(), 1);
  Fake::RunQueued();
  EXPECT_EQ(Finish(read.event), "");
  EXPECT_EQ(seen, (Floats{1, 2, 3, 4}));
  EXPECT_EQ(Get<float>(run.outputs[0][0]), (Floats{2, 3, 4, 5}));
  Destroy(run);
  DestroyBuffer(x);
  DestroyBuffer(alias.buffer);
  DestroyLoaded(inc);
}

TEST(AliasBuffer, FailsWithTheFailureItIsGiven) {
  Fake::Reset();
  TestClient client;
  PJRT_LoadedExecutable* inc = client.Compile("inc");
  Alias early = CreateAlias(client, client.memory(0, "device"));
  Execution run = Execute(inc, {{early.buffer}});  // poisoned while it waits
  EXPECT_EQ(early.Fulfill(nullptr, PJRT_Error_Code_UNAVAILABLE, "no such array"), "");
  EXPECT_EQ(ReadyText(run.outputs[0][0]), "14: no such array");
  Alias late = CreateAlias(client, client.memory(0, "device"));
  EXPECT_EQ(late.Fulfill(nullptr, PJRT_Error_Code_UNAVAILABLE, "no such array"), "");
  EXPECT_EQ(ReadyText(late.buffer), "14: no such array");
  Execution poisoned = Execute(inc, {{late.buffer}});
  EXPECT_EQ(ReadyText(poisoned.outputs[0][0]), "14: no such array");
  Destroy(poisoned);
  Destroy(run);
  DestroyBuffer(early.buffer);
  DestroyBuffer(late.buffer);
  DestroyLoaded(inc);
}

TEST(AliasBuffer, OfAFailedBufferFailsAsItDoes) {
  Fake::Reset();
  TestClient client;
  PJRT_LoadedExecutable* late = client.Compile("late");
  PJRT_Buffer* x = client.Put<float>({1, 2, 3, 4}, {4});
  Execution run = Execute(late, {{x}});
  Execution poisoned = Execute(late, {{run.outputs[0][0]}});  // has no memory at all
  for (PJRT_Buffer* failed : {run.outputs[0][0], poisoned.outputs[0][0]}) {
    Alias alias = CreateAlias(client, client.memory(0, "device"));
    EXPECT_EQ(alias.Fulfill(failed), "");
    EXPECT_CONTAINS(ReadyText(alias.buffer), "it broke while running");
    DestroyBuffer(alias.buffer);
  }
  Destroy(poisoned);
  Destroy(run);
  DestroyBuffer(x);
  DestroyLoaded(late);
}

TEST(AliasBuffer, RefusesWhatItCannotBe) {
  Fake::Reset();
  TestClient client;
  PJRT_Buffer* deleted = client.Put<float>({1, 2, 3, 4}, {4});
  {
    Alias alias = CreateAlias(client, client.memory(0, "device"));
    EXPECT_EQ(alias.Fulfill(deleted), "");
    DestroyBuffer(alias.buffer);
  }
  struct {
    PJRT_Buffer* real;
    const char* error;
  } const cases[] = {
      {nullptr, "buffer is null"},
      {deleted, "deleted or donated"},
      {client.Put<float>({1, 2}, {2}), "f32[2]"},                      // shape
      {client.Put<float>({1, 2, 3, 4}, {4}, 1), "f32[4]{0} in fake"},  // memory
  };
  for (const auto& one : cases) {
    Alias alias = CreateAlias(client, client.memory(0, "device"));
    const std::string error = alias.Fulfill(one.real);
    EXPECT_CONTAINS(error, "3: PJRT_Client_FulfillAliasBuffer");
    EXPECT_CONTAINS(error, one.error);
    EXPECT_EQ(ReadyText(alias.buffer), error);  // nobody waits for ever
    if (one.real != nullptr && one.real != deleted) {
      EXPECT_FALSE(IsDeleted(one.real));
      DestroyBuffer(one.real);
    }
    DestroyBuffer(alias.buffer);
  }
  DestroyBuffer(deleted);
}

TEST(AliasBuffer, RefusesAMemoryThatIsNotTheClients) {
  Fake::Reset();
  TestClient client, other;
  EXPECT_CONTAINS(CreateAlias(client, nullptr).error, "memory is null");
  EXPECT_CONTAINS(CreateAlias(client, other.memory(0, "device")).error, "another client's");
  EXPECT_CONTAINS(CreateAlias(client, client.memory(0, "device"), {-1}).error, "negative");
}

TEST(AliasBuffer, MayBeNeededWhileItIsFulfilled) {
  Fake::Reset();
  TestClient client;
  for (int round = 0; round < 200; ++round) {
    Alias alias = CreateAlias(client, client.memory(0, "device"));
    PJRT_Buffer* x = client.Put<float>({1, 2, 3, 4}, {4});
    std::thread fulfiller([&] { EXPECT_EQ(alias.Fulfill(x), ""); });
    EXPECT_EQ(Get<float>(alias.buffer), (Floats{1, 2, 3, 4}));
    fulfiller.join();
    DestroyBuffer(x);
    DestroyBuffer(alias.buffer);
  }
  EXPECT_EQ(Fake::LiveBlocks(), 0);
}

// However the two meet, the failure is the outputs' and never the execution's own.
TEST(AliasBuffer, MayFailWhileItIsRunOn) {
  Fake::Reset();
  TestClient client;
  PJRT_LoadedExecutable* inc = client.Compile("inc");
  for (int round = 0; round < 500; ++round) {
    Alias alias = CreateAlias(client, client.memory(0, "device"));
    std::atomic<bool> go = false;
    std::thread failer([&] {
      while (!go) {
      }
      EXPECT_EQ(alias.Fulfill(nullptr, PJRT_Error_Code_UNAVAILABLE, "no such array"), "");
    });
    go = true;
    Execution run = Execute(inc, {{alias.buffer}});
    EXPECT_EQ(run.error, "");
    EXPECT_EQ(ReadyText(run.outputs[0][0]), "14: no such array");
    failer.join();
    Destroy(run);
    DestroyBuffer(alias.buffer);
  }
  DestroyLoaded(inc);
}

// Memory is full of what work in flight holds: whoever needs the alias waits for that, and keeps
// nobody else waiting meanwhile.
TEST(AliasBuffer, WaitsForMemoryOutsideOfLocks) {
  for (const bool given : {false, true}) {
    Fake::Reset({.memory_bytes = 16});
    TestClient client;
    Fake::Reset({.manual = true});
    DestroyBuffer(client.Put<float>({0, 0, 0, 0}, {4}));  // the transfer keeps the memory
    Alias alias = CreateAlias(client, client.memory(0, "device"));
    std::thread needer([&] { EXPECT_NE(Address(alias.buffer), 0u); });
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_FALSE(IsDeleted(alias.buffer));
    if (given) EXPECT_EQ(alias.Fulfill(nullptr, PJRT_Error_Code_UNAVAILABLE, "no such array"), "");
    Fake::RunQueued();
    needer.join();
    DestroyBuffer(alias.buffer);
    if (!given) EXPECT_EQ(alias.Fulfill(nullptr, PJRT_Error_Code_UNAVAILABLE, "none"), "");
    EXPECT_EQ(Fake::LiveBlocks(), 0);
  }
}

// A launch that an alias is an argument of waits as well, instead of failing.
TEST(AliasBuffer, ALaunchWaitsForItsMemory) {
  Fake::Reset({.memory_bytes = 16});
  TestClient client;
  PJRT_LoadedExecutable* inc = client.Compile("inc");
  Fake::Reset({.manual = true});
  DestroyBuffer(client.Put<float>({0, 0, 0, 0}, {4}));
  Alias alias = CreateAlias(client, client.memory(0, "device"));
  std::thread worker([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    Fake::RunQueued();
  });
  Execution run = Execute(inc, {{alias.buffer}});
  worker.join();
  EXPECT_EQ(run.error, "");
  EXPECT_EQ(alias.Fulfill(nullptr, PJRT_Error_Code_UNAVAILABLE, "no such array"), "");
  Fake::RunQueued();
  EXPECT_EQ(ReadyText(run.outputs[0][0]), "14: no such array");
  Destroy(run);
  DestroyBuffer(alias.buffer);
  DestroyLoaded(inc);
}

TEST(AliasBuffer, CannotBeItself) {
  Fake::Reset();
  TestClient client;
  Alias alias = CreateAlias(client, client.memory(0, "device"));
  PJRT_Buffer* buffer = alias.buffer;
  EXPECT_CONTAINS(alias.Fulfill(buffer), "the alias itself");
  DestroyBuffer(buffer);
}

TEST(AliasBuffer, AnyOrderOfDestruction) {
  for (bool needed : {false, true}) {
    for (bool deleted : {false, true}) {
      Fake::Reset();
      {
        TestClient client;
        Alias alias = CreateAlias(client, client.memory(0, "device"));
        PJRT_Buffer* x = client.Put<float>({1, 2, 3, 4}, {4});
        client.Destroy();
        if (needed) (void)Address(alias.buffer);
        if (deleted) {
          auto args = Make<PJRT_Buffer_Delete_Args>();
          args.buffer = alias.buffer;
          EXPECT_EQ(Text(Api().PJRT_Buffer_Delete(&args)), "");
        }
        DestroyBuffer(alias.buffer);  // before it is fulfilled
        EXPECT_EQ(alias.Fulfill(x), "");
        DestroyBuffer(x);
      }
      EXPECT_EQ(Fake::LiveBlocks(), 0);
      EXPECT_EQ(Fake::LiveDrivers(), 0);
    }
  }
}
#endif

TEST(AliasBuffer, IsTestedWhereTheApiHasIt) {}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::plugin
