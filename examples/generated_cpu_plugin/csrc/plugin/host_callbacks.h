#ifndef PLUGIN_HOST_CALLBACKS_H_
#define PLUGIN_HOST_CALLBACKS_H_

// HostCallbacks: the send and receive callbacks that come with an execution, as the backend calls
// them. What they point to is the caller's, and there until the execution's event is ready.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/host_transfers.h"
#include "generated/config.h"
#include "generated/pjrt_c_api.h"
#include "plugin/error.h"

namespace PJRT_PLUGIN_NS::plugin {

class HostCallbacks final : public backend::HostTransfers {
 public:
  // The callbacks of the device at that place of the execution. The lists are there, as long as
  // their numbers say.
  HostCallbacks(const PJRT_ExecuteOptions& options, size_t device);

  Status Send(int64_t channel, const void* data, size_t bytes) override;
  backend::Completion Receive(int64_t channel, size_t bytes, Write write) override;

 private:
  std::vector<PJRT_SendCallbackInfo> sends_;
  std::vector<PJRT_RecvCallbackInfo> receives_;
};

// Whether an execution comes with any; `options` may be null.
inline bool HasHostCallbacks(const PJRT_ExecuteOptions* options) {
  return options != nullptr && (options->num_send_ops != 0 || options->num_recv_ops != 0);
}

}  // namespace PJRT_PLUGIN_NS::plugin

#endif  // PLUGIN_HOST_CALLBACKS_H_
