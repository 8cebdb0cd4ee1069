// PJRT_Buffer_GetMemoryLayout: the layout of a buffer as a struct, which older frameworks ask for
// where newer ones use the layouts extension.

#include <array>
#include <cstdint>
#include <string>

#include "plugin/buffer.h"
#include "plugin/layer.h"
#include "plugin/layout.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

// kMaxRank - 1, ..., 1, 0: the last `rank` of them are the dimensions of a row-major array, the
// fastest first.
constexpr std::array<int64_t, kMaxRank> kMinorToMajor = [] {
  std::array<int64_t, kMaxRank> dims = {};
  for (size_t i = 0; i < kMaxRank; ++i) dims[i] = int64_t(kMaxRank - 1 - i);
  return dims;
}();

}  // namespace

PJRT_Error* Layer::Buffer_GetMemoryLayout(PJRT_Buffer_GetMemoryLayout_Args* args) {
  const size_t rank = FromC(args->buffer)->shape.dims.size();
  if (rank > kMaxRank) {
    return MakeError(Unimplemented("PJRT_Buffer_GetMemoryLayout: the array has rank " +
                                   std::to_string(rank) + ", more than " +
                                   std::to_string(kMaxRank)));
  }
  args->layout = {};
  args->layout.struct_size = sizeof(args->layout);
  args->layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
  args->layout.tiled.struct_size = sizeof(args->layout.tiled);
  args->layout.tiled.minor_to_major = kMinorToMajor.data() + (kMaxRank - rank);
  args->layout.tiled.minor_to_major_size = rank;
  return nullptr;
}

}  // namespace PJRT_PLUGIN_NS::plugin
