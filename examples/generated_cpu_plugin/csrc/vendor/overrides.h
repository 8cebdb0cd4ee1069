#ifndef VENDOR_OVERRIDES_H_
#define VENDOR_OVERRIDES_H_

// Your answers to single PJRT functions, where the plugin layer's are not what you want. This file
// is yours: no update touches it. A function written here is found before the layer's, which is
// found before the generated default; PJRT_OVERRIDE makes the compiler check that the API has such
// a function.
//
//   struct Api : plugin::Layer {
//     PJRT_OVERRIDE(Device_MemoryStats);
//     static PJRT_Error* Device_MemoryStats(PJRT_Device_MemoryStats_Args* args);   // in
//     overrides.cc
//   };

#include "generated/config.h"
#include "plugin/layer.h"

namespace PJRT_PLUGIN_NS::vendor {

struct Api : plugin::Layer {};

}  // namespace PJRT_PLUGIN_NS::vendor

#endif  // VENDOR_OVERRIDES_H_
