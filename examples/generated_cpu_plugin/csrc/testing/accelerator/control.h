#ifndef TESTING_ACCELERATOR_CONTROL_H_
#define TESTING_ACCELERATOR_CONTROL_H_

// Control: a test's hand on the accelerator. The settings say how slow it is and where it fails;
// the log says what ran where, and complaints what the layer above must not have done.
//
//   auto control = std::make_shared<Control>(Settings{
//       .faults = {{.work = Work::kLaunch, .nth = 2, .when = When::kAtEnd}}});
//   std::unique_ptr<backend::Driver> driver = Accelerate(std::move(inner), control);
//
// Threads: any member from any thread.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "backend/status.h"
#include "generated/config.h"

namespace PJRT_PLUGIN_NS::accelerator {

enum class Work { kAllocate, kCompile, kCopy, kLaunch };

// When work that is to fail does so: in the call itself, when the device comes to it, or when all
// of it is done.
enum class When { kAtOnce, kAtStart, kAtEnd };

struct Fault {
  Work work = Work::kLaunch;
  int64_t nth = 1;             // of its kind, in the order of the calls
  int device = kAny;           // counts and hits only what is asked of that device
  When when = When::kAtStart;  // memory and programs fail at once, whatever this says
  backend::Code code = backend::Code::kInternal;
  bool device_lost = false;  // nothing works on that device any more: UNAVAILABLE

  static constexpr int kAny = -1;
};

// "launch 2 DATA_LOSS, copy 1 on 3 at_end ABORTED, launch 4 lost": what, which one, and optionally
// on which device, when (at_once, at_start, at_end), and the code or that the device is lost.
// INVALID_ARGUMENT for anything else.
backend::Result<std::vector<Fault>> ReadFaults(std::string_view text);

// One piece of work as the device sees it.
struct Record {
  Work work;
  int device;
  int64_t number;  // the device's n-th call for such work, from 1

  friend bool operator==(const Record&, const Record&) = default;
};

struct Settings {
  int64_t memory_bytes = 0;  // of each device; 0 sets no limit
  std::chrono::microseconds copy_time{0};
  std::chrono::microseconds launch_time{0};
  std::vector<Fault> faults = {};
  // Runs on the device's thread before each copy and launch, which fails as it says.
  std::function<backend::Status(const Record&)> on_start = nullptr;
};

// What becomes of one piece of work: decided when it is asked for, so that faults do not depend on
// the order in which devices get to it.
struct Verdict {
  Record record;
  When when = When::kAtOnce;
  backend::Status status;  // OK: it shall succeed
  bool device_lost = false;

  // The failure of the call itself.
  backend::Status at_once() const { return when == When::kAtOnce ? status : backend::Status(); }
};

class Control {
 public:
  explicit Control(Settings settings = {}) : settings_(std::move(settings)) {
    seen_.resize(settings_.faults.size());
  }

  const Settings& settings() const { return settings_; }

  // Copies and launches in the order in which the devices began them.
  std::vector<Record> Log() const;
  // How many of this kind have begun, on all devices.
  int64_t Count(Work work) const;
  // What somebody did that the interface does not allow; empty when all is well.
  std::string Complaints() const;

  // ---- For the accelerator ----

  // Counts a call. The device is Fault::kAny for what is not of one.
  Verdict Ask(Work work, int device);
  // On the device's thread, before the work: notes it, and tells how it begins.
  backend::Status Start(const Verdict& verdict);
  // After it.
  backend::Status End(const Verdict& verdict);
  void Complain(std::string what);

 private:
  // With the lock held.
  backend::Status CheckLost(int device) const;
  backend::Status Fail(const Verdict& verdict, When now);

  const Settings settings_;
  mutable std::mutex mutex_;
  std::vector<int64_t> seen_;  // by fault
  std::set<int> lost_;
  std::vector<Record> asked_;  // the last of each kind and device
  std::vector<Record> log_;
  std::string complaints_;
};

}  // namespace PJRT_PLUGIN_NS::accelerator

#endif  // TESTING_ACCELERATOR_CONTROL_H_
