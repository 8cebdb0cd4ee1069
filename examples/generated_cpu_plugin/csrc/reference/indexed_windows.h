#ifndef REFERENCE_INDEXED_WINDOWS_H_
#define REFERENCE_INDEXED_WINDOWS_H_

// What gather and scatter share: windows of an operand at positions that an index array names, each
// of which lies in a second array (gather's result, scatter's updates), the slices.

#include <cstdint>
#include <vector>

#include "generated/config.h"
#include "program/ir.h"
#include "reference/view.h"

namespace PJRT_PLUGIN_NS::reference {

// The attributes of both operations under one name.
struct WindowDims {
  Dims slice_window_dims;  // gather's offset_dims, scatter's update_window_dims
  Dims missing_dims;       // operand dimensions that windows have not: collapsed_slice_dims,
                           // inserted_window_dims
  Dims operand_batching_dims, indices_batching_dims;
  Dims index_map;  // operand dimension of each component of an index
  int64_t index_vector_dim = 0;
  Dims window_sizes;  // by operand dimension; 1 for the missing ones
};

class IndexedWindows {
 public:
  IndexedWindows(const WindowDims& dims, const program::Type& operand, const program::Type& indices,
                 const program::Type& slices);

  // A stretch of a window that is contiguous on both sides, relative to the start of the window. In
  // elements.
  struct Run {
    int64_t operand = 0, slice = 0;
  };
  const std::vector<Run>& runs() const { return runs_; }
  int64_t run_length() const { return run_length_; }
  int64_t num_windows() const { return num_windows_; }
  // One run a window, and window i's slice begins at element i * run_length.
  bool rows() const { return rows_; }

  // Where window i starts, in elements.
  struct Start {
    int64_t operand = 0, slice = 0;
    bool inside = true;  // all of the window lies in the operand
  };
  // With `clamp` a window is moved into the operand.
  Start StartOf(const std::byte* indices, int64_t i, bool clamp) const;

 private:
  struct BatchDim {
    int64_t size, index_stride, operand_stride, slice_stride;
  };
  struct Component {
    int64_t limit, operand_stride;  // the largest start inside; elements
  };

  DType index_type_;
  std::vector<BatchDim> batch_;
  std::vector<Component> components_;
  int64_t component_stride_ = 1;
  std::vector<Run> runs_;
  int64_t run_length_ = 1;
  int64_t num_windows_ = 1;
  bool rows_ = false;
};

}  // namespace PJRT_PLUGIN_NS::reference

#endif  // REFERENCE_INDEXED_WINDOWS_H_
