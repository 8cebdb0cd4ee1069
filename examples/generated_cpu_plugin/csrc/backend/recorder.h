#ifndef BACKEND_RECORDER_H_
#define BACKEND_RECORDER_H_

// Recorder: where a backend notes what its devices do while somebody takes a profile
// (jax.profiler.trace). The plugin layer shows executions, transfers and compilations by itself;
// what goes on inside of them only the backend knows.
//
//   Recorder* const recorder = driver_options.recorder;   // for the life of the process
//   const int64_t start = recorder->recording() ? Recorder::Now() : 0;
//   RunKernel(...);
//   if (start != 0) {
//     recorder->Record({.device = id, .line = Recorder::kOps, .name = "fusion.3",
//                       .start_ns = start, .end_ns = Recorder::Now()});
//   }
//
// Hardware has a clock of its own: note the difference to Now() once, and add it.
//
// Threads: any member from any thread. Record takes a lock for a moment and calls nobody. Memory is
// bounded: what a profile has no room for is counted, and the profile says how many events it
// lacks.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>
#include <string_view>

#include "generated/config.h"

namespace PJRT_PLUGIN_NS::backend {

class Recorder {
 public:
  // The rows that the tools for profiles know by these names. Any other name is a row too.
  static constexpr std::string_view kPrograms = "XLA Modules";  // executions, the layer's
  static constexpr std::string_view kOps = "XLA Ops";           // what runs inside of them

  struct Number {
    std::string_view name;  // "flops"
    int64_t value = 0;
  };
  // What the views show is copied by Record.
  struct Event {
    int device = 0;         // DeviceInfo::id
    std::string_view line;  // the row in the device's part of the profile
    std::string_view name;  // of the kernel or op; few different ones, which are kept once
    int64_t start_ns = 0;   // nanoseconds since the Unix epoch, as Now() gives them
    int64_t end_ns = 0;
    std::string_view source = {};  // "model.py:12:3", where that is known
    std::span<const Number> numbers = {};
  };

  virtual ~Recorder() = default;
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Whether a profile is being taken. All that an event costs while none is.
  bool recording() const { return recording_.load(std::memory_order_relaxed); }

  // The clock of profiles.
  static int64_t Now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
  }

  // Notes an event that is over. One that began before the profile is shown from its start; none
  // is kept when no profile is being taken. Does not throw.
  virtual void Record(const Event& event) noexcept { (void)event; }

  // One that never records.
  static Recorder* None() {
    static Recorder none;
    return &none;
  }

 protected:
  Recorder() = default;
  std::atomic<bool> recording_{false};
};

}  // namespace PJRT_PLUGIN_NS::backend

#endif  // BACKEND_RECORDER_H_
