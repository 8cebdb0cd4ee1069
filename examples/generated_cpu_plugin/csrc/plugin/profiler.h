#ifndef PLUGIN_PROFILER_H_
#define PLUGIN_PROFILER_H_

// Profiler: the process's recorder, which profiles turn on and off, and Recording, by which the
// layer notes its own work:
//
//   const Recording recording(device, Work::kHostToDevice, bytes);   // before it begins
//   Completion done = stream.CopyFromHost(...);
//   recording.Until(done);
//
// While no profile is taken a Recording is one relaxed load, and Until one comparison.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "backend/completion.h"
#include "backend/recorder.h"
#include "generated/config.h"
#include "plugin/error.h"
#include "plugin/xspace.h"

namespace PJRT_PLUGIN_NS::plugin {

struct ProfileOptions {
  bool host = true;     // compilations
  bool devices = true;  // executions, transfers, and what a backend records
  size_t max_bytes = size_t{64} << 20;
};

class Profiler final : public backend::Recorder {
 public:
  // Lives for ever.
  static Profiler& Get();

  // Begins a profile. FAILED_PRECONDITION while another one is being taken.
  Status Start(const ProfileOptions& options);
  // Ends it, and gives what was recorded. Null when none is being taken.
  std::unique_ptr<Trace> Stop();

  void Record(const Event& event) noexcept override;
  // Of the layer.
  void Add(const TraceEvent& event) noexcept;

 private:
  std::mutex mutex_;
  std::unique_ptr<Trace> trace_;  // null while no profile is taken
  ProfileOptions options_;
};

enum class Work : uint8_t { kHostToDevice, kDeviceToHost, kDeviceToDevice };

// A piece of work of the layer, from here on.
class Recording {
 public:
  // A transfer of a device, which begins when all of `after` are ready. Made before the work is
  // queued, so that it hears of that before the work does.
  Recording(int device, Work work, size_t bytes, std::span<const backend::Completion> after = {})
      : device_(device), work_(work), bytes_(bytes) {
    if (const int64_t start_ns = Start(); start_ns != 0) [[unlikely]]
      start_ns_ = StartAfter(start_ns, after);
  }

  // It is over when `done` is ready.
  void Until(const backend::Completion& done) const {
    if (start_ns_ != nullptr) [[unlikely]]
      Note(done);
  }

  // Now, or 0 while no profile is taken.
  static int64_t Start() { return Profiler::Get().recording() ? backend::Recorder::Now() : 0; }

 private:
  using Moment = std::shared_ptr<const std::atomic<int64_t>>;

  static Moment StartAfter(int64_t start_ns, std::span<const backend::Completion> after);
  void Note(const backend::Completion& done) const noexcept;

  Moment start_ns_;  // null while no profile is taken
  int device_;
  Work work_;
  size_t bytes_;
};

// One device's part of an execution that was launched at `start_ns`.
struct RecordedLaunch {
  int device = 0;
  std::string_view program;
  int64_t run_id = 0;  // equal on the devices of one execution
  int64_t launch_id = 0;
  int replica = 0;
  int partition = 0;
};
void RecordLaunch(const RecordedLaunch& launch, int64_t start_ns, const backend::Completion& done,
                  std::span<const backend::Completion> after);
int64_t NextRunId();

// Work of the calling thread, over now.
void RecordOnHost(std::string_view name, int64_t start_ns);

}  // namespace PJRT_PLUGIN_NS::plugin

#endif  // PLUGIN_PROFILER_H_
