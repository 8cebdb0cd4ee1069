#ifndef BACKEND_STREAM_H_
#define BACKEND_STREAM_H_

// Stream: moves bytes to, from and inside a device's memories.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "backend/completion.h"
#include "backend/memory.h"
#include "backend/status.h"
#include "generated/config.h"

namespace PJRT_PLUGIN_NS::backend {

// A part of a block. Keeps the block alive while the work that names it is under way.
struct Region {
  std::shared_ptr<Allocation> block;
  size_t offset = 0;  // bytes
  size_t bytes = 0;
};

// Each call queues one copy and returns at once, or does the copy at once: both are right. The copy
// starts when all of `after` are ready; when one of them failed it does not start, and fails with
// that failure. Host memory is the caller's and stays valid until the returned completion is ready,
// which it is when the copy has let go of its blocks.
// Any member may be called from any thread; copies that are not ordered by `after` may run in any
// order.
class Stream {
 public:
  virtual ~Stream() = default;

  virtual Completion CopyFromHost(const void* host, Region to,
                                  std::span<const Completion> after) = 0;
  virtual Completion CopyToHost(Region from, void* host, std::span<const Completion> after) = 0;
  // Between two blocks of any memories of the client, of the same or of different devices. Same
  // size on both sides.
  virtual Completion Copy(Region from, Region to, std::span<const Completion> after) = 0;

  // ---- Optional abilities ----

  // The device's own queue, as code of the hardware's makers knows it (a cudaStream_t, ...), in
  // which code of others records that it is done with memory that it shares with us.
  virtual Result<intptr_t> NativeHandle() {
    return Unimplemented("the devices of this backend have no streams that other code could use");
  }
  // Makes work that the caller puts into `stream`, one of the hardware's, after this call wait for
  // `ready`. Here the caller waits, which holds for any stream; fails when `ready` does.
  virtual Status WaitOn(intptr_t stream, const Completion& ready) {
    (void)stream;
    return ready.Await();
  }
};

}  // namespace PJRT_PLUGIN_NS::backend

#endif  // BACKEND_STREAM_H_
