#include "reference/indexed_windows.h"

#include <algorithm>

#include "reference/scalar_index.h"

namespace PJRT_PLUGIN_NS::reference {
namespace {

bool Has(const Dims& dims, int64_t d) {
  return std::find(dims.begin(), dims.end(), d) != dims.end();
}

}  // namespace

IndexedWindows::IndexedWindows(const WindowDims& dims, const program::Type& operand,
                               const program::Type& indices, const program::Type& slices)
    : index_type_(indices.dtype) {
  const Dims operand_strides = DenseStrides(operand.dims);
  const Dims slice_strides = DenseStrides(slices.dims);
  const Dims index_strides = DenseStrides(indices.dims);

  // Batch dimensions: those of the indices but the index vector's, and of the slices but the
  // windows'.
  Dims slice_batch;
  for (size_t d = 0; d < slices.dims.size(); ++d)
    if (!Has(dims.slice_window_dims, int64_t(d))) slice_batch.push_back(int64_t(d));
  size_t next = 0;
  for (size_t d = 0; d < indices.dims.size(); ++d) {
    if (int64_t(d) == dims.index_vector_dim) continue;
    BatchDim one{indices.dims[d], index_strides[d], 0, slice_strides[size_t(slice_batch[next++])]};
    for (size_t j = 0; j < dims.indices_batching_dims.size(); ++j)
      if (dims.indices_batching_dims[j] == int64_t(d))
        one.operand_stride = operand_strides[size_t(dims.operand_batching_dims[j])];
    num_windows_ *= one.size;
    batch_.push_back(one);
  }
  if (dims.index_vector_dim < int64_t(indices.dims.size()))
    component_stride_ = index_strides[size_t(dims.index_vector_dim)];
  for (int64_t d : dims.index_map)
    components_.push_back(
        {operand.dims[size_t(d)] - dims.window_sizes[size_t(d)], operand_strides[size_t(d)]});

  // The window: the operand's remaining dimensions in order are the slices' window dimensions in
  // order.
  struct WindowDim {
    int64_t size, operand_stride, slice_stride;
  };
  std::vector<WindowDim> window;
  next = 0;
  for (size_t d = 0; d < operand.dims.size(); ++d) {
    if (Has(dims.missing_dims, int64_t(d)) || Has(dims.operand_batching_dims, int64_t(d))) continue;
    WindowDim one{dims.window_sizes[d], operand_strides[d],
                  slice_strides[size_t(dims.slice_window_dims[next++])]};
    if (one.size == 1) continue;
    if (!window.empty() && window.back().operand_stride == one.size * one.operand_stride &&
        window.back().slice_stride == one.size * one.slice_stride) {
      one.size *= window.back().size;
      window.back() = one;
    } else {
      window.push_back(one);
    }
  }
  if (!window.empty() && window.back().operand_stride == 1 && window.back().slice_stride == 1) {
    run_length_ = window.back().size;
    window.pop_back();
  }
  runs_.push_back({});
  for (const WindowDim& one : window) {
    std::vector<Run> longer;
    longer.reserve(runs_.size() * size_t(one.size));
    for (const Run& run : runs_)
      for (int64_t i = 0; i < one.size; ++i)
        longer.push_back({run.operand + i * one.operand_stride, run.slice + i * one.slice_stride});
    runs_ = std::move(longer);
  }
  int64_t stride = run_length_;
  rows_ = runs_.size() == 1;
  for (size_t d = batch_.size(); d-- > 0;) {
    rows_ = rows_ && (batch_[d].size == 1 || batch_[d].slice_stride == stride);
    stride *= batch_[d].size;
  }
}

IndexedWindows::Start IndexedWindows::StartOf(const std::byte* indices, int64_t i,
                                              bool clamp) const {
  Start start;
  int64_t at = 0;
  for (size_t d = batch_.size(); d-- > 0;) {
    const BatchDim& one = batch_[d];
    int64_t index = i % one.size;
    i /= one.size;
    at += index * one.index_stride;
    start.operand += index * one.operand_stride;
    start.slice += index * one.slice_stride;
  }
  for (size_t k = 0; k < components_.size(); ++k) {
    int64_t index = ReadInteger(indices, index_type_, at + int64_t(k) * component_stride_);
    if (clamp) index = std::clamp<int64_t>(index, 0, components_[k].limit);
    if (index < 0 || index > components_[k].limit) {
      start.inside = false;
      return start;
    }
    start.operand += index * components_[k].operand_stride;
  }
  return start;
}

}  // namespace PJRT_PLUGIN_NS::reference
