#ifndef PROGRAM_PASS_STATIC_H_
#define PROGRAM_PASS_STATIC_H_

// Ops that are another one said differently → that one:
//
//   dynamic_conv, dynamic_gather, dynamic_pad, real_dynamic_slice, whose sizes are constants, and
//   dynamic_broadcast_in_dim, dynamic_iota, dynamic_reshape, set_dimension_size: the static op
//   dot, torch_index_select: dot_general, gather
//
// Shapes are static once a program is verified, so only the operands that repeat them are in the
// way; they are constants after SimplifyPass wherever the framework knew them.

#include "generated/config.h"
#include "program/ir.h"

namespace PJRT_PLUGIN_NS::program {

// Whether anything changed. Nobody has held the old op against its operands, so Verify has to see
// what became of it before any other pass does.
bool StaticPass(Module& module);

}  // namespace PJRT_PLUGIN_NS::program

#endif  // PROGRAM_PASS_STATIC_H_
