#ifndef PROGRAM_BYTECODE_IR_H_
#define PROGRAM_BYTECODE_IR_H_

// From an MLIR bytecode file that holds a StableHLO portable artifact to a Module. What it gives is
// well formed as far as memory goes (every operand is a value defined before); whether the program
// makes sense is for verify.h.
//
//   PJRT_PLUGIN_ASSIGN_OR_RETURN(auto module, ReadBytecode(code));

#include <memory>
#include <string_view>

#include "backend/status.h"
#include "generated/config.h"
#include "program/ir.h"

namespace PJRT_PLUGIN_NS::program {

// Errors as ReadProgram in read.h.
backend::Result<std::unique_ptr<Module>> ReadBytecode(std::string_view code);

}  // namespace PJRT_PLUGIN_NS::program

#endif  // PROGRAM_BYTECODE_IR_H_
