#include "reference/view.h"

#include <utility>

namespace PJRT_PLUGIN_NS::reference {

Dims DenseStrides(const Dims& dims) {
  Dims strides(dims.size());
  int64_t stride = 1;
  for (size_t d = dims.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= dims[d];
  }
  return strides;
}

Dims InBytes(Dims strides, int64_t bytes) {
  for (int64_t& stride : strides) stride *= bytes;
  return strides;
}

bool View::dense() const {
  int64_t stride = 1;
  for (size_t d = dims.size(); d-- > 0;) {
    if (dims[d] == 0) return true;
    if (dims[d] != 1 && strides[d] != stride) return false;
    stride *= dims[d];
  }
  return true;
}

bool View::scalar() const {
  for (size_t d = 0; d < dims.size(); ++d)
    if (dims[d] == 0 || (dims[d] != 1 && strides[d] != 0)) return false;
  return true;
}

View Collapsed(View view) {
  if (view.num_elements() == 0) return view;
  Dims dims, strides;
  for (size_t d = 0; d < view.dims.size(); ++d) {
    if (view.dims[d] == 1) continue;
    if (!dims.empty() && strides.back() == view.strides[d] * view.dims[d]) {
      dims.back() *= view.dims[d];
      strides.back() = view.strides[d];
    } else {
      dims.push_back(view.dims[d]);
      strides.push_back(view.strides[d]);
    }
  }
  view.dims = std::move(dims);
  view.strides = std::move(strides);
  return view;
}

}  // namespace PJRT_PLUGIN_NS::reference
