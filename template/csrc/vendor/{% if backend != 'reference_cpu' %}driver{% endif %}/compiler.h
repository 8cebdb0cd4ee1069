#ifndef VENDOR_DRIVER_COMPILER_H_
#define VENDOR_DRIVER_COMPILER_H_

// The compiler that there is not yet.

#include <memory>

#include "backend/compiler.h"
#include "generated/config.h"

namespace PJRT_PLUGIN_NS::vendor {

// The StableHLO that programs arrive in. VENDOR: name the newest version that your compiler reads;
// frameworks write older ones too, so raise it when you can, not when they do.
inline constexpr backend::StablehloRange kStablehloVersions = {.oldest = {1, 0, 0},
                                                               .newest = {1, 13, 0}};

// VENDOR: program/read.h turns the bytes of a program into the typed IR of program/ir.h, without
// LLVM; the reference backend of this template shows a compiler on top of it. Then implement
// backend::Executable. Three things must hold:
//   - what you cannot compile is refused here, with UNIMPLEMENTED naming op, types and source
//   location, never when it runs;
//   - compilations run in parallel, and a wrong program is an error, not a crash;
//   - the executable says which parameters may be given away (donated_to_output) and, on several
//   devices, the shardings.
class Compiler final : public backend::Compiler {
 public:
  backend::Result<std::shared_ptr<backend::Executable>> Compile(
      const backend::Program& program, const backend::CompileOptions& options) override;
};

}  // namespace PJRT_PLUGIN_NS::vendor

#endif  // VENDOR_DRIVER_COMPILER_H_
