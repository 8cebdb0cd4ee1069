#ifndef REFERENCE_STREAM_H_
#define REFERENCE_STREAM_H_

// HostStream: copies of a simulated device. A copy whose dependencies are ready happens on the
// calling thread before the call returns, which is the quickest way there is; any other runs on the
// thread that makes the last of them ready.

#include <span>

#include "backend/stream.h"
#include "generated/config.h"

namespace PJRT_PLUGIN_NS::reference {

class HostStream final : public backend::Stream {
 public:
  backend::Completion CopyFromHost(const void* host, backend::Region to,
                                   std::span<const backend::Completion> after) override;
  backend::Completion CopyToHost(backend::Region from, void* host,
                                 std::span<const backend::Completion> after) override;
  backend::Completion Copy(backend::Region from, backend::Region to,
                           std::span<const backend::Completion> after) override;
};

}  // namespace PJRT_PLUGIN_NS::reference

#endif  // REFERENCE_STREAM_H_
