#ifndef PLUGIN_LAYOUT_H_
#define PLUGIN_LAYOUT_H_

// Layout: how the elements of a device array lie in memory. All arrays of this plugin are
// row-major, so there is one layout a rank, made once and shared by all: destroying one does
// nothing.

#include <cstddef>
#include <string>

#include "generated/config.h"
#include "generated/pjrt_extensions.h"
#include "plugin/handle.h"

namespace PJRT_PLUGIN_NS::plugin {

struct Layout : Handle<Tag::kLayout> {
  explicit Layout(size_t rank);
  // XLA's notation, minor dimension first: "{2,1,0}".
  const std::string text;
};
PJRT_PLUGIN_HANDLE(PJRT_Layouts_MemoryLayout, Layout)

// Null above kMaxRank.
Layout* RowMajorLayout(size_t rank);
inline constexpr size_t kMaxRank = 64;

}  // namespace PJRT_PLUGIN_NS::plugin

#endif  // PLUGIN_LAYOUT_H_
