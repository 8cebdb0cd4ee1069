#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "program/op_table.h"
#include "reference/convolution.h"
#include "reference/kernels/kernel_table.h"
#include "reference/lowerings.h"
#include "reference/product.h"

namespace PJRT_PLUGIN_NS::reference {
namespace {

using backend::DTypeBytes;

constexpr int64_t kFewPositions = 16;
constexpr int64_t kMaxPhases = 64;

// The view with its dimensions in this order.
View Ordered(const View& view, const Dims& order) {
  View ordered{view.buffer, view.dtype, view.offset, {}, {}};
  for (int64_t d : order) {
    ordered.dims.push_back(view.dims[size_t(d)]);
    ordered.strides.push_back(view.strides[size_t(d)]);
  }
  return ordered;
}

Dims Numbers(const Op& op, const char* first, const char* second, const char* spatial) {
  Dims numbers = {op.Int(first), op.Int(second)};
  const Dims& rest = op.IntList(spatial);
  numbers.insert(numbers.end(), rest.begin(), rest.end());
  return numbers;
}

Dims OutputNumbers(const Op& op) {
  return Numbers(op, "output_batch_dimension", "output_feature_dimension",
                 "output_spatial_dimensions");
}

Result<Convolution> ShapeOf(PlanBuilder& b, const Op& op, DType product) {
  PJRT_PLUGIN_ASSIGN_OR_RETURN(View lhs, OperandAs(b, op.operands[0], product));
  PJRT_PLUGIN_ASSIGN_OR_RETURN(View kernel, OperandAs(b, op.operands[1], product));
  Convolution shape;
  shape.lhs = Ordered(lhs, Numbers(op, "input_batch_dimension", "input_feature_dimension",
                                   "input_spatial_dimensions"));
  shape.kernel =
      Ordered(kernel, Numbers(op, "kernel_input_feature_dimension",
                              "kernel_output_feature_dimension", "kernel_spatial_dimensions"));
  const Dims& padding = op.IntList("padding");
  const Dims numbers = OutputNumbers(op);
  int64_t positions = 1;
  bool last = true;  // whether the wanted result has the features after the positions
  for (size_t i = 0; i + 2 < numbers.size(); ++i) {
    const size_t d = i + 2;
    shape.windows.push_back({.positions = op.type().dims[size_t(numbers[d])],
                             .stride = op.IntList("window_strides")[i],
                             .low = padding[2 * i],
                             .high = padding[2 * i + 1],
                             .lhs_dilation = op.IntList("lhs_dilation")[i],
                             .rhs_dilation = op.IntList("rhs_dilation")[i]});
    positions *= shape.windows[i].positions;
    last = last && numbers[d] < numbers[1];
    if (op.IntList("window_reversal")[i] == 0 || shape.kernel.dims[d] == 0) continue;
    shape.kernel.offset += (shape.kernel.dims[d] - 1) * shape.kernel.strides[d];
    shape.kernel.strides[d] = -shape.kernel.strides[d];
  }
  shape.feature_groups = op.Int("feature_group_count");
  shape.batch_groups = op.Int("batch_group_count");
  // Features go last where they are wanted there, unless groups have few of them, and where there
  // are too few positions for rows of their own.
  shape.feature_last = (last && !shape.thin()) || positions < kFewPositions;
  return shape;
}

// The result's dimensions in the order in which they are made, of batch, features and positions.
template <typename T>
std::vector<T> InOrder(const std::vector<T>& list, bool feature_last) {
  std::vector<T> order = list;
  if (feature_last) std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  return order;
}

// How many convolutions of the undilated input make this one: a dilated input is mostly zeros, and
// every lhs_dilation-th result sees the same elements of the kernel fall on the others. One where
// that does not pay.
int64_t PhasesOf(const Convolution& shape) {
  int64_t phases = 1;
  for (const Convolution::Window& window : shape.windows) {
    if (window.lhs_dilation > 1 && window.stride > 1) return 1;
    phases *= window.lhs_dilation;
    if (phases > kMaxPhases) return 1;
  }
  return phases;
}

// The results at `phase`, `phase` + lhs_dilation and so on in one spatial dimension. What they see
// of the kernel may be nothing.
void TakePhase(Convolution& shape, size_t dimension, int64_t phase) {
  Convolution::Window& window = shape.windows[dimension];
  const size_t d = dimension + 2;
  const int64_t in = shape.lhs.dims[d], dilation = window.lhs_dilation;
  int64_t& taps = shape.kernel.dims[d];
  // Element k of the kernel falls on the place phase + k * rhs_dilation - low of the dilated input.
  const int64_t common = std::gcd(dilation, window.rhs_dilation), step = dilation / common;
  int64_t first = 0;
  auto place = [&] { return phase + first * window.rhs_dilation - window.low; };
  while (first < step && place() % dilation != 0) ++first;
  if (first == step || first >= taps) {
    taps = 0;
    first = 0;
  } else {
    taps = (taps - 1 - first) / step + 1;
  }
  shape.kernel.offset += first * shape.kernel.strides[d];
  shape.kernel.strides[d] *= step;
  window.positions = (window.positions - 1 - phase) / dilation + 1;
  window.low = taps == 0 ? 0 : -(place() / dilation);
  window.rhs_dilation /= common;
  window.high = window.positions + (taps - 1) * window.rhs_dilation - in - window.low;
  window.lhs_dilation = 1;
}

// The sums phase by phase, each put in its places of `sums`.
void EmitPhases(PlanBuilder& b, const Op& op, const Convolution& shape, const Dims& made_dims,
                DType sum, Place sums, int64_t phases) {
  const size_t first = shape.feature_last ? 1 : 2;  // of the spatial dimensions as made
  for (int64_t i = 0; i < phases; ++i) {
    Convolution part = shape;
    View to{sums.buffer, sum, 0, made_dims, DenseStrides(made_dims)};
    int64_t rest = i;
    bool some = true;
    for (size_t d = 0; d < shape.windows.size(); ++d) {
      const int64_t dilation = shape.windows[d].lhs_dilation, phase = rest % dilation;
      rest /= dilation;
      some = some && phase < shape.windows[d].positions;
      if (!some || dilation == 1) continue;
      TakePhase(part, d, phase);
      to.offset += phase * to.strides[first + d];
      to.strides[first + d] *= dilation;
      to.dims[first + d] = part.windows[d].positions;
    }
    if (!some) continue;
    const int64_t elements = to.num_elements();
    const Place made{b.NewTemp(size_t(elements) * DTypeBytes(sum)), 0};
    EmitConvolution(b, op, part, made);
    b.EmitCopy(View{made.buffer, sum, 0, to.dims, DenseStrides(to.dims)}, to);
  }
}

}  // namespace

Status LowerConvolution(PlanBuilder& b, const Op& op) {
  const Type& type = op.type();
  const int64_t elements = type.num_elements();
  if (elements == 0) {
    b.NewResult(op.result());
    return Status();
  }
  if (2 * type.rank() > kernels::kMaxCopyRank)
    return PlanBuilder::Unsupported(op, "there are more than 14 spatial dimensions");
  const DType product = ProductType(op.operand_type(0).dtype, op.operand_type(1).dtype, type.dtype);
  const DType sum = kernels::AccumulatorType(product);
  PJRT_PLUGIN_ASSIGN_OR_RETURN(const Convolution shape, ShapeOf(b, op, product));

  // Where the sums go: the result itself, or memory of another type or order.
  const Dims order = InOrder(OutputNumbers(op), shape.feature_last);
  Dims made_dims;
  bool in_order = true;
  for (size_t i = 0; i < order.size(); ++i) {
    made_dims.push_back(type.dims[size_t(order[i])]);
    in_order = in_order && order[i] == int64_t(i);
  }
  Place out;
  if (in_order) {
    out = b.NewResult(op.result());
  } else {
    View view{b.NewTemp(type.byte_size()), type.dtype, 0, type.dims, Dims(order.size())};
    const Dims strides = DenseStrides(made_dims);
    for (size_t i = 0; i < order.size(); ++i) view.strides[size_t(order[i])] = strides[i];
    out = {view.buffer, 0};
    b.Bind(op.result(), std::move(view));
  }
  const int64_t sum_bytes = int64_t(DTypeBytes(sum)), out_bytes = int64_t(DTypeBytes(type.dtype));
  const Place sums =
      sum == type.dtype ? out : Place{b.NewTemp(size_t(elements) * size_t(sum_bytes)), 0};
  const int64_t phases = PhasesOf(shape);
  if (phases > 1) {
    EmitPhases(b, op, shape, made_dims, sum, sums, phases);
  } else {
    EmitConvolution(b, op, shape, sums);
  }
  if (sum == type.dtype) return Status();
  kernels::ElementwiseFn narrow = kernels::Kernels().Convert(sum, type.dtype);
  b.Emit("convert result", {.reads = {sums.buffer}, .writes = {out.buffer}},
         [=](const Frame& frame) {
           frame.pool->ParallelFor(elements, int64_t{1} << 16, [&](int64_t begin, int64_t end) {
             const void* from = sums.At(frame) + begin * sum_bytes;
             narrow(&from, 0, out.At(frame) + begin * out_bytes, end - begin);
           });
           return Status();
         });
  return Status();
}

}  // namespace PJRT_PLUGIN_NS::reference
