#ifndef PROGRAM_VERIFY_FUNCTION_H_
#define PROGRAM_VERIFY_FUNCTION_H_

// What frameworks write at a function's arguments and results: donation, memory kinds, shardings.

#include "backend/status.h"
#include "generated/config.h"
#include "program/ir.h"

namespace PJRT_PLUGIN_NS::program {

// INVALID_ARGUMENT for an attribute that consumers read and that has another form than they expect:
// tf.aliasing_output names a result, and no two arguments the same one; jax.buffer_donor is a
// boolean; memory kinds are texts; sdy.sharding is a sharding. Attributes of other names are
// anyone's own. Wants one list for each argument and result.
backend::Status CheckFunctionAttributes(const Function& function);

}  // namespace PJRT_PLUGIN_NS::program

#endif  // PROGRAM_VERIFY_FUNCTION_H_
