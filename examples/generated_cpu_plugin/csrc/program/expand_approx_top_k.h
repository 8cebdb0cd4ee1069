#ifndef PROGRAM_EXPAND_APPROX_TOP_K_H_
#define PROGRAM_EXPAND_APPROX_TOP_K_H_

// The custom call ApproxTopK, which jax.lax.approx_max_k and approx_min_k become, made of a sort of
// the whole dimension: the exact answer is one of those it may give.

#include "generated/config.h"
#include "program/ir.h"
#include "program/rewrite.h"

namespace PJRT_PLUGIN_NS::program {

// Appends what gives the op's results to the block; false: it is another op.
bool ExpandApproxTopK(const Module& module, const Op& op, Block& block, Replacements& replacements);

}  // namespace PJRT_PLUGIN_NS::program

#endif  // PROGRAM_EXPAND_APPROX_TOP_K_H_
