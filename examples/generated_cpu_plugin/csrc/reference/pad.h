#ifndef REFERENCE_PAD_H_
#define REFERENCE_PAD_H_

// Padding, for pad itself and for the operations that pad their operands.

#include "generated/config.h"
#include "reference/plan_builder.h"

namespace PJRT_PLUGIN_NS::reference {

struct Padding {
  Dims low;       // may be negative, which cuts
  Dims interior;  // elements between two of the operand's
};

// Fills the dense array `out` of `dims` with `value`, and puts the elements of `in` that lie inside
// in their places.
void EmitPad(PlanBuilder& b, View in, Place value, const Padding& padding, BufferId out,
             const Dims& dims);

}  // namespace PJRT_PLUGIN_NS::reference

#endif  // REFERENCE_PAD_H_
