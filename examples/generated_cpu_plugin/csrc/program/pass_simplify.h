#ifndef PROGRAM_PASS_SIMPLIFY_H_
#define PROGRAM_PASS_SIMPLIFY_H_

// Ops → simpler ones with the same results, bit by bit (a NaN may become another NaN): identities,
// moves that move nothing or undo each other, branches on constants, small integer computations on
// constants.

#include "generated/config.h"
#include "program/ir.h"

namespace PJRT_PLUGIN_NS::program {

void SimplifyPass(Module& module);

}  // namespace PJRT_PLUGIN_NS::program

#endif  // PROGRAM_PASS_SIMPLIFY_H_
