// What is destroyed while devices work on it: in any order, in callbacks on a device's thread, and
// with the process.

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "plugin/api_test_util.h"
#include "testing/accelerator/accelerator_test_util.h"
#include "testing/test.h"

#if !defined(_WIN32)
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace PJRT_PLUGIN_NS::accelerator {
namespace {

using plugin::DestroyBuffer;
using plugin::DestroyEvent;
using plugin::DestroyLoaded;
using plugin::Execute;
using plugin::Execution;
using plugin::Finish;
using plugin::Get;

TEST(Destruction, InAnyOrderWhileTheProgramRuns) {
  std::vector<int> order = {0, 1, 2, 3, 4};
  do {
    Gate gate(Work::kLaunch);
    Bench bench({.on_start = gate.Hook()});
    PJRT_LoadedExecutable* inc = bench.Compile("inc");
    PJRT_Buffer* x = bench.client->Put<float>({1, 2, 3, 4}, {4});
    Execution run = Execute(inc, {{x}});
    ASSERT_TRUE(gate.AwaitArrivals(1));
    for (int what : order) {
      if (what == 0) bench.client->Destroy();
      if (what == 1) DestroyLoaded(inc);
      if (what == 2) DestroyBuffer(x);
      if (what == 3) DestroyBuffer(run.outputs[0][0]);
      if (what == 4) DestroyEvent(run.done[0]);
      if (what == order[3]) gate.Open();
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(Destruction, BuffersOutliveTheClientWithWorkUnderWay) {
  Gate gate(Work::kCopy);
  Bench bench({.on_start = gate.Hook()});
  PJRT_Buffer* x = bench.client->Put<float>({1, 2, 3, 4}, {4});
  bench.client->Destroy();
  gate.Open();
  EXPECT_EQ(Get<float>(x), (Floats{1, 2, 3, 4}));
  DestroyBuffer(x);
}

// The last thing of a client goes in a callback, on the thread that the driver's end waits for.
TEST(Destruction, TheLastBufferGoesInACallbackOfItsDevice) {
  Gate gate(Work::kCopy);
  Bench bench({.on_start = gate.Hook()});
  PJRT_Buffer* x = bench.client->Put<float>({1, 2, 3, 4}, {4});
  PJRT_Event* ready = ReadyEvent(x);
  OnReady(
      ready,
      [](PJRT_Error* error, void* buffer) {
        EXPECT_EQ(plugin::Text(error), "");
        DestroyBuffer(static_cast<PJRT_Buffer*>(buffer));
      },
      x);
  DestroyEvent(ready);
  bench.client->Destroy();
  gate.Open();
}

// A send callback of a running program lets go of all that there is.
struct Everything {
  static PJRT_Error* OnSend(PJRT_Chunk* chunk, PJRT_CallbackError*, size_t, bool, void* user_arg) {
    auto& all = *static_cast<Everything*>(user_arg);
    chunk->deleter(chunk->data, chunk->deleter_arg);
    EXPECT_TRUE(all.known.AwaitArrivals(1));
    DestroyBuffer(all.x);
    DestroyBuffer(all.output);
    DestroyEvent(all.done);
    DestroyLoaded(all.program);
    all.bench->client->Destroy();
    return nullptr;
  }
  static void OnReceive(PJRT_CopyToDeviceStream* stream, void*) {
    auto args = plugin::Make<PJRT_CopyToDeviceStream_Destroy_Args>();
    args.stream = stream;
    EXPECT_EQ(plugin::Text(plugin::Api().PJRT_CopyToDeviceStream_Destroy(&args)), "");
  }
  Bench* bench;
  PJRT_LoadedExecutable* program;
  PJRT_Buffer* x;
  PJRT_Buffer* output = nullptr;
  PJRT_Event* done = nullptr;
  Gate known{Work::kLaunch};  // that the call has returned
};

TEST(Destruction, OfEverythingInASendCallback) {
  Bench bench;
  Everything all{.bench = &bench,
                 .program = bench.Compile("echo"),
                 .x = bench.client->Put<float>({1, 2, 3, 4}, {4})};
  PJRT_SendCallbackInfo send = {1, &all, Everything::OnSend};
  PJRT_RecvCallbackInfo receive = {2, &all, Everything::OnReceive};
  PJRT_SendCallbackInfo* sends = &send;
  PJRT_RecvCallbackInfo* receives = &receive;
  auto options = plugin::Make<PJRT_ExecuteOptions>();
  options.send_callbacks = &sends;
  options.num_send_ops = 1;
  options.recv_callbacks = &receives;
  options.num_recv_ops = 1;
  Execution run = Execute(all.program, {{all.x}}, 1, {0}, nullptr, options);
  EXPECT_EQ(run.error, "");
  all.output = run.outputs[0][0];
  all.done = run.done[0];
  all.known.Open();
  EXPECT_TRUE(all.known.Hook()({Work::kLaunch, 0, 1}).ok());  // arrives
  EXPECT_TRUE(Eventually([] { return plugin::Fake::LiveDrivers() == 0; }));
}

#if !defined(_WIN32)  // no fork there

TEST(Fork, TheChildIsToldWhileWorkIsUnderWay) {
  Gate gate(Work::kCopy);
  Bench bench({.on_start = gate.Hook()});
  PJRT_Buffer* x = bench.client->Put<float>({1, 2, 3, 4}, {4});
  PJRT_Event* ready = ReadyEvent(x);
  ASSERT_TRUE(gate.AwaitArrivals(1));
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    const bool told = Finish(ready).find("this process was forked") != std::string::npos;
    DestroyBuffer(x);
    bench.client->Destroy();
    _exit(told ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  gate.Open();
  EXPECT_EQ(Finish(ready), "");
  DestroyBuffer(x);
}

// A process may end at any time: with devices at work, and nothing destroyed.
TEST(Exit, WithWorkUnderWay) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    // Static, for LeakSanitizer, which would call them lost.
    static auto* const bench = new Bench({.launch_time = std::chrono::milliseconds(200)});
    PJRT_LoadedExecutable* inc = bench->Compile("inc");
    PJRT_Buffer* x = bench->client->Put<float>({1, 2, 3, 4}, {4});
    static auto* const runs = new std::vector<Execution>;
    for (int i = 0; i < 5; ++i) runs->push_back(Execute(inc, {{x}}, 1, {0}));
    std::exit(7);  // runs what is to be run at exit
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

#endif

}  // namespace
}  // namespace PJRT_PLUGIN_NS::accelerator
