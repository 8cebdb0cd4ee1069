// The one symbol that the library exports.

#include "backend/platform.h"
#include "generated/config.h"
#include "generated/pjrt_c_api.h"
#include "generated/table.h"
#include "plugin/extensions.h"
#include "vendor/overrides.h"

extern "C" PJRT_PLUGIN_EXPORT const PJRT_Api* GetPjrtApi() {
  namespace ns = PJRT_PLUGIN_NS;
  static const PJRT_Api table =
      ns::generated::make_table<ns::vendor::Api>(ns::plugin::Extensions());
  return &table;
}
