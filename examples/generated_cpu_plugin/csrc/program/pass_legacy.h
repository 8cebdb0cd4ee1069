#ifndef PROGRAM_PASS_LEGACY_H_
#define PROGRAM_PASS_LEGACY_H_

// Operations outside of StableHLO as frameworks up to 2025 send them. Later ones send a composite
// with its decomposition; these send a custom call with none, so it is made here:
//
//   mhlo.topk {k, largest}: a stable sort along the last dimension with the positions, the first k
//
// The elementwise ones (mhlo.erf, mhlo.acos ...) have no equal in StableHLO and stay custom calls.

#include "generated/config.h"
#include "program/ir.h"

namespace PJRT_PLUGIN_NS::program {

void LegacyPass(Module& module);

}  // namespace PJRT_PLUGIN_NS::program

#endif  // PROGRAM_PASS_LEGACY_H_
