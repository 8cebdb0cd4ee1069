#include "plugin/host_copy.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "backend/layout.h"
#include "plugin/dtype.h"
#include "plugin/error.h"
#include "plugin/handle.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

using backend::InvalidArgument;
using backend::Result;
using backend::Shape;
using backend::Status;

struct Dim {
  int64_t size;
  int64_t src;
  int64_t dst;
};

std::string Show(std::span<const int64_t> values) {
  std::string text = "[";
  for (size_t i = 0; i < values.size(); ++i)
    text += (i == 0 ? "" : ",") + std::to_string(values[i]);
  return text + "]";
}

// The dimensions that matter, outermost first: those of size 1 dropped, neighbours that are one run
// of memory on both sides joined, the destination's order first so that writes are sequential.
std::vector<Dim> Plan(std::span<const int64_t> dims, std::span<const int64_t> src,
                      std::span<const int64_t> dst) {
  std::vector<Dim> plan;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] != 1) plan.push_back({dims[i], src[i], dst[i]});
  }
  std::stable_sort(plan.begin(), plan.end(),
                   [](const Dim& a, const Dim& b) { return std::abs(a.dst) > std::abs(b.dst); });
  std::vector<Dim> joined;
  for (const Dim& dim : plan) {
    if (!joined.empty() && joined.back().src == dim.src * dim.size &&
        joined.back().dst == dim.dst * dim.size) {
      joined.back() = {joined.back().size * dim.size, dim.src, dim.dst};
    } else {
      joined.push_back(dim);
    }
  }
  return joined;
}

template <size_t kBytes>
void CopyRow(const std::byte* src, int64_t src_stride, std::byte* dst, int64_t dst_stride,
             int64_t size) {
  for (int64_t i = 0; i < size; ++i)
    std::memcpy(dst + i * dst_stride, src + i * src_stride, kBytes);
}

using RowCopy = void (*)(const std::byte*, int64_t, std::byte*, int64_t, int64_t);

RowCopy ChooseRowCopy(size_t element_bytes) {
  switch (element_bytes) {
    case 1:
      return CopyRow<1>;
    case 2:
      return CopyRow<2>;
    case 4:
      return CopyRow<4>;
    case 8:
      return CopyRow<8>;
    default:
      return CopyRow<16>;
  }
}

// Small squares of a transposition stay in the cache, whichever side runs across the lines.
constexpr int64_t kSquare = 32;

void CopySquares(const Dim& outer, const Dim& inner, RowCopy copy_row, const std::byte* src,
                 std::byte* dst) {
  for (int64_t i = 0; i < outer.size; i += kSquare) {
    for (int64_t j = 0; j < inner.size; j += kSquare) {
      const int64_t columns = std::min(kSquare, inner.size - j);
      for (int64_t row = i; row < std::min(i + kSquare, outer.size); ++row) {
        copy_row(src + row * outer.src + j * inner.src, inner.src,
                 dst + row * outer.dst + j * inner.dst, inner.dst, columns);
      }
    }
  }
}

void CopyPlanned(std::span<const Dim> plan, size_t element_bytes, RowCopy copy_row,
                 const std::byte* src, std::byte* dst) {
  const bool contiguous =
      plan.back().src == int64_t(element_bytes) && plan.back().dst == int64_t(element_bytes);
  if (plan.size() == 1) {
    if (contiguous) {
      std::memcpy(dst, src, plan[0].size * element_bytes);
    } else {
      copy_row(src, plan[0].src, dst, plan[0].dst, plan[0].size);
    }
    return;
  }
  if (plan.size() == 2 && !contiguous) {
    CopySquares(plan[0], plan[1], copy_row, src, dst);
    return;
  }
  for (int64_t i = 0; i < plan[0].size; ++i) {
    CopyPlanned(plan.subspan(1), element_bytes, copy_row, src + i * plan[0].src,
                dst + i * plan[0].dst);
  }
}

// The dimension that lies `i`th in memory, counted from the fastest.
size_t MinorDim(const Shape& shape, size_t i) {
  return shape.minor_to_major.empty() ? shape.dims.size() - 1 - i : size_t(shape.minor_to_major[i]);
}

// The layout in its only spelling.
void SetOrder(std::vector<int64_t> minor_to_major, Shape* shape) {
  if (backend::IsRowMajor(minor_to_major)) minor_to_major.clear();
  shape->minor_to_major = std::move(minor_to_major);
}

