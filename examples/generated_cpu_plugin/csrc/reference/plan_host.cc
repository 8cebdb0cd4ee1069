// Host transfers: send and recv operations whose other side is the framework on the host, on a
// channel. Steps run in order, so tokens order them by themselves.

#include <cstring>
#include <string>

#include "reference/lowerings.h"

namespace PJRT_PLUGIN_NS::reference {
namespace {

// UNIMPLEMENTED for what is not one array and a token, from or to the host. `values` are the op's
// operands or results.
template <typename Values>
Status CheckHostTransfer(const Op& op, const Values& values) {
  if (!op.Bool("is_host_transfer")) {
    return PlanBuilder::Unsupported(
        op, "it transfers between devices; only is_host_transfer = true is known");
  }
  if (values.size() != 2) {
    return PlanBuilder::Unsupported(op, "it transfers " + std::to_string(values.size() - 1) +
                                            " arrays on one channel; one is known");
  }
  if (values[0]->type.is_tensor()) return Status();
  return PlanBuilder::Unsupported(op, "it transfers a token as if it were an array");
}

Status NobodyThere(int64_t channel) {
  return backend::FailedPrecondition("the program talks to the host on channel " +
                                     std::to_string(channel) +
                                     ", but was launched without send and receive callbacks");
}

}  // namespace

Status LowerSend(PlanBuilder& b, const Op& op) {
  PJRT_PLUGIN_RETURN_IF_ERROR(CheckHostTransfer(op, op.operands));
  b.UseHost();
  PJRT_PLUGIN_ASSIGN_OR_RETURN(const Place in, b.Dense(op.operands[0]));
  const size_t bytes = op.operand_type(0).byte_size();
  b.Emit(op, {.reads = {in.buffer}, .writes = {}},
         [=, channel = op.Int("channel_id")](const Frame& frame) {
           if (frame.host == nullptr) return NobodyThere(channel);
           return frame.host->Send(channel, in.At(frame), bytes);
         });
  return Status();
}

Status LowerRecv(PlanBuilder& b, const Op& op) {
  PJRT_PLUGIN_RETURN_IF_ERROR(CheckHostTransfer(op, op.results));
  b.UseHost();
  const Place out = b.NewResult(op.result(0));
  const size_t bytes = op.type(0).byte_size();
  b.Emit(op, {.reads = {}, .writes = {out.buffer}},
         [=, channel = op.Int("channel_id")](const Frame& frame) {
           if (frame.host == nullptr) return NobodyThere(channel);
           auto write = [to = out.At(frame)](const void* data, size_t offset, size_t size) {
             std::memcpy(to + offset, data, size);
             return backend::Completion();
           };
           return frame.host->Receive(channel, bytes, write).Await();
         });
  return Status();
}

}  // namespace PJRT_PLUGIN_NS::reference
