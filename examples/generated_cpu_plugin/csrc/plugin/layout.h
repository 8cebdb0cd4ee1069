#ifndef PLUGIN_LAYOUT_H_
#define PLUGIN_LAYOUT_H_

// Layout: in which order the elements of a device array lie in memory. There is one object a
// layout, made when it is first asked for and shared by all: destroying one does nothing.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "backend/shape.h"
#include "generated/config.h"
#include "generated/pjrt_extensions.h"
#include "plugin/handle.h"

namespace PJRT_PLUGIN_NS::plugin {

struct Layout : Handle<Tag::kLayout> {
  explicit Layout(std::vector<int64_t> minor_to_major);
  const std::vector<int64_t> minor_to_major;
  const std::string text;  // XLA's notation: "{2,1,0}"
};
PJRT_PLUGIN_HANDLE(PJRT_Layouts_MemoryLayout, Layout)

// All null above kMaxRank.
Layout* RowMajorLayout(size_t rank);
Layout* LayoutOf(const backend::Shape& shape);
inline constexpr size_t kMaxRank = 64;

}  // namespace PJRT_PLUGIN_NS::plugin

#endif  // PLUGIN_LAYOUT_H_
