#ifndef PLUGIN_COPY_TO_DEVICE_STREAM_H_
#define PLUGIN_COPY_TO_DEVICE_STREAM_H_

// CopyToDeviceStream: an array on its way from the framework to a program that waits for it, in
// pieces, one after the other. Whoever destroys it before all is sent fails the program.
//
// Threads: any member from any thread.

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "backend/host_transfers.h"
#include "generated/config.h"
#include "generated/pjrt_c_api.h"
#include "plugin/error.h"
#include "plugin/event.h"
#include "plugin/handle.h"

namespace PJRT_PLUGIN_NS::plugin {

class CopyToDeviceStream : public Handle<Tag::kCopyToDeviceStream> {
 public:
  // `promise`: that all has been written, or the first failure.
  CopyToDeviceStream(size_t total_bytes, backend::HostTransfers::Write write,
                     backend::Promise promise);
  ~CopyToDeviceStream();

  // The next piece, whose memory the stream owns from now on. Ready when it is written;
  // INVALID_ARGUMENT for more bytes than are left, FAILED_PRECONDITION when none are.
  Completion Add(const PJRT_Chunk& chunk);

  size_t total_bytes() const { return total_bytes_; }
  // Of the pieces so far.
  size_t current_bytes() const;

 private:
  const size_t total_bytes_;
  const backend::HostTransfers::Write write_;
  const std::shared_ptr<const backend::Promise> promise_;
  mutable std::mutex mutex_;
  size_t current_bytes_ = 0;
  std::vector<Completion> pieces_;  // that are not written yet, or failed
};
PJRT_PLUGIN_HANDLE(PJRT_CopyToDeviceStream, CopyToDeviceStream)

}  // namespace PJRT_PLUGIN_NS::plugin

#endif  // PLUGIN_COPY_TO_DEVICE_STREAM_H_
