#ifndef REFERENCE_PRODUCT_H_
#define REFERENCE_PRODUCT_H_

// What the sums of products have in common: dot_general and convolution.

#include <cstdint>
#include <optional>

#include "generated/config.h"
#include "reference/plan_builder.h"

namespace PJRT_PLUGIN_NS::reference {

// Some dimensions of an operand, as one dimension with one stride.
struct Axis {
  int64_t size = 1, stride = 0;
};

// Nothing when no single stride walks through the dimensions `axes` in row-major order.
std::optional<Axis> Join(const View& view, const Dims& axes);

// In which type to multiply and add: in the widest of the operands' and the result's, so that only
// the sum loses what the result cannot hold. The matrix product has a kernel for it.
DType ProductType(DType lhs, DType rhs, DType result);

// The operand's elements in the type that the product computes in.
Result<View> OperandAs(PlanBuilder& b, const Value* value, DType type);

}  // namespace PJRT_PLUGIN_NS::reference

#endif  // REFERENCE_PRODUCT_H_
