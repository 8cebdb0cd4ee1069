#ifndef PROGRAM_READ_H_
#define PROGRAM_READ_H_

// The front end in one call: bytes that a framework sends in, a verified module out.
//
//   PJRT_PLUGIN_ASSIGN_OR_RETURN(auto module, ReadProgram(code));

#include <memory>
#include <string_view>

#include "backend/status.h"
#include "generated/config.h"
#include "program/ir.h"

namespace PJRT_PLUGIN_NS::program {

// The StableHLO version to report to frameworks: every release from jaxlib 0.6 on can write it, and
// nothing that JAX sends is lost at it.
inline constexpr int64_t kStableHloVersion[3] = {1, 13, 0};

// Reads a StableHLO portable artifact (MLIR bytecode) or MLIR text in generic form, and verifies
// it. INVALID_ARGUMENT: neither, truncated or malformed; says at which byte or line. UNIMPLEMENTED:
// an op, type or version that the reader does not know; names it and its source location.
backend::Result<std::unique_ptr<Module>> ReadProgram(std::string_view code);

}  // namespace PJRT_PLUGIN_NS::program

#endif  // PROGRAM_READ_H_
