#ifndef VENDOR_DRIVER_STREAM_H_
#define VENDOR_DRIVER_STREAM_H_

// Copies to, from and inside the memories of one device. Here they are done by the processor, at
// once when nothing has to be waited for.

#include <span>

#include "backend/stream.h"
#include "generated/config.h"

namespace PJRT_PLUGIN_NS::vendor {

// VENDOR: queue the copies on the hardware and return at once. Four things must hold:
//   - a copy starts only when all of `after` are ready, and fails with their failure where one
//   failed;
//   - the Region is kept until the copy is over: it keeps the block alive;
//   - the completion is set exactly once, never while you hold a lock, and every exception of your
//   threads ends in it;
//   - host memory is ordinary, unpinned memory of the caller; stage it if the hardware wants it
//   pinned.
class Stream final : public backend::Stream {
 public:
  backend::Completion CopyFromHost(const void* host, backend::Region to,
                                   std::span<const backend::Completion> after) override;
  backend::Completion CopyToHost(backend::Region from, void* host,
                                 std::span<const backend::Completion> after) override;
  backend::Completion Copy(backend::Region from, backend::Region to,
                           std::span<const backend::Completion> after) override;
};

}  // namespace PJRT_PLUGIN_NS::vendor

#endif  // VENDOR_DRIVER_STREAM_H_
