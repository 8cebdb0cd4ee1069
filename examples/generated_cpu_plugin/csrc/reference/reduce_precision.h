#ifndef REFERENCE_REDUCE_PRECISION_H_
#define REFERENCE_REDUCE_PRECISION_H_

// reduce_precision as integer operations on the bits of a float: a part of fused loops like any
// other.

#include <cstdint>

#include "generated/config.h"
#include "reference/tape.h"

namespace PJRT_PLUGIN_NS::reference {

// `in`, a float, rounded to the nearest value (to even in the middle) of a float with so many bits
// of exponent (at least 1) and mantissa: what is too large becomes infinite, what is too small for
// a normal number zero, both with their sign; NaN stays NaN.
TapeBuilder::Reg ReducePrecision(TapeBuilder& tape, TapeBuilder::Reg in, int64_t exponent_bits,
                                 int64_t mantissa_bits);

}  // namespace PJRT_PLUGIN_NS::reference

#endif  // REFERENCE_REDUCE_PRECISION_H_
