#include "vendor/driver/compiler.h"

#include <string>

namespace PJRT_PLUGIN_NS::vendor {

backend::Result<std::shared_ptr<backend::Executable>> Compiler::Compile(
    const backend::Program& program, const backend::CompileOptions&) {
  return backend::Unimplemented("the " + std::string(kPlatformName) +
                                " plugin has no compiler yet: it lists devices and moves arrays, "
                                "but cannot run programs (this "
                                "one has " +
                                std::to_string(program.code.size()) + " bytes of " +
                                std::string(program.format) +
                                "); write one in csrc/vendor/driver/compiler.cc");
}

}  // namespace PJRT_PLUGIN_NS::vendor
