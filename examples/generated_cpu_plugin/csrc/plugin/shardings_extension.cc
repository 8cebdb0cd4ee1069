// The Shardings extension: how parameters and outputs lie on the devices of a program. With several
// devices frameworks need it for every output whose sharding they leave to the compiler.

#include "generated/features.h"
#include "generated/guard.h"
#include "generated/pjrt_extensions.h"
#include "plugin/executable.h"
#include "plugin/extensions.h"

namespace PJRT_PLUGIN_NS::plugin {

#if PJRT_SCAFFOLD_HAS_PJRT_Shardings_Extension
namespace {

// Null: not known.
const char* const* ListOrNull(const StringList& list) {
  return list.data.empty() ? nullptr : list.data.data();
}

PJRT_Error* ShardingsOfParameters(PJRT_Shardings_PJRT_Executable_ParameterShardings_Args* args) {
  const CompiledProgram& program = *FromC(args->executable)->program;
  args->num_parameters = program.info().parameters.size();
  args->shardings = ListOrNull(program.parameter_shardings);
  args->sharding_sizes = program.parameter_shardings.sizes.data();
  return nullptr;
}

PJRT_Error* ShardingsOfOutputs(PJRT_Shardings_PJRT_Executable_OutputShardings_Args* args) {
  const CompiledProgram& program = *FromC(args->executable)->program;
  args->num_outputs = program.info().outputs.size();
  args->shardings = ListOrNull(program.output_shardings);
  args->sharding_sizes = program.output_shardings.sizes.data();
  return nullptr;
}

}  // namespace

PJRT_Extension_Base* ShardingsExtension(PJRT_Extension_Base* next) {
  using generated::Guard;
  static PJRT_Shardings_Extension extension = {};
  extension.PJRT_Shardings_PJRT_Executable_ParameterShardings =
      &Guard<&ShardingsOfParameters>::Call;
  extension.PJRT_Shardings_PJRT_Executable_OutputShardings = &Guard<&ShardingsOfOutputs>::Call;
  return LinkExtension(&extension, PJRT_Extension_Type_Shardings, next);
}
#else
PJRT_Extension_Base* ShardingsExtension(PJRT_Extension_Base* next) { return next; }
#endif

}  // namespace PJRT_PLUGIN_NS::plugin
