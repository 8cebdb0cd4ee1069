// Sums of products: dot, dot_general, convolution.

#include "program/verify_op.h"

namespace PJRT_PLUGIN_NS::program {
namespace {

// The operand's dimensions that are in neither list.
Dims Rest(const Type& type, const Ints& batching, const Ints& contracting) {
  Dims rest;
  for (int64_t i = 0; i < type.rank(); ++i)
    if (!Contains(batching, i) && !Contains(contracting, i)) rest.push_back(type.dims[size_t(i)]);
  return rest;
}

bool CheckPaired(OpCheck& check, const Ints& lhs, const Ints& rhs) {
  if (!check.Require(lhs.size() == rhs.size(), "batching or contracting dimensions do not pair up"))
    return false;
  for (size_t i = 0; i < lhs.size(); ++i)
    check.Require(check.op().operand_type(0).dims[size_t(lhs[i])] ==
                      check.op().operand_type(1).dims[size_t(rhs[i])],
                  "paired dimensions differ in size");
  return true;
}

void CheckDotGeneral(OpCheck& check) {
  const Op& op = check.op();
  const Type& lhs = op.operand_type(0);
  const Type& rhs = op.operand_type(1);
  const Ints& lhs_batch = op.IntList("lhs_batching_dimensions");
  const Ints& rhs_batch = op.IntList("rhs_batching_dimensions");
  const Ints& lhs_contract = op.IntList("lhs_contracting_dimensions");
  const Ints& rhs_contract = op.IntList("rhs_contracting_dimensions");
  auto distinct = [](Ints dims, const Ints& more, const Type& type) {
    dims.insert(dims.end(), more.begin(), more.end());
    return AreDistinctDims(dims, type.rank());
  };
  if (!check.Require(
          distinct(lhs_batch, lhs_contract, lhs) && distinct(rhs_batch, rhs_contract, rhs),
          "batching or contracting dimensions are out of range or repeated") ||
      !CheckPaired(check, lhs_batch, rhs_batch) || !CheckPaired(check, lhs_contract, rhs_contract))
    return;
  Dims dims;
  for (int64_t i : lhs_batch) dims.push_back(lhs.dims[size_t(i)]);
  for (const Dims& rest : {Rest(lhs, lhs_batch, lhs_contract), Rest(rhs, rhs_batch, rhs_contract)})
    dims.insert(dims.end(), rest.begin(), rest.end());
  check.Require(op.type().dims == dims,
                "the result is not batch, lhs and rhs dimensions in this order");
}

// Vectors and matrices: the last dimension of one with the first of the other.
void CheckDot(OpCheck& check) {
  const Op& op = check.op();
  const Dims& lhs = op.operand_type(0).dims;
  const Dims& rhs = op.operand_type(1).dims;
  if (!check.Require((lhs.size() == 1 || lhs.size() == 2) && (rhs.size() == 1 || rhs.size() == 2) &&
                         lhs.back() == rhs.front(),
                     "the operands are no vectors or matrices that fit"))
    return;
  Dims dims(lhs.begin(), lhs.end() - 1);
  dims.insert(dims.end(), rhs.begin() + 1, rhs.end());
  check.Require(op.type().dims == dims, "the result is not of the product's shape");
}

// One side's dimension numbers name each dimension once.
bool CoversAll(const Type& type, int64_t first, int64_t second, Ints spatial) {
  spatial.push_back(first);
  spatial.push_back(second);
  return int64_t(spatial.size()) == type.rank() && AreDistinctDims(spatial, type.rank());
}

void CheckConvolution(OpCheck& check) {
  const Op& op = check.op();
  const Dims& in = op.operand_type(0).dims;
  const Dims& kernel = op.operand_type(1).dims;
  const Dims& out = op.type().dims;
  const int64_t in_batch = op.Int("input_batch_dimension");
  const int64_t in_feature = op.Int("input_feature_dimension");
  const int64_t kernel_in = op.Int("kernel_input_feature_dimension");
  const int64_t kernel_out = op.Int("kernel_output_feature_dimension");
  const int64_t out_batch = op.Int("output_batch_dimension");
  const int64_t out_feature = op.Int("output_feature_dimension");
  const Ints& in_spatial = op.IntList("input_spatial_dimensions");
  const Ints& kernel_spatial = op.IntList("kernel_spatial_dimensions");
  const Ints& out_spatial = op.IntList("output_spatial_dimensions");
  const Ints& strides = op.IntList("window_strides");
  const Ints& padding = op.IntList("padding");
  const Ints& lhs_dilation = op.IntList("lhs_dilation");
  const Ints& rhs_dilation = op.IntList("rhs_dilation");
  const int64_t features = op.Int("feature_group_count");
  const int64_t batches = op.Int("batch_group_count");
  const size_t n = in_spatial.size();
  if (!check.Require(in.size() == n + 2 && kernel.size() == n + 2 && out.size() == n + 2 &&
                         CoversAll(op.operand_type(0), in_batch, in_feature, in_spatial) &&
                         CoversAll(op.operand_type(1), kernel_in, kernel_out, kernel_spatial) &&
                         CoversAll(op.type(), out_batch, out_feature, out_spatial),
                     "the dimension numbers do not name each dimension once") ||
      !check.Require(strides.size() == n && padding.size() == 2 * n && lhs_dilation.size() == n &&
                         rhs_dilation.size() == n && op.IntList("window_reversal").size() == n,
                     "the window is not given for each spatial dimension") ||
      !check.Require(features >= 1 && batches >= 1 && (features == 1 || batches == 1),
                     "feature_group_count and batch_group_count are below 1 or both above 1"))
    return;
  const int64_t in_features = in[size_t(in_feature)];
  const int64_t out_features = kernel[size_t(kernel_out)];
  check.Require(in_features % features == 0 && in_features / features == kernel[size_t(kernel_in)],
                "input features, groups and kernel do not fit");
  check.Require(out_features % features == 0 && out_features % batches == 0 &&
                    in[size_t(in_batch)] % batches == 0,
                "output features or batch do not split into the groups");
  check.Require(out[size_t(out_batch)] == in[size_t(in_batch)] / batches &&
                    out[size_t(out_feature)] == out_features,
                "the result's batch or features are wrong");
  for (size_t i = 0; i < n; ++i) {
    const auto size = WindowedSize(in[size_t(in_spatial[i])],
                                   {kernel[size_t(kernel_spatial[i])], strides[i], padding[2 * i],
                                    padding[2 * i + 1], lhs_dilation[i], rhs_dilation[i]});
    check.Require(size.has_value(), "window, stride or dilation below 1, or beyond all memory");
    check.Require(!size || *size == out[size_t(out_spatial[i])],
                  "the result is not of the number of windows");
  }
}

}  // namespace

void CheckContraction(OpCheck& check) {
  switch (check.op().code) {
    case OpCode::kDot:
      return CheckDot(check);
    case OpCode::kDotGeneral:
      return CheckDotGeneral(check);
    default:
      return CheckConvolution(check);
  }
}

}  // namespace PJRT_PLUGIN_NS::program
