// PJRT_Buffer_GetMemoryLayout: the layout of a buffer as a struct, which older frameworks ask for
// where newer ones use the layouts extension.

#include <string>

#include "plugin/buffer.h"
#include "plugin/layer.h"
#include "plugin/layout.h"

namespace PJRT_PLUGIN_NS::plugin {

PJRT_Error* Layer::Buffer_GetMemoryLayout(PJRT_Buffer_GetMemoryLayout_Args* args) {
  const backend::Shape& shape = FromC(args->buffer)->shape;
  const Layout* layout = LayoutOf(shape);
  if (layout == nullptr) {
    return MakeError(Unimplemented("PJRT_Buffer_GetMemoryLayout: the array has rank " +
                                   std::to_string(shape.dims.size()) + ", more than " +
                                   std::to_string(kMaxRank)));
  }
  args->layout = {};
  args->layout.struct_size = sizeof(args->layout);
  args->layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
  args->layout.tiled.struct_size = sizeof(args->layout.tiled);
  args->layout.tiled.minor_to_major = layout->minor_to_major.data();
  args->layout.tiled.minor_to_major_size = layout->minor_to_major.size();
  return nullptr;
}

}  // namespace PJRT_PLUGIN_NS::plugin