// Half of what an integer holds, so that the product of a stride and a dimension is one too.
constexpr int64_t kMaxExtent = std::numeric_limits<int64_t>::max() / 2;

}  // namespace

Strides RowMajor(const Shape& shape) { return DeviceStrides(Shape{shape.dtype, shape.dims}); }

Strides DeviceStrides(const Shape& shape) {
  Strides strides(shape.dims.size());
  int64_t stride = int64_t(DTypeBytes(shape.dtype));
  for (size_t i = 0; i < strides.size(); ++i) {
    const size_t dim = MinorDim(shape, i);
    strides[dim] = stride;
    stride *= std::max<int64_t>(shape.dims[dim], 1);
  }
  return strides;
}

bool IsAsOnDevice(const Shape& shape, std::span<const int64_t> strides) {
  int64_t stride = int64_t(DTypeBytes(shape.dtype));
  bool dense = true;
  for (size_t i = 0; i < shape.dims.size(); ++i) {
    const size_t dim = MinorDim(shape, i);
    if (shape.dims[dim] == 0) return true;
    if (shape.dims[dim] != 1 && strides[dim] != stride) dense = false;
    stride *= shape.dims[dim];
  }
  return dense;
}

Result<Shape> MakeShape(const PJRT_Buffer_Type& type, const int64_t* dims, size_t num_dims,
                        const char* function) {
  PJRT_PLUGIN_ASSIGN_OR_RETURN(const backend::DType dtype, ToDType(type, function));
  if (dims == nullptr && num_dims != 0) {
    return InvalidArgument(std::string(function) + ": num_dims is " + std::to_string(num_dims) +
                           " but dims is null");
  }
  Shape shape{dtype, std::vector<int64_t>(dims, dims + num_dims)};
  int64_t bytes = int64_t(DTypeBytes(dtype));
  for (int64_t dim : shape.dims) {
    if (dim < 0) {
      return InvalidArgument(std::string(function) + ": the dimensions are " + Show(shape.dims) +
                             "; none may be negative");
    }
    if (dim > 0 && bytes > std::numeric_limits<int64_t>::max() / dim) {
      return InvalidArgument(std::string(function) + ": an array of dimensions " +
                             Show(shape.dims) + " is larger than memory can be");
    }
    if (dim > 0) bytes *= dim;
  }
  return shape;
}

std::string ShowShape(const Shape& shape) {
  return shape.minor_to_major.empty() ? std::string(DTypeName(shape.dtype)) + Show(shape.dims)
                                      : ShowLayout(shape);
}

std::string ShowLayout(const Shape& shape) {
  std::string text = std::string(DTypeName(shape.dtype)) + Show(shape.dims) + "{";
  for (size_t i = 0; i < shape.dims.size(); ++i) {
    text += (i == 0 ? "" : ",") + std::to_string(MinorDim(shape, i));
  }
  return text + "}";
}

Result<Strides> LayoutStrides(const PJRT_Buffer_MemoryLayout* layout, const Shape& shape,
                              const char* function) {
  // Callers leave struct_size and the extensions of layouts unset: only the type and its members
  // count.
  if (layout == nullptr) return RowMajor(shape);
  if (Raw(layout->type) == int(PJRT_Buffer_MemoryLayout_Type_Tiled)) {
    if (layout->tiled.num_tiles != 0) {
      return backend::Unimplemented(std::string(function) + ": the layout has " +
                                    std::to_string(layout->tiled.num_tiles) +
                                    " tiles; this plugin keeps arrays dense, in any order of " +
                                    "dimensions but without tiles: leave num_tiles 0");
    }
    const size_t given = layout->tiled.minor_to_major_size;
    PJRT_PLUGIN_RETURN_IF_ERROR(CheckPointer(layout->tiled.minor_to_major, given * sizeof(int64_t),
                                             "minor_to_major of the layout", function));
    Shape dense = {shape.dtype, shape.dims};
    dense.minor_to_major.assign(layout->tiled.minor_to_major, layout->tiled.minor_to_major + given);
    if (backend::IsLayout(dense.minor_to_major, shape.dims.size())) return DeviceStrides(dense);
    return InvalidArgument(std::string(function) + ": minor_to_major is " +
                           Show(dense.minor_to_major) + "; it must name each of the " +
                           std::to_string(shape.dims.size()) + " dimensions once");
  }
  if (Raw(layout->type) != int(PJRT_Buffer_MemoryLayout_Type_Strides)) {
    return InvalidArgument(std::string(function) + ": the layout's type is " +
                           std::to_string(Raw(layout->type)) +
                           "; 0 (tiled) and 1 (strides) are known");
  }
  const size_t given = layout->strides.num_byte_strides;
  if (given != shape.dims.size()) {
    return InvalidArgument(std::string(function) + ": the layout has " + std::to_string(given) +
                           " strides for " + std::to_string(shape.dims.size()) + " dimensions");
  }
  PJRT_PLUGIN_RETURN_IF_ERROR(CheckPointer(layout->strides.byte_strides, given * sizeof(int64_t),
                                           "byte_strides of the layout", function));
  return Strides(layout->strides.byte_strides, layout->strides.byte_strides + given);
}

