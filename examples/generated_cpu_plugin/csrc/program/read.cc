#include "program/read.h"

#include "program/bytecode_container.h"
#include "program/bytecode_ir.h"
#include "program/text_program.h"
#include "program/verify.h"

namespace PJRT_PLUGIN_NS::program {

backend::Result<std::unique_ptr<Module>> ReadProgram(std::string_view code) {
  if (!IsBytecode(code) && !IsProgramText(code)) {
    return backend::Unimplemented(
        "the program is neither MLIR bytecode nor MLIR text; send a StableHLO portable artifact, "
        "as "
        "frameworks do that ask for the plugin's stablehlo_current_version, or StableHLO as text, "
        "which begins with \"module\"");
  }
  auto module = IsBytecode(code) ? ReadBytecode(code) : ReadText(code);
  if (!module.ok()) return module.status();
  PJRT_PLUGIN_RETURN_IF_ERROR(Verify(**module));
  return module;
}

}  // namespace PJRT_PLUGIN_NS::program
