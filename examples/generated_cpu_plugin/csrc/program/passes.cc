#include "program/passes.h"

#include "program/pass_cse.h"
#include "program/pass_dce.h"
#include "program/pass_inline.h"
#include "program/pass_layout.h"
#include "program/pass_legacy.h"
#include "program/pass_simplify.h"
#include "program/pass_spmd.h"
#include "program/pass_static.h"
#include "program/pass_tokens.h"
#include "program/verify.h"

namespace PJRT_PLUGIN_NS::program {

backend::Status RunPasses(Module& module, const PassOptions& options) {
  TokenPass(module);
  PJRT_PLUGIN_RETURN_IF_ERROR(SpmdPass(module));
  PJRT_PLUGIN_RETURN_IF_ERROR(InlinePass(module, options.kept_composites));
  PJRT_PLUGIN_RETURN_IF_ERROR(LayoutPass(module));
  LegacyPass(module);
  SimplifyPass(module);
  if (StaticPass(module)) {
    PJRT_PLUGIN_RETURN_IF_ERROR(Verify(module));
    SimplifyPass(module);
  }
  CsePass(module);
  SimplifyPass(module);  // x - x and select(p, x, x) show only when equal values are one
  DcePass(module);
  return {};
}

}  // namespace PJRT_PLUGIN_NS::program
