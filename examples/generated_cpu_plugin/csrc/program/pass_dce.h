#ifndef PROGRAM_PASS_DCE_H_
#define PROGRAM_PASS_DCE_H_

// Ops whose results nothing uses → gone, unless they have side effects.

#include "generated/config.h"
#include "program/ir.h"

namespace PJRT_PLUGIN_NS::program {

void DcePass(Module& module);

}  // namespace PJRT_PLUGIN_NS::program

#endif  // PROGRAM_PASS_DCE_H_
