#ifndef PROGRAM_PASS_TOKENS_H_
#define PROGRAM_PASS_TOKENS_H_

// Tokens that main takes and returns, as programs whose effects have an order across executions do
// (jax.debug.print(..., ordered=True)). Executions on a device are in order already, and what a
// framework passes for a token is an array without elements. So main gets
//
//   !stablehlo.token  ->  tensor<0xi1>
//
// for its arguments, whose uses become those of a create_token, and for its results.

#include "generated/config.h"
#include "program/ir.h"

namespace PJRT_PLUGIN_NS::program {

void TokenPass(Module& module);

}  // namespace PJRT_PLUGIN_NS::program

#endif  // PROGRAM_PASS_TOKENS_H_
