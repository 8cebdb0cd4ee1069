#ifndef PLUGIN_COPY_TO_DEVICE_STREAM_H_
#define PLUGIN_COPY_TO_DEVICE_STREAM_H_

// CopyToDeviceStream: an array on its way from the framework to a program that waits for it, in
// pieces, one after the other. Whoever destroys it before all is sent fails the program.
//
// Threads: any member from any thread.

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
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
  class Target;

  explicit CopyToDeviceStream(std::shared_ptr<Target> target) : target_(std::move(target)) {}
  ~CopyToDeviceStream();

  Target& target() const { return *target_; }

 private:
  const std::shared_ptr<Target> target_;
};
PJRT_PLUGIN_HANDLE(PJRT_CopyToDeviceStream, CopyToDeviceStream)

// Where the pieces go. Shared by the stream, which is the framework's, and by who waits for the
// array, who may give up on a stream that is still there.
class CopyToDeviceStream::Target {
 public:
  // `promise`: that all has been written, or the first failure.
  Target(size_t total_bytes, backend::HostTransfers::Write write, backend::Promise promise);

  // The next piece, whose memory belongs to the target from now on. Ready when it is written;
  // INVALID_ARGUMENT for more bytes than are left, FAILED_PRECONDITION when none are, or nobody
  // waits for them.
  Completion Add(const PJRT_Chunk& chunk);
  // From now on nothing is written. Unless all was sent, the promise fails with `status`, once the
  // pieces under way are written.
  void Close(Status status);

  size_t total_bytes() const { return total_bytes_; }
  // Of the pieces so far.
  size_t current_bytes() const;

 private:
  // Sets the promise when all pieces are written.
  void SetWhenWritten(std::vector<Completion> pieces, Status status) const;

  const size_t total_bytes_;
  const std::shared_ptr<const backend::Promise> promise_;
  mutable std::mutex mutex_;
  backend::HostTransfers::Write write_;  // null once closed, or all was sent
  size_t current_bytes_ = 0;
  std::vector<Completion> pieces_;  // that are not written yet, or failed
};

}  // namespace PJRT_PLUGIN_NS::plugin

#endif  // PLUGIN_COPY_TO_DEVICE_STREAM_H_
