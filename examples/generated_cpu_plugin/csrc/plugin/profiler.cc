#include "plugin/profiler.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "backend/platform.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

using backend::Completion;
using backend::Recorder;

constexpr std::string_view kTransfers = "Transfers";

std::string_view NameOf(Work work) {
  switch (work) {
    case Work::kHostToDevice:
      return "host to device";
    case Work::kDeviceToHost:
      return "device to host";
    case Work::kDeviceToDevice:
      return "device to device";
  }
  return "transfer";
}

// The moment from which all of `after` are ready, and `start_ns` until then.
std::shared_ptr<const std::atomic<int64_t>> WhenReady(int64_t start_ns,
                                                      std::span<const Completion> after) {
  auto start = std::make_shared<std::atomic<int64_t>>(start_ns);
  const Completion inputs = backend::WhenAll(after);
  if (!inputs.IsReady()) {
    inputs.OnReady(
        [start](const Status&) { start->store(Recorder::Now(), std::memory_order_relaxed); });
  }
  return start;
}

// Calls `record(start)` when `done` is ready.
template <typename Function>
void WhenOver(std::shared_ptr<const std::atomic<int64_t>> start, const Completion& done,
              Function record) {
  done.OnReady([start = std::move(start), record = std::move(record)](const Status& status) {
    if (status.ok()) record(start->load(std::memory_order_relaxed));
  });
}

}  // namespace

Profiler& Profiler::Get() {
  static Profiler* const profiler = new Profiler;
  return *profiler;
}

Status Profiler::Start(const ProfileOptions& options) {
  std::lock_guard lock(mutex_);
  if (trace_ != nullptr) {
    return FailedPrecondition(
        "PLUGIN_Profiler_Start: another profile is being taken in this process; stop it first");
  }
  trace_ = std::make_unique<Trace>(Now(), options.max_bytes);
  options_ = options;
  recording_.store(options.host || options.devices, std::memory_order_relaxed);
  return Status();
}

std::unique_ptr<Trace> Profiler::Stop() {
  std::lock_guard lock(mutex_);
  recording_.store(false, std::memory_order_relaxed);
  return std::move(trace_);
}

void Profiler::Record(const Event& event) noexcept {
  Add({.device = event.device,
       .line = event.line,
       .name = event.name,
       .start_ns = event.start_ns,
       .end_ns = event.end_ns,
       .source = event.source,
       .numbers = event.numbers});
}

void Profiler::Add(const TraceEvent& event) noexcept {
  try {
    std::lock_guard lock(mutex_);
    if (trace_ == nullptr || event.end_ns < trace_->start_ns()) return;
    const bool wanted = event.device == TraceEvent::kHost ? options_.host : options_.devices;
    if (wanted) trace_->Add(event);
  } catch (...) {  // no memory: a profile is not worth a failure of the program
  }
}

Recording::Moment Recording::StartAfter(int64_t start_ns, std::span<const Completion> after) {
  return WhenReady(start_ns, after);
}

void Recording::Note(const Completion& done) const noexcept try {
  WhenOver(start_ns_, done, [device = device_, work = work_, bytes = bytes_](int64_t start) {
    const Recorder::Number numbers[] = {{"bytes_transferred", int64_t(bytes)}};
    Profiler::Get().Add({.device = device,
                         .line = kTransfers,
                         .name = NameOf(work),
                         .start_ns = start,
                         .end_ns = Recorder::Now(),
                         .numbers = numbers});
  });
} catch (...) {  // without memory for it, a profile lacks it
}

int64_t NextRunId() {
  static std::atomic<int64_t> next{0};
  return next.fetch_add(1, std::memory_order_relaxed) + 1;
}

void RecordLaunch(const RecordedLaunch& launch, int64_t start_ns, const Completion& done,
                  std::span<const Completion> after) {
  WhenOver(WhenReady(start_ns, after), done,
           [launch, program = std::string(launch.program)](int64_t start) {
             const Recorder::Number numbers[] = {{"run_id", launch.run_id},
                                                 {"launch_id", launch.launch_id},
                                                 {"device_id", launch.device},
                                                 {"replica_id", launch.replica},
                                                 {"partition_id", launch.partition}};
             Profiler::Get().Add({.device = launch.device,
                                  .line = Recorder::kPrograms,
                                  .name = program,
                                  .start_ns = start,
                                  .end_ns = Recorder::Now(),
                                  .numbers = numbers,
                                  .in_order = true});
           });
}

void RecordOnHost(std::string_view name, int64_t start_ns) {
  const int64_t thread = backend::platform::ThreadId();
  const std::string line = std::string(kPlatformName) + "/" + std::to_string(thread);
  Profiler::Get().Add({.device = TraceEvent::kHost,
                       .line = line,
                       .line_id = thread,
                       .name = name,
                       .start_ns = start_ns,
                       .end_ns = Recorder::Now()});
}

}  // namespace PJRT_PLUGIN_NS::plugin
