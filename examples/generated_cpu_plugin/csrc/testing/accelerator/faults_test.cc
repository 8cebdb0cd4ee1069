// Failures of a device, as the caller of the C API meets them: in the call, in the events, and in
// everything that was made from what failed.

#include <string>
#include <vector>

#include "plugin/api_test_util.h"
#include "testing/accelerator/accelerator_test_util.h"
#include "testing/test.h"

namespace PJRT_PLUGIN_NS::accelerator {
namespace {

using backend::Code;
using plugin::DestroyBuffer;
using plugin::DestroyEvent;
using plugin::DestroyLoaded;
using plugin::Execute;
using plugin::Execution;
using plugin::Finish;
using plugin::Get;

TEST(Fault, OfATransferPoisonsWhatIsMadeOfIt) {
  Gate gate(Work::kLaunch);
  Bench bench(
      {.faults = {{.work = Work::kCopy, .code = Code::kDataLoss}}, .on_start = gate.Hook()});
  PJRT_LoadedExecutable* inc = bench.Compile("inc");
  PJRT_Event* host_done = nullptr;
  const Floats data = {1, 2, 3, 4};
  PJRT_Buffer* x =
      bench.Put(data, PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes, &host_done);
  Execution first = Execute(inc, {{x}});
  EXPECT_EQ(first.error, "");
  Execution second = Execute(inc, {{first.outputs[0][0]}}, 1, {0});
  EXPECT_EQ(second.error, "");
  const std::string failure = "15: injected fault: copy 1 on device 0";
  EXPECT_EQ(Finish(host_done), failure);
  EXPECT_EQ(ReadyText(first.outputs[0][0]), failure);
  EXPECT_EQ(ReadyText(second.outputs[0][0]), failure);
  Floats result(4);
  EXPECT_EQ(Finish(ToHost(second.outputs[0][0], &result)), failure);
  EXPECT_EQ(bench.control->Count(Work::kLaunch), int64_t{0});
  Destroy(first);
  Destroy(second);
  DestroyBuffer(x);
  DestroyLoaded(inc);
}

TEST(Fault, OfARunningProgramIsItsOutputsAndTheNextOneRuns) {
  for (const When when : {When::kAtStart, When::kAtEnd}) {
    Bench bench({.faults = {{.work = Work::kLaunch, .nth = 1, .when = when}}});
    PJRT_LoadedExecutable* inc = bench.Compile("inc");
    PJRT_Buffer* x = bench.client->Put<float>({1, 2, 3, 4}, {4});
    Execution broken = Execute(inc, {{x}}, 1, {0});
    EXPECT_EQ(broken.error, "");
    EXPECT_EQ(ReadyText(broken.outputs[0][0]), "13: injected fault: launch 1 on device 0");
    Execution good = Execute(inc, {{x}}, 1, {0});
    EXPECT_EQ(Get<float>(good.outputs[0][0]), (Floats{2, 3, 4, 5}));
    for (const Execution& one : {broken, good}) Destroy(one);
    DestroyBuffer(x);
    DestroyLoaded(inc);
  }
}

TEST(Fault, OfOneDeviceIsThatOfAllThatRunTheProgram) {
  Bench bench({.faults = {{.work = Work::kLaunch, .device = 1}}});
  PJRT_LoadedExecutable* psum = bench.Compile("psum", {0, 1});
  std::vector<std::vector<PJRT_Buffer*>> arguments = {{bench.client->Put<float>({1, 2}, {2}, 0)},
                                                      {bench.client->Put<float>({3, 4}, {2}, 1)}};
  Execution run = Execute(psum, arguments);
  for (const auto& outputs : run.outputs) {
    EXPECT_EQ(ReadyText(outputs[0]), "13: injected fault: launch 1 on device 1");
  }
  Destroy(run);
  for (const auto& argument : arguments) DestroyBuffer(argument[0]);
  DestroyLoaded(psum);
}

// A part of the launch finds no room: nothing starts, and the arguments are as they were.
TEST(Fault, ALaunchWithoutRoomOnOneDeviceLeavesTheArguments) {
  Bench bench({.faults = {{.work = Work::kLaunch,
                           .nth = 1,
                           .device = 1,
                           .when = When::kAtOnce,
                           .code = Code::kUnavailable}}});
  PJRT_LoadedExecutable* psum = bench.Compile("psum", {0, 1});
  std::vector<std::vector<PJRT_Buffer*>> arguments = {{bench.client->Put<float>({1, 2}, {2}, 0)},
                                                      {bench.client->Put<float>({3, 4}, {2}, 1)}};
  EXPECT_CONTAINS(Execute(psum, arguments).error, "14: psum: injected fault: launch 1 on device 1");
  EXPECT_EQ(bench.control->Count(Work::kLaunch), int64_t{0});
  EXPECT_EQ(Get<float>(arguments[0][0]), (Floats{1, 2}));
  for (const auto& argument : arguments) DestroyBuffer(argument[0]);
  DestroyLoaded(psum);
}

TEST(Fault, ALostDeviceFailsEverythingAndTheOthersGoOn) {
  Bench bench({.faults = {{.work = Work::kLaunch, .device = 0, .device_lost = true}}});
  PJRT_LoadedExecutable* first = bench.Compile("inc", {0});
  PJRT_LoadedExecutable* second = bench.Compile("inc", {1});
  PJRT_Buffer* x = bench.client->Put<float>({1, 2, 3, 4}, {4}, 0);
  PJRT_Buffer* y = bench.client->Put<float>({1, 2, 3, 4}, {4}, 1);
  Execution lost = Execute(first, {{x}}, 1, {0});
  EXPECT_CONTAINS(ReadyText(lost.outputs[0][0]), "14: injected fault: launch 1 on device 0");
  Floats result(4);
  EXPECT_CONTAINS(Finish(ToHost(x, &result)), "14: device 0 is lost");
  EXPECT_CONTAINS(Execute(first, {{x}}, 1, {0}).error, "14: inc: device 0 is lost");
  EXPECT_TRUE(bench.client->Put<float>({1}, {1}, 0) == nullptr);
  EXPECT_CONTAINS(bench.client->error, "14: device 0 is lost");
  Execution run = Execute(second, {{y}});
  EXPECT_EQ(Get<float>(run.outputs[0][0]), (Floats{2, 3, 4, 5}));
  for (const Execution& one : {lost, run}) Destroy(one);
  for (PJRT_Buffer* one : {x, y}) DestroyBuffer(one);
  for (PJRT_LoadedExecutable* one : {first, second}) DestroyLoaded(one);
}

TEST(OutOfMemory, SaysTheNumbersOfTheDevice) {
  Bench bench({.memory_bytes = 100});
  PJRT_LoadedExecutable* inc = bench.Compile("inc");
  PJRT_Buffer* x = bench.client->Put<float>({1, 2, 3, 4}, {4});
  PJRT_Buffer* large = bench.client->Put<float>(Floats(20), {20});
  EXPECT_TRUE(bench.client->Put<float>({1, 2}, {2}) == nullptr);
  EXPECT_CONTAINS(bench.client->error, "8: fake device: cannot allocate 8 bytes: 96 bytes are in");
  EXPECT_CONTAINS(bench.client->error, "the limit is 100");
  EXPECT_CONTAINS(Execute(inc, {{x}}, 1, {0}).error, "8: inc: fake device: cannot allocate 16");
  // In its argument's memory there is room, again and again.
  for (float i = 2; i < 10; ++i) {
    Execution run = Execute(inc, {{x}});
    EXPECT_EQ(run.error, "");
    DestroyBuffer(x);
    x = run.outputs[0][0];
    EXPECT_EQ(Get<float>(x)[0], i);
    DestroyEvent(run.done[0]);
  }
  // What is deleted is free when its last use is over.
  EXPECT_EQ(ReadyText(large), "");
  Delete(large);
  PJRT_Buffer* other = bench.client->Put<float>(Floats(20), {20});
  EXPECT_EQ(bench.client->error, "");
  for (PJRT_Buffer* one : {x, large, other}) DestroyBuffer(one);
  DestroyLoaded(inc);
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::accelerator
