// The plugin layer on devices that work on their own: calls return before the work is done, each
// device does its work in order, and devices work side by side. Nothing here measures time: what
// must overlap meets, and what must wait stands at a gate.

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <iterator>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "plugin/api_test_util.h"
#include "testing/accelerator/accelerator_test_util.h"
#include "testing/test.h"

namespace PJRT_PLUGIN_NS::accelerator {
namespace {

using plugin::DestroyBuffer;
using plugin::DestroyEvent;
using plugin::DestroyLoaded;
using plugin::Execute;
using plugin::Execution;
using plugin::Finish;
using plugin::Get;
using plugin::IsReady;

TEST(Asynchrony, CallsReturnBeforeTheWorkIsDone) {
  Gate gate(Work::kCopy);
  Bench bench({.on_start = gate.Hook()});
  PJRT_LoadedExecutable* inc = bench.Compile("inc");
  PJRT_Buffer* x = bench.client->Put<float>({1, 2, 3, 4}, {4});
  Execution run = Execute(inc, {{x}}, 1, {0});
  EXPECT_EQ(run.error, "");
  Floats result(4);
  PJRT_Event* read = ToHost(run.outputs[0][0], &result);
  EXPECT_FALSE(IsReady(read));
  EXPECT_FALSE(IsReady(run.done[0]));
  EXPECT_EQ(bench.control->Count(Work::kLaunch), int64_t{0});
  gate.Open();
  EXPECT_EQ(Finish(read), "");
  EXPECT_EQ(result, (Floats{2, 3, 4, 5}));
  EXPECT_EQ(Get<float>(x), (Floats{1, 2, 3, 4}));
  Destroy(run);
  DestroyBuffer(x);
  DestroyLoaded(inc);
}

TEST(Order, ADeviceWorksInTheOrderOfTheCalls) {
  Gate gate(Work::kLaunch);
  Bench bench({.on_start = gate.Hook()});
  PJRT_LoadedExecutable* inc = bench.Compile("inc");
  PJRT_Buffer* x = bench.client->Put<float>({1, 2, 3, 4}, {4});
  EXPECT_EQ(ReadyText(x), "");
  std::vector<Execution> runs;
  std::vector<Record> expected;
  for (int64_t i = 1; i <= 20; ++i) {
    runs.push_back(Execute(inc, {{x}}, 1, {0}));
    expected.push_back({Work::kLaunch, 0, i});
  }
  gate.Open();
  for (const Execution& run : runs) {
    EXPECT_EQ(Get<float>(run.outputs[0][0]), (Floats{2, 3, 4, 5}));
    Destroy(run);
  }
  std::vector<Record> launches;
  std::ranges::copy_if(bench.control->Log(), std::back_inserter(launches),
                       [](const Record& one) { return one.work == Work::kLaunch; });
  EXPECT_TRUE(launches == expected);
  DestroyBuffer(x);
  DestroyLoaded(inc);
}

// Passes only when programs run on all four devices at one time, though one thread launches them.
TEST(Overlap, ProgramsOfSeveralDevicesRunAtOnce) {
  Meeting meeting(Work::kLaunch, 4);
  Bench bench({.on_start = meeting.Hook()});
  std::vector<PJRT_LoadedExecutable*> programs;
  std::vector<PJRT_Buffer*> arguments;
  std::vector<Execution> runs;
  for (int device = 0; device < 4; ++device) {
    programs.push_back(bench.Compile("inc", {device}));
    arguments.push_back(bench.client->Put<float>({1, 2, 3, 4}, {4}, device));
    runs.push_back(Execute(programs.back(), {{arguments.back()}}));
    EXPECT_EQ(runs.back().error, "");
  }
  for (int device = 0; device < 4; ++device) {
    EXPECT_EQ(Get<float>(runs[device].outputs[0][0]), (Floats{2, 3, 4, 5}));
    Destroy(runs[device]);
    DestroyBuffer(arguments[device]);
    DestroyLoaded(programs[device]);
  }
}

TEST(Overlap, CopiesToSeveralDevicesRunAtOnce) {
  Meeting meeting(Work::kCopy, 4);
  Bench bench({.on_start = meeting.Hook()});
  std::vector<PJRT_Buffer*> buffers;
  for (int device = 0; device < 4; ++device) {
    buffers.push_back(bench.client->Put<float>({float(device)}, {1}, device));
  }
  for (int device = 0; device < 4; ++device) {
    EXPECT_EQ(Get<float>(buffers[device]), (Floats{float(device)}));
    DestroyBuffer(buffers[device]);
  }
}

TEST(Overlap, ADeviceDoesNotWaitForOneThatStandsStill) {
  Gate gate(Work::kLaunch, /*device=*/0);
  Bench bench({.on_start = gate.Hook()});
  PJRT_LoadedExecutable* first = bench.Compile("inc", {0});
  PJRT_LoadedExecutable* second = bench.Compile("inc", {1});
  PJRT_Buffer* x = bench.client->Put<float>({1, 2, 3, 4}, {4}, 0);
  PJRT_Buffer* y = bench.client->Put<float>({1, 2, 3, 4}, {4}, 1);
  Execution stuck = Execute(first, {{x}});
  ASSERT_TRUE(gate.AwaitArrivals(1));
  Execution run = Execute(second, {{y}});
  EXPECT_EQ(Get<float>(run.outputs[0][0]), (Floats{2, 3, 4, 5}));
  EXPECT_FALSE(IsReady(stuck.done[0]));
  gate.Open();
  EXPECT_EQ(Get<float>(stuck.outputs[0][0]), (Floats{2, 3, 4, 5}));
  for (Execution* one : {&run, &stuck}) Destroy(*one);
  for (PJRT_Buffer* one : {x, y}) DestroyBuffer(one);
  for (PJRT_LoadedExecutable* one : {first, second}) DestroyLoaded(one);
}

// Programs that need all devices at once, from several threads: were they queued on the devices in
// different orders, they would wait for each other for ever.
TEST(Overlap, ProgramsOnAllDevicesFromManyThreads) {
  Bench bench;
  PJRT_LoadedExecutable* psum = bench.Compile("psum", {0, 1, 2, 3});
  auto run_many = [&] {
    std::vector<std::vector<PJRT_Buffer*>> arguments;
    for (int device = 0; device < 4; ++device) {
      arguments.push_back({bench.client->Put<float>({float(device), 1}, {2}, device)});
    }
    for (int i = 0; i < 25; ++i) {
      Execution run = Execute(psum, arguments, 1, {0});
      EXPECT_EQ(run.error, "");
      EXPECT_EQ(Get<float>(run.outputs[3][0]), (Floats{9, 5}));
      Destroy(run);
    }
    for (const auto& argument : arguments) DestroyBuffer(argument[0]);
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(run_many);
  for (std::thread& thread : threads) thread.join();
  DestroyLoaded(psum);
}

// A callback runs on the thread of a device and uses the API as anybody does: under a lock of the
// layer, any of these calls would never return.
struct Reentrant {
  static void Callback(PJRT_Error* error, void* user_arg) {
    auto& self = *static_cast<Reentrant*>(user_arg);
    EXPECT_EQ(plugin::Text(error), "");
    DestroyEvent(std::exchange(self.event, nullptr));
    EXPECT_FALSE(plugin::IsDeleted(self.x));
    self.y = self.bench->client->Put<float>({1, 1, 1, 1}, {4});
    self.run = Execute(self.program, {{self.x}});
    self.read = ToHost(self.run.outputs[0][0], &self.result);
    DestroyBuffer(self.x);
    self.called = true;
  }
  Bench* bench;
  PJRT_LoadedExecutable* program;
  PJRT_Buffer* x;
  PJRT_Event* event;
  PJRT_Buffer* y = nullptr;
  Execution run = {};
  PJRT_Event* read = nullptr;
  Floats result = Floats(4);
  std::atomic<bool> called{false};
};

TEST(Callback, UsesTheApiAndDestroysItsEvent) {
  Gate gate(Work::kCopy);
  Bench bench({.on_start = gate.Hook()});
  PJRT_LoadedExecutable* inc = bench.Compile("inc");
  PJRT_Buffer* x = bench.client->Put<float>({1, 2, 3, 4}, {4});
  Reentrant state{.bench = &bench, .program = inc, .x = x, .event = ReadyEvent(x)};
  OnReady(state.event, Reentrant::Callback, &state);
  gate.Open();
  ASSERT_TRUE(Eventually([&] { return state.called.load(); }));
  EXPECT_EQ(Finish(state.read), "");
  EXPECT_EQ(state.result, (Floats{2, 3, 4, 5}));
  Destroy(state.run);
  DestroyBuffer(state.y);
  DestroyLoaded(inc);
}

// Linux says how many threads there are.
size_t NumThreads() {
  std::error_code error;
  const std::filesystem::directory_iterator tasks("/proc/self/task", error);
  return error ? 0 : size_t(std::distance(begin(tasks), std::filesystem::directory_iterator()));
}

TEST(Threads, AreAsManyHoweverMuchIsUnderWay) {
  Gate gate(Work::kCopy);
  Bench bench({.on_start = gate.Hook()});
  PJRT_LoadedExecutable* inc = bench.Compile("inc");
  const size_t before = NumThreads();
  std::vector<PJRT_Buffer*> buffers;
  std::vector<Execution> runs;
  for (int i = 0; i < 200; ++i) {
    buffers.push_back(bench.client->Put<float>({1, 2, 3, 4}, {4}));
    runs.push_back(Execute(inc, {{buffers.back()}}));
    OnReady(
        runs.back().done[0], [](PJRT_Error* error, void*) { (void)plugin::Text(error); }, nullptr);
  }
  EXPECT_LE(NumThreads(), before + 4);  // one a device, and none of the layer's own
  gate.Open();
  for (const Execution& run : runs) {
    EXPECT_EQ(ReadyText(run.outputs[0][0]), "");
    Destroy(run);
  }
  for (PJRT_Buffer* buffer : buffers) DestroyBuffer(buffer);
  DestroyLoaded(inc);
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::accelerator