Status SetLayout(const PJRT_Buffer_MemoryLayout* layout, const char* function, Shape* shape) {
  if (layout == nullptr) return Status();
  PJRT_PLUGIN_ASSIGN_OR_RETURN(const Strides strides, LayoutStrides(layout, *shape, function));
  if (Raw(layout->type) == int(PJRT_Buffer_MemoryLayout_Type_Tiled)) {
    const int64_t* order = layout->tiled.minor_to_major;
    SetOrder({order, order + strides.size()}, shape);
    return Status();
  }
  shape->minor_to_major.clear();
  if (IsAsOnDevice(*shape, strides)) return Status();
  // Of equal strides those of dimensions of size 1, which do not matter, come first.
  std::vector<int64_t> order = backend::RowMajorLayout(strides.size());
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return std::pair(strides[a], shape->dims[a] != 1) < std::pair(strides[b], shape->dims[b] != 1);
  });
  SetOrder(std::move(order), shape);
  if (IsAsOnDevice(*shape, strides)) return Status();
  shape->minor_to_major.clear();
  return backend::Unimplemented(std::string(function) + ": the device layout has strides " +
                                Show(strides) + " for " + ShowShape(*shape) +
                                "; this plugin keeps arrays dense, in any order of dimensions: " +
                                "row-major is " + Show(RowMajor(*shape)));
}

Result<size_t> Extent(const Shape& shape, std::span<const int64_t> strides, const char* function) {
  if (std::ranges::find(shape.dims, 0) != shape.dims.end()) return size_t{0};
  int64_t extent = int64_t(DTypeBytes(shape.dtype));
  for (size_t i = 0; i < shape.dims.size(); ++i) {
    const int64_t steps = shape.dims[i] - 1;
    int64_t reach = 0;
    if (__builtin_mul_overflow(steps, steps == 0 ? 0 : strides[i], &reach) || reach < -kMaxExtent ||
        reach > kMaxExtent || extent > kMaxExtent - std::abs(reach)) {
      return InvalidArgument(std::string(function) + ": with strides " + Show(strides) +
                             " an array of dimensions " + Show(shape.dims) +
                             " reaches beyond what memory can be");
    }
    extent += std::abs(reach);
  }
  return size_t(extent);
}

void CopyStrided(std::span<const int64_t> dims, size_t element_bytes, const void* src,
                 std::span<const int64_t> src_strides, void* dst,
                 std::span<const int64_t> dst_strides) {
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return;
  const std::vector<Dim> plan = Plan(dims, src_strides, dst_strides);
  if (plan.empty()) {
    std::memcpy(dst, src, element_bytes);
    return;
  }
  CopyPlanned(plan, element_bytes, ChooseRowCopy(element_bytes), static_cast<const std::byte*>(src),
              static_cast<std::byte*>(dst));
}

std::shared_ptr<std::byte[]> DenseCopy(const Shape& shape, const void* src,
                                       std::span<const int64_t> src_strides) {
  std::shared_ptr<std::byte[]> copy(new std::byte[shape.byte_size()]);
  CopyStrided(shape.dims, DTypeBytes(shape.dtype), src, src_strides, copy.get(),
              DeviceStrides(shape));
  return copy;
}

}  // namespace PJRT_PLUGIN_NS::plugin
