#ifndef REFERENCE_CONVOLUTION_H_
#define REFERENCE_CONVOLUTION_H_

// Convolution, with its dimensions in one order: what plan_convolution.cc makes of the operation.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "generated/config.h"
#include "reference/plan_builder.h"

namespace PJRT_PLUGIN_NS::reference {

struct Convolution {
  // A group is thin when it has fewer features than this: they do not fill vectors.
  static constexpr int64_t kFewFeatures = 8;

  // One spatial dimension.
  struct Window {
    int64_t positions = 1;  // of the result
    int64_t stride = 1, low = 0, high = 0, lhs_dilation = 1, rhs_dilation = 1;
  };

  View lhs;     // batch, features, spatial dimensions; of a type that the matrix product has
  View kernel;  // input features, output features, spatial dimensions; the same type
  std::vector<Window> windows;
  int64_t feature_groups = 1, batch_groups = 1;
  // The order of the result: batch, positions, features, or batch, features, positions.
  bool feature_last = false;

  int64_t groups() const { return std::max(feature_groups, batch_groups); }
  int64_t out_features() const { return kernel.dims[1]; }
  bool thin() const { return groups() > 1 && out_features() < kFewFeatures * groups(); }
};

// Steps that write the sums, dense, of the accumulator type, to `out`. There are some.
void EmitConvolution(PlanBuilder& b, const Op& op, const Convolution& shape, Place out);

}  // namespace PJRT_PLUGIN_NS::reference

#endif  // REFERENCE_CONVOLUTION_H_
