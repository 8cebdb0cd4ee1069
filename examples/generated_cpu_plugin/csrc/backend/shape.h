#ifndef BACKEND_SHAPE_H_
#define BACKEND_SHAPE_H_

// The shape of a dense array: an element type and dimensions, and the order in which they lie in
// memory. Rank 0 is a scalar with one element; a zero among the dimensions means no elements.
// Neither is ever normalised to something else.
//
//   Shape{DType::kF32, {2, 3}}: two rows, one after the other
//   Shape{DType::kF32, {2, 3}, {0, 1}}: the same array, three columns one after the other

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/dtype.h"
#include "generated/config.h"

namespace PJRT_PLUGIN_NS::backend {

struct Shape {
  DType dtype = DType::kF32;
  std::vector<int64_t> dims;
  // The layout: all dimensions, that of the smallest stride first. Empty means row-major, which is
  // never spelled out.
  std::vector<int64_t> minor_to_major = {};

  int64_t num_elements() const {
    int64_t n = 1;
    for (int64_t d : dims) n *= d;
    return n;
  }
  // Bytes of the dense array, whatever its layout, which is what device memory holds.
  size_t byte_size() const { return size_t(num_elements()) * DTypeBytes(dtype); }

  friend bool operator==(const Shape&, const Shape&) = default;
};

}  // namespace PJRT_PLUGIN_NS::backend

#endif  // BACKEND_SHAPE_H_
