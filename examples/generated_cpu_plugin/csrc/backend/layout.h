#ifndef BACKEND_LAYOUT_H_
#define BACKEND_LAYOUT_H_

// Layouts as lists of dimensions: the order in which those of an array lie in memory, that of the
// smallest stride first ("minor to major"). {1, 0} of a matrix is row-major, {0, 1} lies by
// columns.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "generated/config.h"

namespace PJRT_PLUGIN_NS::backend {

// Whether every dimension of an array of that rank is named, once.
inline bool IsLayout(std::span<const int64_t> minor_to_major, size_t rank) {
  std::vector<int64_t> sorted(minor_to_major.begin(), minor_to_major.end());
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] != int64_t(i)) return false;
  }
  return sorted.size() == rank;
}

// Of a layout. All layouts of rank 0 and 1 are.
inline bool IsRowMajor(std::span<const int64_t> minor_to_major) {
  for (size_t i = 0; i < minor_to_major.size(); ++i) {
    if (minor_to_major[i] != int64_t(minor_to_major.size() - 1 - i)) return false;
  }
  return true;
}

inline std::vector<int64_t> RowMajorLayout(size_t rank) {
  std::vector<int64_t> minor_to_major(rank);
  for (size_t i = 0; i < rank; ++i) minor_to_major[i] = int64_t(rank - 1 - i);
  return minor_to_major;
}

}  // namespace PJRT_PLUGIN_NS::backend

#endif  // BACKEND_LAYOUT_H_
