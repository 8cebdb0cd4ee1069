#include <memory>
#include <utility>
#include <vector>

#include "reference/body.h"
#include "reference/lowerings.h"

namespace PJRT_PLUGIN_NS::reference {

Status LowerMap(PlanBuilder& b, const Op& op) {
  PJRT_PLUGIN_ASSIGN_OR_RETURN(BodyTape body, TapeOfBody(b, op, *op.regions[0]));
  std::vector<Place> in;
  Uses uses;
  for (const Value* operand : op.operands) {
    PJRT_PLUGIN_ASSIGN_OR_RETURN(Place place, b.Dense(operand));
    in.push_back(place);
  }
  in.insert(in.end(), body.captured.begin(), body.captured.end());
  for (const Place& place : in) uses.reads.push_back(place.buffer);
  const Place out = b.NewResult(op.result());
  uses.writes.push_back(out.buffer);
  const int64_t elements = op.type().num_elements();
  b.AddFlops(double(elements) * double(body.tape->num_kernels()));
  b.Emit(op, std::move(uses), [=, in = std::move(in), tape = body.tape](const Frame& frame) {
    std::vector<const void*> from;
    for (const Place& place : in) from.push_back(place.At(frame));
    void* to = out.At(frame);
    frame.pool->ParallelFor(elements, int64_t{1} << 14, [&](int64_t begin, int64_t end) {
      tape->Run(from.data(), &to, begin, end);
    });
    return Status();
  });
  return Status();
}

}  // namespace PJRT_PLUGIN_NS::reference
