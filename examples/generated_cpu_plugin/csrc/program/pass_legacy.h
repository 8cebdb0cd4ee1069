#ifndef PROGRAM_PASS_LEGACY_H_
#define PROGRAM_PASS_LEGACY_H_

// Operations made of others: those that frameworks up to 2025 sent, and one outside of StableHLO.
//
//   mhlo.topk {k, largest}: a stable sort along the last dimension with the positions, the first k
//   ApproxTopK: a sort, and the first elements
//   batch_norm_training, _inference, _grad: their definitions
//
// For top_k later frameworks send a composite with its decomposition; the older ones send a custom
// call with none.
// The elementwise ones (mhlo.erf, mhlo.acos ...) have no equal in StableHLO and stay custom calls.

#include "generated/config.h"
#include "program/ir.h"

namespace PJRT_PLUGIN_NS::program {

void LegacyPass(Module& module);

}  // namespace PJRT_PLUGIN_NS::program

#endif  // PROGRAM_PASS_LEGACY_H_
