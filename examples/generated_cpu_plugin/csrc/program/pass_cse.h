#ifndef PROGRAM_PASS_CSE_H_
#define PROGRAM_PASS_CSE_H_

// Ops that compute the same from the same → the first of them. Ops with regions, with side effects
// and optimization_barrier, which is there to keep equal things apart, are left alone. Branches and
// loops may come to use values from around them, but no constants; other regions stay functions of
// their arguments.

#include "generated/config.h"
#include "program/ir.h"

namespace PJRT_PLUGIN_NS::program {

void CsePass(Module& module);

}  // namespace PJRT_PLUGIN_NS::program

#endif  // PROGRAM_PASS_CSE_H_
