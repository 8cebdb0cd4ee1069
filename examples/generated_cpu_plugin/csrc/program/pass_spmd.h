#ifndef PROGRAM_PASS_SPMD_H_
#define PROGRAM_PASS_SPMD_H_

// Programs of several devices in one form, whichever partitioner the framework wrote them for.
//
// Shardy's frameworks send sdy.sharding, sdy.sharding_constraint and sdy.manual_computation, the
// first of them as text in mhlo.frontend_attributes; GSPMD's, up to 2025, send mhlo.sharding and
// custom calls. Afterwards
//   - arguments and results of main that are split have an attribute sdy.sharding;
//   - constraints are gone: they ask for no other values;
//   - a computation that each device makes on its part stands among the others. Its values come
//     from custom calls SPMDFullToShardShape, from the whole to this device's part, and leave by
//     SPMDShardToFullShape, the other way, each with the attribute sdy.sharding of the whole
//     (nothing: all of it everywhere).

#include "backend/status.h"
#include "generated/config.h"
#include "program/ir.h"

namespace PJRT_PLUGIN_NS::program {

inline constexpr char kFullToShard[] = "SPMDFullToShardShape";
inline constexpr char kShardToFull[] = "SPMDShardToFullShape";

// Before InlinePass: some shardings stand at calls. INVALID_ARGUMENT for one that is not
// understood.
backend::Status SpmdPass(Module& module);

// The sharding that the argument, result or op of one result has by its attribute sdy.sharding;
// null: none.
const Sharding* FindSharding(const AttributeList& attributes);

// Takes away what only frameworks that know Shardy can read. Printed then, the module converts to
// HLO in every framework.
void DropShardings(Module& module);

}  // namespace PJRT_PLUGIN_NS::program

#endif  // PROGRAM_PASS_SPMD_H_
