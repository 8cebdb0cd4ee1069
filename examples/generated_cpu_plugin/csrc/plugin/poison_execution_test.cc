// PJRT_Device_PoisonExecution: an execution that runs is failed from outside.

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

#if PJRT_SCAFFOLD_HAS_PJRT_Device_PoisonExecution
using Floats = std::vector<float>;

// "true", "false", or the error.
std::string Poison(PJRT_Device* device, int launch_id,
                   PJRT_Error_Code code = PJRT_Error_Code_ABORTED) {
  const std::string message = "a peer is gone";
  auto args = Make<PJRT_Device_PoisonExecution_Args>();
  args.device = device;
  args.launch_id = launch_id;
  args.error_code = code;
  args.error_message = message.data();
  args.error_message_size = message.size();
  const std::string error = Text(Api().PJRT_Device_PoisonExecution(&args));
  if (!error.empty()) return error;
  return args.poisoned ? "true" : "false";
}

std::string ReadyText(PJRT_Buffer* buffer) {
  auto args = Make<PJRT_Buffer_ReadyEvent_Args>();
  args.buffer = buffer;
  EXPECT_EQ(Text(Api().PJRT_Buffer_ReadyEvent(&args)), "");
  return Finish(args.event);
}

struct Fixture {
  Fixture() {
    Fake::Reset();
    x = client.Put<float>({1, 2, 3, 4}, {4});
    y = client.Put<float>({5, 6, 7, 8}, {4});
    inc = client.Compile("inc");
    Fake::Reset({.manual = true});
  }
  ~Fixture() {
    Fake::RunQueued();
    DestroyBuffer(x);
    DestroyBuffer(y);
    DestroyLoaded(inc);
  }
  Execution Launch(PJRT_Buffer* buffer, int launch_id, std::vector<int64_t> not_donatable = {}) {
    auto options = Make<PJRT_ExecuteOptions>();
    options.launch_id = launch_id;
    return Execute(inc, {{buffer}}, 1, std::move(not_donatable), nullptr, options);
  }
  TestClient client;
  PJRT_Buffer* x = nullptr;
  PJRT_Buffer* y = nullptr;
  PJRT_LoadedExecutable* inc = nullptr;
};

TEST(PoisonExecution, FailsTheOutputsAndTheEventAtOnce) {
  Fixture f;
  Execution run = f.Launch(f.x, 7);
  EXPECT_EQ(Poison(f.client.device(0), 7), "true");
  EXPECT_EQ(ReadyText(run.outputs[0][0]), "10: a peer is gone");
  EXPECT_EQ(Finish(run.done[0]), "10: a peer is gone");
  Execution next = Execute(f.inc, {{run.outputs[0][0]}});  // carries the failure on
  EXPECT_EQ(ReadyText(next.outputs[0][0]), "10: a peer is gone");
  Destroy(next);
  Fake::RunQueued();
  EXPECT_EQ(ReadyText(run.outputs[0][0]), "10: a peer is gone");  // the work's own end is late
  DestroyBuffer(run.outputs[0][0]);
}

TEST(PoisonExecution, IsForTheEarliestWithThatIdOnThatDevice) {
  Fixture f;
  Execution first = f.Launch(f.x, 7);
  Execution second = f.Launch(f.y, 7);
  EXPECT_EQ(Poison(f.client.device(0), 8), "false");
  EXPECT_EQ(Poison(f.client.device(1), 7), "false");
  EXPECT_EQ(Poison(f.client.device(0), 7), "true");
  EXPECT_EQ(ReadyText(first.outputs[0][0]), "10: a peer is gone");
  EXPECT_FALSE(IsReady(second.done[0]));
  EXPECT_EQ(Poison(f.client.device(0), 7), "true");
  EXPECT_EQ(ReadyText(second.outputs[0][0]), "10: a peer is gone");
  EXPECT_EQ(Poison(f.client.device(0), 7), "false");
  Destroy(first);
  Destroy(second);
}

TEST(PoisonExecution, ComesTooLateForWhatIsOver) {
  Fixture f;
  Execution run = f.Launch(f.x, 7);
  Fake::RunQueued();
  EXPECT_EQ(Poison(f.client.device(0), 7), "false");
  EXPECT_EQ(Get<float>(run.outputs[0][0]), (Floats{2, 3, 4, 5}));
  Destroy(run);
}

TEST(PoisonExecution, MayComeAsTheExecutionEnds) {
  Fixture f;
  for (int round = 0; round < 200; ++round) {
    Execution run = f.Launch(f.x, 7, {0});
    std::string poisoned;
    std::thread other([&] { poisoned = Poison(f.client.device(0), 7); });
    Fake::RunQueued();
    other.join();
    EXPECT_EQ(ReadyText(run.outputs[0][0]), poisoned == "true" ? "10: a peer is gone" : "");
    Destroy(run);
  }
}

TEST(PoisonExecution, WantsAFailure) {
  Fixture f;
  Execution run = f.Launch(f.x, 7);
  EXPECT_CONTAINS(Poison(f.client.device(0), 7, PJRT_Error_Code_OK), "error_code is OK");
  EXPECT_FALSE(IsReady(run.done[0]));
  Destroy(run);
}

// The execution still reads its argument: a launch that this is donated to writes only afterwards.
TEST(PoisonExecution, TheWorkIsStillWaitedForByThoseWhoWrite) {
  Fixture f;
  Execution reading = f.Launch(f.x, 7, {0});  // argument 0 is not donatable here
  EXPECT_EQ(Poison(f.client.device(0), 7), "true");
  Execution writing = f.Launch(f.x, 8);
  EXPECT_EQ(Fake::BlocksReused(), 1);
  EXPECT_FALSE(IsReady(writing.done[0]));
  Fake::RunQueued();
  EXPECT_EQ(Get<float>(writing.outputs[0][0]), (Floats{2, 3, 4, 5}));
  Destroy(reading);
  Destroy(writing);
}

TEST(PoisonExecution, AnyOrderOfDestruction) {
  {
    Fixture f;
    Execution run = f.Launch(f.x, 7);
    EXPECT_EQ(Poison(f.client.device(0), 7), "true");
    Destroy(run);
    f.client.Destroy();
    Execution other = f.Launch(f.y, 9);
    Destroy(other);  // nobody waits for the end any more
  }
  EXPECT_EQ(Fake::LiveBlocks(), 0);
  EXPECT_EQ(Fake::LiveDrivers(), 0);
}
#endif

TEST(PoisonExecution, IsTestedWhereTheApiHasIt) {}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::plugin
