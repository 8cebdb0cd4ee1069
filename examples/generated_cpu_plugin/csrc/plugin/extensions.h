#ifndef PLUGIN_EXTENSIONS_H_
#define PLUGIN_EXTENSIONS_H_

// The extensions of the C API that this plugin has. One that is absent is absent gracefully, one
// that is half there is not: list here only what is whole.

#include "generated/config.h"
#include "generated/pjrt_c_api.h"

namespace PJRT_PLUGIN_NS::plugin {

// The first of the chain; lives for ever.
PJRT_Extension_Base* Extensions();

// Fills what every extension begins with. Older versions of the API spell the three members out
// where newer ones have a base: the bytes are the same.
template <typename Extension>
PJRT_Extension_Base* LinkExtension(Extension* extension, PJRT_Extension_Type type,
                                   PJRT_Extension_Base* next) {
  PJRT_Extension_Base* base = reinterpret_cast<PJRT_Extension_Base*>(extension);
  base->struct_size = sizeof(Extension);
  base->type = type;
  base->next = next;
  return base;
}

// Links of the chain, each in a file of its name (the first in ffi_extension.cc). `next` may be
// null.
PJRT_Extension_Base* CustomCallExtension(PJRT_Extension_Base* next);
PJRT_Extension_Base* FfiExtension(PJRT_Extension_Base* next);
PJRT_Extension_Base* LayoutsExtension(PJRT_Extension_Base* next);
PJRT_Extension_Base* MemoryDescriptionsExtension(PJRT_Extension_Base* next);
PJRT_Extension_Base* PhaseCompileExtension(PJRT_Extension_Base* next);
PJRT_Extension_Base* ProfilerExtension(PJRT_Extension_Base* next);
PJRT_Extension_Base* RawBufferExtension(PJRT_Extension_Base* next);
PJRT_Extension_Base* ShardingsExtension(PJRT_Extension_Base* next);
PJRT_Extension_Base* StreamExtension(PJRT_Extension_Base* next);

}  // namespace PJRT_PLUGIN_NS::plugin

#endif  // PLUGIN_EXTENSIONS_H_
