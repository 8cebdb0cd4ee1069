#ifndef PROGRAM_PASSES_H_
#define PROGRAM_PASSES_H_

// What every backend wants done to a program before it compiles it: calls inlined, arguments and
// results that are tokens made empty arrays, those of other layouts row-major, the forms of older
// frameworks and of dynamic shapes brought to one, constants folded, ops simplified, equal ones
// merged, dead ones removed. In time linear in the size of the program.
//
//   PJRT_PLUGIN_ASSIGN_OR_RETURN(auto module, ReadProgram(code));
//   PJRT_PLUGIN_RETURN_IF_ERROR(RunPasses(*module));

#include <functional>
#include <set>
#include <string>

#include "backend/status.h"
#include "generated/config.h"
#include "program/ir.h"

namespace PJRT_PLUGIN_NS::program {

struct PassOptions {
  // Composites that the backend runs by their names ("chlo.top_k") rather than by their
  // decompositions.
  std::set<std::string, std::less<>> kept_composites;
};

// For a module that Verify accepts; it accepts the result too. Errors as InlinePass, LayoutPass and
// SpmdPass, whose headers say what main and programs of several devices look like afterwards, and
// as Verify for ops that it checks only in the form that StaticPass gives them.
backend::Status RunPasses(Module& module, const PassOptions& options = {});

}  // namespace PJRT_PLUGIN_NS::program

#endif  // PROGRAM_PASSES_H_
