#ifndef PROGRAM_FOLD_CONSTANTS_H_
#define PROGRAM_FOLD_CONSTANTS_H_

// The result of an op whose operands are all constants, where it is small and certain to equal, bit
// by bit, what any backend would compute: integer and boolean arithmetic without division, and
// moves of elements of any type.

#include <optional>

#include "generated/config.h"
#include "program/ir.h"

namespace PJRT_PLUGIN_NS::program {

// Nothing when the op is not of that kind. Up to 256 elements, or one when all operands are splats.
std::optional<Literal> FoldConstants(const Op& op);

}  // namespace PJRT_PLUGIN_NS::program

#endif  // PROGRAM_FOLD_CONSTANTS_H_
