#include "plugin/profiler.h"

#include <thread>
#include <vector>

#include "plugin/xspace_test_util.h"
#include "testing/test.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

using backend::Completion;
using backend::Recorder;

void RecordOp(int device = 0) {
  Profiler& profiler = Profiler::Get();
  if (!profiler.recording()) return;
  const int64_t now = Recorder::Now();
  profiler.Record(
      {.device = device, .line = "XLA Ops", .name = "add", .start_ns = now - 10, .end_ns = now});
}

TEST(Profiler, TakesWhatBackendsRecord) {
  RecordOp();
  EXPECT_TRUE(Profiler::Get().Start({}).ok());
  RecordOp();
  const std::unique_ptr<Trace> trace = Profiler::Get().Stop();
  RecordOp();
  ASSERT_TRUE(trace != nullptr);
  EXPECT_EQ(trace->events().size(), size_t{1});
  EXPECT_TRUE(Profiler::Get().Stop() == nullptr);
}

TEST(Profiler, NoneNeverRecords) {
  EXPECT_TRUE(Profiler::Get().Start({}).ok());
  EXPECT_TRUE(!Recorder::None()->recording());
  Recorder::None()->Record({.line = "XLA Ops", .name = "add"});
  EXPECT_EQ(Profiler::Get().Stop()->events().size(), size_t{0});
}

TEST(Profiler, RecordingBeginsWhenInputsAreReady) {
  EXPECT_TRUE(Profiler::Get().Start({}).ok());
  auto [input, set_input] = backend::MakeCompletion();
  auto [done, set_done] = backend::MakeCompletion();
  const Recording recording(0, Work::kDeviceToHost, 4, {&input, 1});
  recording.Until(done);
  const int64_t waited_until = Recorder::Now();
  set_input.Set(Status());
  set_done.Set(Status());
  const std::unique_ptr<Trace> trace = Profiler::Get().Stop();
  ASSERT_TRUE(trace->events().size() == 1);
  EXPECT_TRUE(trace->events()[0].start_ns >= waited_until);
}

TEST(Profiler, WorkThatFailsIsLeftOut) {
  EXPECT_TRUE(Profiler::Get().Start({}).ok());
  Recording(0, Work::kDeviceToHost, 4).Until(Completion(Internal("broken")));
  EXPECT_EQ(Profiler::Get().Stop()->events().size(), size_t{0});
}

TEST(Profiler, ThreadsRecordWhileProfilesComeAndGo) {
  std::atomic<bool> over{false};
  std::vector<std::thread> threads;
  for (int device = 0; device < 3; ++device) {
    threads.emplace_back([device, &over] {
      while (!over.load()) {
        RecordOp(device);
        const Recording recording(device, Work::kHostToDevice, 1);
        recording.Until(Completion());
      }
    });
  }
  size_t recorded = 0;
  for (int i = 0; i < 200 || recorded == 0; ++i) {
    EXPECT_TRUE(Profiler::Get().Start({.max_bytes = 1 << 16}).ok());
    std::this_thread::yield();
    const std::unique_ptr<Trace> trace = Profiler::Get().Stop();
    recorded += ParseXSpace(SerializeXSpace(*trace)).planes.size();
  }
  over.store(true);
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(recorded > 0);
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::plugin
