#include "plugin/running_launches.h"

#include <string>
#include <utility>

#include "generated/features.h"
#include "plugin/client.h"
#include "plugin/device.h"
#include "plugin/layer.h"

namespace PJRT_PLUGIN_NS::plugin {

#if PJRT_SCAFFOLD_HAS_PJRT_Device_PoisonExecution

backend::Completion RunningLaunches::Watch(int64_t launch_id, const backend::Completion& done) {
  if (done.IsReady()) return done;
  auto [watched, promise] = backend::MakeCompletion();
  auto shared = std::make_shared<const backend::Promise>(std::move(promise));
  std::list<Launch>::iterator place;
  {
    std::lock_guard lock(state_->mutex);
    place = state_->launches.insert(state_->launches.end(), {launch_id, shared});
  }
  done.OnReady([state = state_, place, shared = std::move(shared)](const Status& status) {
    {
      std::lock_guard lock(state->mutex);
      state->launches.erase(place);
    }
    shared->Set(status);  // to no effect when the execution was failed before
  });
  return watched;
}

bool RunningLaunches::Poison(int64_t launch_id, const Status& failure) {
  std::shared_ptr<const backend::Promise> promise;
  {
    std::lock_guard lock(state_->mutex);
    for (Launch& launch : state_->launches) {
      if (launch.id != launch_id || launch.promise == nullptr) continue;
      promise = std::move(launch.promise);
      launch.promise = nullptr;
      break;
    }
  }
  return promise != nullptr && promise->Set(failure);
}

PJRT_Error* Layer::Device_PoisonExecution(PJRT_Device_PoisonExecution_Args* args) {
  constexpr char kFunction[] = "PJRT_Device_PoisonExecution";
  Device* device = FromC(args->device);
  PJRT_PLUGIN_RETURN_IF_C_ERROR(device->client->CheckProcess(kFunction));
  Status::Payloads payloads;
#if PJRT_SCAFFOLD_HAS_PJRT_Device_PoisonExecution_Args_payload
  payloads = ReadPayloads(args->payload, args->num_payload);
#endif
  const Status failure = MakeStatus(args->error_code, args->error_message, args->error_message_size,
                                    std::move(payloads));
  if (failure.ok()) {
    return MakeError(
        InvalidArgument(std::string(kFunction) + ": error_code is OK; give the code of a failure"));
  }
  args->poisoned = device->running.Poison(args->launch_id, failure);
  return nullptr;
}

#else

backend::Completion RunningLaunches::Watch(int64_t, const backend::Completion& done) {
  return done;  // nobody can ask for a failure
}

bool RunningLaunches::Poison(int64_t, const Status&) { return false; }

#endif

}  // namespace PJRT_PLUGIN_NS::plugin
