#ifndef PROGRAM_CALL_GRAPH_H_
#define PROGRAM_CALL_GRAPH_H_

// Which function calls which: by call, composite, or as a called computation of a custom call.

#include <string_view>
#include <vector>

#include "generated/config.h"
#include "program/ir.h"

namespace PJRT_PLUGIN_NS::program {

// The name of the function that a call or composite runs.
std::string_view CalleeOf(const Op& op);

// The module's functions, each after those that it calls. Functions that call themselves, directly
// or through others, are missing, and so are those that call them.
std::vector<Function*> CalleesFirst(const Module& module);

}  // namespace PJRT_PLUGIN_NS::program

#endif  // PROGRAM_CALL_GRAPH_H_
