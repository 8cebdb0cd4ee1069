#ifndef PLUGIN_HOST_COPY_H_
#define PLUGIN_HOST_COPY_H_

// Host arrays as frameworks hand them over, of any byte strides (negative, zero, transposed),
// against the dense arrays of device memory, of any order of dimensions.
//
//   PJRT_PLUGIN_ASSIGN_OR_RETURN(Strides to, LayoutStrides(args.host_layout, shape,
//   "PJRT_Buffer_ToHostBuffer")); CopyStrided(shape.dims, DTypeBytes(shape.dtype), src,
//   DeviceStrides(shape), dst, to);

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/shape.h"
#include "backend/status.h"
#include "generated/config.h"
#include "generated/pjrt_c_api.h"

namespace PJRT_PLUGIN_NS::plugin {

using Strides = std::vector<int64_t>;  // bytes from one index to the next, one a dimension

// Of the dense row-major array, whatever the shape's own layout.
Strides RowMajor(const backend::Shape& shape);

// Of the array as it lies in device memory.
Strides DeviceStrides(const backend::Shape& shape);

// Whether an array with these strides is, byte for byte, the one in device memory. Strides of
// dimensions of size 1 do not matter, and none matter for an array without elements.
bool IsAsOnDevice(const backend::Shape& shape, std::span<const int64_t> strides);

// Whether arrays of the two shapes, layouts included, are byte for byte the same.
inline bool AreSameArrays(const backend::Shape& a, const backend::Shape& b) {
  return a == b || (a.dtype == b.dtype && a.dims == b.dims && IsAsOnDevice(a, DeviceStrides(b)));
}

// INVALID_ARGUMENT for a negative dimension or one byte more than memory can hold. `dims` may be
// null for no dimensions.
backend::Result<backend::Shape> MakeShape(const PJRT_Buffer_Type& type, const int64_t* dims,
                                          size_t num_dims, const char* function);

// "f32[2,3]", for messages; with a layout, unless that is row-major: "f32[2,3]{0,1}".
std::string ShowShape(const backend::Shape& shape);
// Always with the layout: "f32[2,3]{1,0}".
std::string ShowLayout(const backend::Shape& shape);

// The strides that a layout means; null means row-major. UNIMPLEMENTED for tiles.
backend::Result<Strides> LayoutStrides(const PJRT_Buffer_MemoryLayout* layout,
                                       const backend::Shape& shape, const char* function);

// Gives the shape the layout that a caller wants for an array in device memory; null means
// row-major. UNIMPLEMENTED for tiles, and for strides that leave gaps or go backwards.
backend::Status SetLayout(const PJRT_Buffer_MemoryLayout* layout, const char* function,
                          backend::Shape* shape);

// Bytes from the first to the last of an array with these strides, of any signs; INVALID_ARGUMENT
// when that is more than memory can be.
backend::Result<size_t> Extent(const backend::Shape& shape, std::span<const int64_t> strides,
                               const char* function);

// Copies every element. The pointers are those of the element with all indices zero, and the
// strides have an Extent. `src` and `dst` do not overlap. No element of `dst` is at the address of
// another, so a stride of zero is for `src` only.
void CopyStrided(std::span<const int64_t> dims, size_t element_bytes, const void* src,
                 std::span<const int64_t> src_strides, void* dst,
                 std::span<const int64_t> dst_strides);

// A copy of an array as it will lie on the device, for a transfer that must not look at the
// original.
std::shared_ptr<std::byte[]> DenseCopy(const backend::Shape& shape, const void* src,
                                       std::span<const int64_t> src_strides);

}  // namespace PJRT_PLUGIN_NS::plugin

#endif  // PLUGIN_HOST_COPY_H_
