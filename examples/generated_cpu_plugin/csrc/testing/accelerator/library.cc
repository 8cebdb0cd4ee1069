// The accelerator over the reference backend, as a plugin library: frameworks load it instead of
// the plugin's own where <PLUGIN>_LIBRARY_PATH names it.

#include <chrono>
#include <condition_variable>
#include <iterator>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/platform.h"
#include "generated/table.h"
#include "plugin/extensions.h"
#include "plugin/layer.h"
#include "program/read.h"
#include "reference/driver.h"
#include "testing/accelerator/driver.h"

namespace PJRT_PLUGIN_NS::accelerator {
namespace {

constexpr backend::OptionSpec kOptions[] = {
    {.name = "faults",
     .help = "what fails, for example: launch 2 DATA_LOSS, copy 1 on 3 at_end ABORTED",
     .default_value = std::string_view()},
    {.name = "copy_us",
     .help = "how long a copy takes, in microseconds",
     .default_value = int64_t{0},
     .min = 0},
    {.name = "launch_us",
     .help = "how long a launch takes, in microseconds",
     .default_value = int64_t{0},
     .min = 0},
    {.name = "meet",
     .help = "launches wait until so many have begun, on different devices; 0 or 1: none does",
     .default_value = int64_t{0},
     .min = 0},
};

// Launches that wait for each other.
class Meeting {
 public:
  explicit Meeting(int64_t count) : count_(count) {}

  backend::Status Arrive() {
    std::unique_lock lock(mutex_);
    ++arrivals_;
    changed_.notify_all();
    const bool met =
        changed_.wait_for(lock, std::chrono::minutes(1), [&] { return arrivals_ >= count_; });
    if (met) return backend::Status();
    return backend::Status(backend::Code::kDeadlineExceeded,
                           std::to_string(count_) + " launches were to meet, but only " +
                               std::to_string(arrivals_) + " came within a minute");
  }

 private:
  const int64_t count_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int64_t arrivals_ = 0;
};

}  // namespace
}  // namespace PJRT_PLUGIN_NS::accelerator

namespace PJRT_PLUGIN_NS::backend {

Status InitializePlugin() { return Status(); }

StablehloRange StablehloVersions() {
  const auto& newest = program::kStableHloVersion;
  return {.oldest = {1, 0, 0}, .newest = {newest[0], newest[1], newest[2]}};
}

std::span<const OptionSpec> DriverOptionSpecs() {
  static const std::vector<OptionSpec> all = [] {
    const std::span<const OptionSpec> inner = reference::DriverOptionSpecs();
    std::vector<OptionSpec> both(inner.begin(), inner.end());
    both.insert(both.end(), std::begin(accelerator::kOptions), std::end(accelerator::kOptions));
    return both;
  }();
  return all;
}

Result<std::unique_ptr<Driver>> CreateDriver(const DriverOptions& options) {
  accelerator::Settings settings;
  settings.memory_bytes = options.options.Int("memory_bytes");
  settings.copy_time = std::chrono::microseconds(options.options.Int("copy_us"));
  settings.launch_time = std::chrono::microseconds(options.options.Int("launch_us"));
  PJRT_PLUGIN_ASSIGN_OR_RETURN(settings.faults,
                               accelerator::ReadFaults(options.options.String("faults")));
  if (const int64_t count = options.options.Int("meet"); count > 1) {
    settings.on_start = [meeting = std::make_shared<accelerator::Meeting>(count)](
                            const accelerator::Record& record) {
      return record.work == accelerator::Work::kLaunch ? meeting->Arrive() : Status();
    };
  }
  DriverOptions inner_options = options;
  inner_options.options.Set("memory_bytes", int64_t{0});  // the accelerator counts
  PJRT_PLUGIN_ASSIGN_OR_RETURN(std::unique_ptr<Driver> inner,
                               reference::CreateDriver(inner_options));
  return accelerator::Accelerate(std::move(inner),
                                 std::make_shared<accelerator::Control>(std::move(settings)));
}

}  // namespace PJRT_PLUGIN_NS::backend

extern "C" PJRT_PLUGIN_EXPORT const PJRT_Api* GetPjrtApi() {
  namespace ns = PJRT_PLUGIN_NS;
  static const PJRT_Api table =
      ns::generated::make_table<ns::plugin::Layer>(ns::plugin::Extensions());
  return &table;
}
