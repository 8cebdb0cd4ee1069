#ifndef PROGRAM_TEXT_PROGRAM_H_
#define PROGRAM_TEXT_PROGRAM_H_

// A program as MLIR prints it into a Module: in the form that each operation has of its own, in
// generic form, which is what ToString(Module) writes, or in both mixed.
//
//   module @m {
//     func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> {
//       %0 = stablehlo.add %a, %a : tensor<4xf32>
//       return %0 : tensor<4xf32>
//     }
//   }

#include <memory>
#include <string_view>

#include "backend/status.h"
#include "generated/config.h"
#include "program/ir.h"

namespace PJRT_PLUGIN_NS::program {

// Whether the text begins, after comments, as a module, a function or an alias does.
bool IsProgramText(std::string_view text);

// Errors as ReadProgram in read.h: they name the line of the text.
backend::Result<std::unique_ptr<Module>> ReadText(std::string_view text);

}  // namespace PJRT_PLUGIN_NS::program

#endif  // PROGRAM_TEXT_PROGRAM_H_
