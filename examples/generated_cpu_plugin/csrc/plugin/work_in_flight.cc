#include "plugin/work_in_flight.h"

#include <algorithm>
#include <utility>

#include "generated/features.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

// What has ended is dropped from the list when it would grow beyond its memory, the first time at
// this size: looking at all of it costs no more than growing does.
constexpr size_t kMuchWork = 16;

#if PJRT_SCAFFOLD_HAS_PJRT_Device_PoisonExecution
constexpr bool kHasPoison = true;
#else
constexpr bool kHasPoison = false;  // nobody can ask for a failure
#endif

}  // namespace

void WorkInFlight::AddPending(Work work) {
  std::lock_guard lock(mutex_);
  if (work_.size() == work_.capacity()) {
    std::erase_if(work_, [](const Work& one) { return one.done.IsReady(); });
    work_.reserve(std::max(kMuchWork, 2 * work_.size()));
  }
  work_.push_back(std::move(work));
}

backend::Completion WorkInFlight::AddPendingLaunch(const backend::Completion& done,
                                                   std::shared_ptr<const CompiledProgram> program,
                                                   const Launch& launch) {
  if (!kHasPoison || !launch.may_be_poisoned) {
    done.OnReady([program = std::move(program)](const Status&) {});
    AddPending({done, launch.waits_for_caller});
    return done;
  }
  auto [ready, promise] = backend::MakeCompletion();
  const auto outputs = std::make_shared<const backend::Promise>(std::move(promise));
  done.OnReady([program = std::move(program), outputs](const Status& status) {
    outputs->Set(status);  // to no effect when they were failed before
  });
  AddPending({done, launch.waits_for_caller, outputs, launch.device, launch.id});
  return ready;
}

bool WorkInFlight::Poison(const Device* device, int64_t launch_id, const Status& failure) {
  std::shared_ptr<const backend::Promise> outputs;
  {
    std::lock_guard lock(mutex_);
    const auto found = std::ranges::find_if(work_, [&](const Work& one) {
      return one.outputs != nullptr && one.device == device && one.launch_id == launch_id &&
             !one.done.IsReady();
    });
    if (found == work_.end()) return false;
    outputs = std::exchange(found->outputs, nullptr);
  }
  return outputs->Set(failure);
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
