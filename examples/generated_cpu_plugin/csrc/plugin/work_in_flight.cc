#include "plugin/work_in_flight.h"

#include <algorithm>

namespace PJRT_PLUGIN_NS::plugin {
namespace {

// What has ended is dropped from the list when it would grow beyond its memory, the first time at
// this size: looking at all of it costs no more than growing does.
constexpr size_t kMuchWork = 16;

}  // namespace

void WorkInFlight::AddPending(const backend::Completion& done, bool waits_for_caller) {
  std::lock_guard lock(mutex_);
  if (work_.size() == work_.capacity()) {
    std::erase_if(work_, [](const Work& one) { return one.done.IsReady(); });
    work_.reserve(std::max(kMuchWork, 2 * work_.size()));
  }
  work_.push_back({done, waits_for_caller});
}

std::vector<backend::Completion> WorkInFlight::Earlier() const {
  std::vector<backend::Completion> earlier;
  if (backend::RunningCallbacks()) return earlier;
  std::lock_guard lock(mutex_);
  for (const Work& one : work_) {
    if (one.waits_for_caller && !one.done.IsReady()) break;
    earlier.push_back(one.done);
  }
  return earlier;
}

}  // namespace PJRT_PLUGIN_NS::plugin
