#ifndef PROGRAM_PASS_INLINE_H_
#define PROGRAM_PASS_INLINE_H_

// Calls and composites → the ops of the functions that they run; functions that nothing runs any
// more go.

#include <set>
#include <string>

#include "backend/status.h"
#include "generated/config.h"
#include "program/ir.h"

namespace PJRT_PLUGIN_NS::program {

// Composites with a name in `kept` stay, with their decompositions: a backend may know them
// ("chlo.top_k"). RESOURCE_EXHAUSTED when the program would grow beyond a million ops or 400
// regions in one another.
backend::Status InlinePass(Module& module, const std::set<std::string, std::less<>>& kept = {});

}  // namespace PJRT_PLUGIN_NS::program

#endif  // PROGRAM_PASS_INLINE_H_
