#ifndef REFERENCE_STREAM_H_
#define REFERENCE_STREAM_H_

// HostStream: copies of a simulated device. A copy whose dependencies are ready happens on the
// calling thread before the call returns, which is the quickest way there is; any other runs on the
// thread that makes the last of them ready. A copy still waiting when the stream is finished or
// destroyed fails, and its blocks are let go of then, so that they never outlive their memories.

#include <memory>
#include <span>

#include "backend/stream.h"
#include "generated/config.h"

namespace PJRT_PLUGIN_NS::reference {

class HostStream final : public backend::Stream {
 public:
  HostStream();
  // As Finish.
  ~HostStream() override;

  // Waits for copies that run, and drops those that wait. No copy begins afterwards. Not on a
  // thread that is running one of the stream's copies.
  void Finish();

  backend::Completion CopyFromHost(const void* host, backend::Region to,
                                   std::span<const backend::Completion> after) override;
  backend::Completion CopyToHost(backend::Region from, void* host,
                                 std::span<const backend::Completion> after) override;
  backend::Completion Copy(backend::Region from, backend::Region to,
                           std::span<const backend::Completion> after) override;

 private:
  class Waiting;
  struct Work;
  backend::Completion CopyAfter(Work work, std::span<const backend::Completion> after);

  std::shared_ptr<Waiting> waiting_;
};

}  // namespace PJRT_PLUGIN_NS::reference

#endif  // REFERENCE_STREAM_H_
