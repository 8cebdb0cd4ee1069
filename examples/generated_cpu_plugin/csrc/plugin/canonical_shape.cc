// PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace: the shape that an array has in a
// memory, as the ShapeProto of XLA.

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "backend/layout.h"
#include "plugin/host_copy.h"
#include "plugin/layer.h"
#include "plugin/proto.h"
#include "plugin/topology.h"

#if PJRT_SCAFFOLD_HAS_PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace

namespace PJRT_PLUGIN_NS::plugin {
namespace {

// PrimitiveType of xla_data.proto.
int ToPrimitiveType(backend::DType dtype) {
  using enum backend::DType;
  switch (dtype) {
    case kPred:
      return 1;
    case kS1:
      return 30;
    case kS2:
      return 26;
    case kS4:
      return 21;
    case kS8:
      return 2;
    case kS16:
      return 3;
    case kS32:
      return 4;
    case kS64:
      return 5;
    case kU1:
      return 31;
    case kU2:
      return 27;
    case kU4:
      return 22;
    case kU8:
      return 6;
    case kU16:
      return 7;
    case kU32:
      return 8;
    case kU64:
      return 9;
    case kF4E2M1FN:
      return 32;
    case kF6E2M3FN:
      return 36;
    case kF6E3M2FN:
      return 35;
    case kF8E3M4:
      return 29;
    case kF8E4M3:
      return 28;
    case kF8E4M3FN:
      return 20;
    case kF8E4M3FNUZ:
      return 25;
    case kF8E4M3B11FNUZ:
      return 23;
    case kF8E5M2:
      return 19;
    case kF8E5M2FNUZ:
      return 24;
    case kF8E8M0FNU:
      return 33;
    case kBF16:
      return 16;
    case kF16:
      return 10;
    case kF32:
      return 11;
    case kF64:
      return 12;
    case kC64:
      return 15;
    case kC128:
      return 18;
  }
  return 0;  // PRIMITIVE_TYPE_INVALID
}

// ShapeProto: element_type 2, dimensions 3, layout 5 with minor_to_major 1, is_dynamic_dimension 6.
std::string WriteShape(const backend::Shape& shape) {
  std::vector<int64_t> minor_to_major = shape.minor_to_major;
  if (minor_to_major.empty()) minor_to_major = backend::RowMajorLayout(shape.dims.size());
  std::string layout;
  PutPacked(1, minor_to_major, &layout);
  std::string out;
  PutVarint(2, ToPrimitiveType(shape.dtype), &out);
  PutPacked(3, shape.dims, &out);
  PutBytes(5, layout, &out);
  PutPacked(6, std::vector<int64_t>(shape.dims.size(), 0), &out);
  return out;
}

}  // namespace

PJRT_Error* Layer::TopologyDescription_MakeCanonicalShapeForMemorySpace(
    PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace_Args* args) {
  constexpr char kFunction[] = "PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace";
  const std::vector<int>& kinds = FromC(args->topology)->memory_kind_ids;
  if (std::ranges::find(kinds, args->memory_space_kind_id) == kinds.end()) {
    return MakeError(InvalidArgument(
        std::string(kFunction) + ": no memory of the topology is of kind " +
        std::to_string(args->memory_space_kind_id) + "; ask for the kinds that there are with " +
        "PJRT_TopologyDescription_GetMemorySpaceKindIds"));
  }
  PJRT_PLUGIN_ASSIGN_OR_RETURN_C(
      backend::Shape shape, MakeShape(args->element_type, args->dims, args->num_dims, kFunction));
  PJRT_PLUGIN_RETURN_IF_C_ERROR(SetLayout(args->layout, kFunction, &shape));
  const std::string proto = WriteShape(shape);
  char* const bytes = new char[proto.size()];
  proto.copy(bytes, proto.size());
  args->serialized_shape = bytes;
  args->serialized_shape_size = proto.size();
  args->serialized_shape_deleter = [](const char* given) { delete[] given; };
  return nullptr;
}

}  // namespace PJRT_PLUGIN_NS::plugin

#endif
