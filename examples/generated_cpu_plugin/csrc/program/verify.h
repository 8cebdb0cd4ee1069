#ifndef PROGRAM_VERIFY_H_
#define PROGRAM_VERIFY_H_

// Holds a module against the specification, so that passes and backends may index into it without
// fear.
//
//   PJRT_PLUGIN_RETURN_IF_ERROR(Verify(module));

#include "backend/status.h"
#include "generated/config.h"
#include "program/ir.h"

namespace PJRT_PLUGIN_NS::program {

// INVALID_ARGUMENT names the op, its types, its location and what is wrong; UNIMPLEMENTED what is
// right but not taken: shapes known only at run time, computations that change the element type.
// After OK:
//   - there is a function main; names of functions are unique; calls name functions that exist and
//   fit, and never
//     themselves, directly or indirectly
//   - every op has the operands, results, regions and attributes that ops.inc declares, attributes
//   of that kind
//   - every block ends in the one kReturn it has, and every value used is defined before, in the
//   block or around it
//   - types are those that the specification demands of the op's operands and attributes
backend::Status Verify(const Module& module);

}  // namespace PJRT_PLUGIN_NS::program

#endif  // PROGRAM_VERIFY_H_
