#include "plugin/extensions.h"

#include <initializer_list>

namespace PJRT_PLUGIN_NS::plugin {

PJRT_Extension_Base* Extensions() {
  static PJRT_Extension_Base* const first = [] {
    PJRT_Extension_Base* chain = nullptr;
    for (auto* link : {StreamExtension, PhaseCompileExtension, RawBufferExtension,
                       CustomCallExtension, FfiExtension, ShardingsExtension, ProfilerExtension,
                       MemoryDescriptionsExtension, LayoutsExtension}) {
      chain = link(chain);
    }
    return chain;
  }();
  return first;
}

}  // namespace PJRT_PLUGIN_NS::plugin
