#ifndef PROGRAM_SIMPLIFY_OP_H_
#define PROGRAM_SIMPLIFY_OP_H_

// The simplifications of one op, by family. Each gives the value that the op's only result equals,
// or null; it may then still have changed the op in its place.

#include "generated/config.h"
#include "program/ir.h"

namespace PJRT_PLUGIN_NS::program {

Value* SimplifyArithmetic(Op& op);  // x + 0, x * 1, and(x, x), not(not(x)), select, convert
Value* SimplifyMove(Op& op);        // reshape, transpose, broadcast, slice, pad, concatenate, ...

}  // namespace PJRT_PLUGIN_NS::program

#endif  // PROGRAM_SIMPLIFY_OP_H_
