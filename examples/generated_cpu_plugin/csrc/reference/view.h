#ifndef REFERENCE_VIEW_H_
#define REFERENCE_VIEW_H_

// View: an array as a plan sees it, elements of a buffer at any strides. Broadcast, transpose,
// slice, reverse and most reshapes are only new views; who needs dense memory asks PlanBuilder for
// it.

#include <cstdint>
#include <vector>

#include "backend/dtype.h"
#include "generated/config.h"
#include "reference/plan.h"

namespace PJRT_PLUGIN_NS::reference {

using backend::DType;
using Dims = std::vector<int64_t>;

inline int64_t Product(const Dims& dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  return n;
}

// Strides of the dense row-major array, in elements.
Dims DenseStrides(const Dims& dims);
// The same strides in bytes, for elements of `bytes` bytes.
Dims InBytes(Dims strides, int64_t bytes);

struct View {
  BufferId buffer = kNoBuffer;
  DType dtype = DType::kF32;
  int64_t offset = 0;  // of the element at index 0, in elements
  Dims dims;
  Dims strides;  // in elements; zero where all are equal, negative where reversed

  int64_t num_elements() const { return Product(dims); }
  size_t element_bytes() const { return backend::DTypeBytes(dtype); }
  // Row-major without gaps.
  bool dense() const;
  // One element that stands for all.
  bool scalar() const;
};

// The same elements in the same order with as few dimensions as possible: no dimension of size 1,
// none that continues the one before it. A view of one element gets rank 0; one without elements is
// left alone.
View Collapsed(View view);

// A buffer from a byte on.
struct Place {
  BufferId buffer = kNoBuffer;
  int64_t bytes = 0;

  template <typename T = std::byte>
  T* At(const Frame& frame) const {
    return reinterpret_cast<T*>(frame.addresses[buffer] + bytes);
  }
};

}  // namespace PJRT_PLUGIN_NS::reference

#endif  // REFERENCE_VIEW_H_
