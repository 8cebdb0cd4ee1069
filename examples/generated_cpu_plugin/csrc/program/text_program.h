#ifndef PROGRAM_TEXT_PROGRAM_H_
#define PROGRAM_TEXT_PROGRAM_H_

// A program as MLIR prints it in generic form, which is what ToString(Module) writes, into a
// Module.

#include <memory>
#include <string_view>

#include "backend/status.h"
#include "generated/config.h"
#include "program/ir.h"

namespace PJRT_PLUGIN_NS::program {

// Whether the text begins as generic form does, after comments.
bool IsGenericText(std::string_view text);

// Errors as ReadProgram in read.h. Source locations are not kept.
backend::Result<std::unique_ptr<Module>> ReadText(std::string_view text);

}  // namespace PJRT_PLUGIN_NS::program

#endif  // PROGRAM_TEXT_PROGRAM_H_
