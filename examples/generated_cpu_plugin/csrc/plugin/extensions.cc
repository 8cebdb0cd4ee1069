#include "plugin/extensions.h"

namespace PJRT_PLUGIN_NS::plugin {

PJRT_Extension_Base* Extensions() {
  static PJRT_Extension_Base* const first = LayoutsExtension(MemoryDescriptionsExtension(
      ProfilerExtension(ShardingsExtension(FfiExtension(CustomCallExtension(nullptr))))));
  return first;
}

}  // namespace PJRT_PLUGIN_NS::plugin
