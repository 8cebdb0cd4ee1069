#ifndef REFERENCE_BODY_H_
#define REFERENCE_BODY_H_

// Bodies of reduce, scatter, sort and collectives: small functions of scalars.

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "generated/config.h"
#include "program/ir.h"
#include "reference/kernels/kernel_table.h"
#include "reference/plan_builder.h"
#include "reference/tape.h"

namespace PJRT_PLUGIN_NS::reference {

// The one operation that a body of two arguments applies to both of them, in either order; nothing
// for other bodies.
std::optional<kernels::ElementwiseOp> SingleOpOf(const program::Block& body);
// The reduction kernel for that operation.
std::optional<kernels::ReduceOp> ReduceOpOf(kernels::ElementwiseOp op);
// Whether the body returns its argument `index`.
bool ReturnsArgument(const program::Block& body, size_t index);

// A body as a tape: inputs are its arguments, then the values from outside that it uses; outputs
// are its results.
struct BodyTape {
  std::shared_ptr<const Tape> tape;
  std::vector<Place> captured;
};
// UNIMPLEMENTED when the body holds anything that is not elementwise.
Result<BodyTape> TapeOfBody(PlanBuilder& b, const Op& op, const program::Block& body);
// The same for the values `outputs` of the body instead of its results.
Result<BodyTape> TapeOfBody(PlanBuilder& b, const Op& op, const program::Block& body,
                            std::span<Value* const> outputs);
// The same with the second half of the arguments read at strides.
Result<BodyTape> TapeOfBody(PlanBuilder& b, const Op& op, const program::Block& body,
                            const StridedLoad& load);

}  // namespace PJRT_PLUGIN_NS::reference

#endif  // REFERENCE_BODY_H_
