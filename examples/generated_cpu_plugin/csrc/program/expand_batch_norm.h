#ifndef PROGRAM_EXPAND_BATCH_NORM_H_
#define PROGRAM_EXPAND_BATCH_NORM_H_

// batch_norm_training, _inference and _grad, made of sums and products.

#include "generated/config.h"
#include "program/ir.h"
#include "program/rewrite.h"

namespace PJRT_PLUGIN_NS::program {

// Appends what gives the op's results to the block; false: it is another op.
bool ExpandBatchNorm(const Op& op, Block& block, Replacements& replacements);

}  // namespace PJRT_PLUGIN_NS::program

#endif  // PROGRAM_EXPAND_BATCH_NORM_H_
