// Convolutions against the definition, element by element: all windows, groups, orders of
// dimensions and types.

#include <algorithm>
#include <complex>
#include <cstdint>
#include <numeric>
#include <vector>

#include "reference/testing_run.h"

namespace PJRT_PLUGIN_NS::reference {
namespace {

using program::Builder;
using program::Ints;
using program::OpCode;

struct Case {
  Dims lhs, rhs, out;
  // Dimension numbers: batch (or input features), features, spatial dimensions.
  Ints lhs_order, rhs_order, out_order;
  Ints strides, padding, lhs_dilation, rhs_dilation, reversal;
  int64_t feature_groups = 1, batch_groups = 1;
};

// Steps through all indices of a box; false after the last.
bool Next(Dims& index, const Dims& dims) {
  for (size_t d = dims.size(); d-- > 0;) {
    if (++index[d] < dims[d]) return true;
    index[d] = 0;
  }
  return false;
}

template <typename T>
std::vector<T> Definition(const Case& c, const std::vector<T>& lhs, const std::vector<T>& rhs) {
  const Dims lhs_strides = DenseStrides(c.lhs), rhs_strides = DenseStrides(c.rhs);
  const size_t n = c.strides.size();
  auto dim = [](const Dims& dims, const Ints& order, size_t i) { return dims[size_t(order[i])]; };
  const int64_t features = dim(c.rhs, c.rhs_order, 0);
  const int64_t batches = dim(c.lhs, c.lhs_order, 0) / c.batch_groups;
  const int64_t out_features = dim(c.out, c.out_order, 1);
  std::vector<T> out;
  Dims at(c.out.size(), 0);
  if (Product(c.out) == 0) return out;
  do {
    const int64_t o = at[size_t(c.out_order[1])];
    int64_t batch = at[size_t(c.out_order[0])];
    batch += o / (out_features / c.batch_groups) * batches;
    const int64_t first = o / (out_features / c.feature_groups) * features;
    T sum = 0;
    Dims window, k(n, 0);
    for (size_t i = 0; i < n; ++i) window.push_back(dim(c.rhs, c.rhs_order, i + 2));
    for (bool more = Product(window) != 0; more; more = Next(k, window)) {
      int64_t from = batch * lhs_strides[size_t(c.lhs_order[0])];
      int64_t with = o * rhs_strides[size_t(c.rhs_order[1])];
      bool inside = true;
      for (size_t i = 0; i < n; ++i) {
        int64_t p = at[size_t(c.out_order[i + 2])] * c.strides[i] + k[i] * c.rhs_dilation[i] -
                    c.padding[2 * i];
        inside = inside && p >= 0 && p % c.lhs_dilation[i] == 0 &&
                 p / c.lhs_dilation[i] < dim(c.lhs, c.lhs_order, i + 2);
        from += p / c.lhs_dilation[i] * lhs_strides[size_t(c.lhs_order[i + 2])];
        const int64_t tap = c.reversal[i] != 0 ? window[i] - 1 - k[i] : k[i];
        with += tap * rhs_strides[size_t(c.rhs_order[i + 2])];
      }
      for (int64_t f = 0; f < features && inside; ++f)
        sum += lhs[size_t(from + (first + f) * lhs_strides[size_t(c.lhs_order[1])])] *
               rhs[size_t(with + f * rhs_strides[size_t(c.rhs_order[0])])];
    }
    out.push_back(sum);
  } while (Next(at, c.out));
  return out;
}

Ints Spatial(const Ints& order) { return {order.begin() + 2, order.end()}; }

void Build(Builder& b, const Case& c, DType out) {
  b.Return({b.Add(OpCode::kConvolution, {b.argument(0), b.argument(1)}, Type::Tensor(out, c.out),
                  {{"batch_group_count", {c.batch_groups}},
                   {"feature_group_count", {c.feature_groups}},
                   {"input_batch_dimension", {c.lhs_order[0]}},
                   {"input_feature_dimension", {c.lhs_order[1]}},
                   {"input_spatial_dimensions", {Spatial(c.lhs_order)}},
                   {"kernel_input_feature_dimension", {c.rhs_order[0]}},
                   {"kernel_output_feature_dimension", {c.rhs_order[1]}},
                   {"kernel_spatial_dimensions", {Spatial(c.rhs_order)}},
                   {"lhs_dilation", {c.lhs_dilation}},
                   {"output_batch_dimension", {c.out_order[0]}},
                   {"output_feature_dimension", {c.out_order[1]}},
                   {"output_spatial_dimensions", {Spatial(c.out_order)}},
                   {"padding", {c.padding}},
                   {"precision_config", {Ints{}}},
                   {"rhs_dilation", {c.rhs_dilation}},
                   {"window_reversal", {c.reversal}},
                   {"window_strides", {c.strides}}})});
}

template <typename T>
std::vector<T> Whole(size_t count, int start) {
  std::vector<T> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = T(int(i * 7 + size_t(start)) % 11 - 5);
  return values;
}

template <typename T>
void Check(const Case& c, DType dtype) {
  const auto lhs = Whole<T>(size_t(Product(c.lhs)), 1), rhs = Whole<T>(size_t(Product(c.rhs)), 3);
  Builder b({Type::Tensor(dtype, c.lhs), Type::Tensor(dtype, c.rhs)});
  Build(b, c, dtype);
  EXPECT_TRUE((Harness().One<T>(b.module(), {Bytes(lhs), Bytes(rhs)}) == Definition(c, lhs, rhs)));
}

// Batch, features and spatial dimensions by letter, in NCHW's or another order.
const Ints kNchw = {0, 1, 2, 3}, kNhwc = {0, 3, 1, 2}, kOihw = {1, 0, 2, 3}, kHwio = {2, 3, 0, 1};

Case Plain(bool last) {
  Case c;
  c.lhs_order = c.out_order = last ? kNhwc : kNchw;
  c.rhs_order = last ? kHwio : kOihw;
  c.strides = c.lhs_dilation = c.rhs_dilation = {1, 1};
  c.padding = {0, 0, 0, 0};
  c.reversal = {0, 0};
  if (last) {
    c.lhs = {2, 9, 7, 3}, c.rhs = {3, 2, 3, 4}, c.out = {2, 7, 6, 4};
  } else {
    c.lhs = {2, 3, 9, 7}, c.rhs = {4, 3, 3, 2}, c.out = {2, 4, 7, 6};
  }
  return c;
}

TEST(Convolution, OrdersOfDimensions) {
  Check<float>(Plain(false), DType::kF32);
  Check<float>(Plain(true), DType::kF32);
  // Input features last, output features first, the kernel in an order of its own.
  Case c = Plain(true);
  c.rhs_order = {3, 0, 2, 1};
  c.rhs = {4, 2, 3, 3};
  c.out_order = {3, 0, 2, 1};
  c.out = {4, 6, 7, 2};
  Check<float>(c, DType::kF32);
}

TEST(Convolution, Windows) {
  for (bool last : {false, true}) {
    Case c = Plain(last);
    c.strides = {2, 3};
    c.padding = {3, -1, 0, 4};
    c.lhs_dilation = {2, 3};
    c.rhs_dilation = {3, 2};
    c.reversal = {1, 0};
    // Input 17 + 2 by 19 + 4, kernel 7 by 3.
    c.out = last ? Dims{2, 7, 7, 4} : Dims{2, 4, 7, 7};
    Check<float>(c, DType::kF32);
    c.reversal = {1, 1};
    Check<double>(c, DType::kF64);
    Check<int32_t>(c, DType::kS32);
    Check<std::complex<float>>(c, DType::kC64);
  }
}

// A dilated input without strides, which is done phase by phase; some phases see no element of the
// kernel, some results are before or behind all input.
TEST(Convolution, DilatedInput) {
  for (bool last : {false, true})
    for (int64_t dilation : {1, 2, 4, 6})
      for (int64_t low : {-3, 0, 1, 8}) {
        Case c = Plain(last);
        c.lhs_dilation = {4, 3};
        c.rhs_dilation = {dilation, 1};
        c.padding = {low, 5, 1, low};
        c.reversal = {1, 0};
        const int64_t height = 33 + low + 5 - 2 * dilation, width = 19 + 1 + low - 1;
        c.out = last ? Dims{2, height, width, 4} : Dims{2, 4, height, width};
        Check<float>(c, DType::kF32);
      }
  Case c = Plain(true);
  c.lhs_dilation = {2, 2};
  c.feature_groups = 3;
  c.lhs = {2, 5, 3, 6}, c.rhs = {3, 2, 2, 9}, c.out = {2, 7, 4, 9};
  Check<float>(c, DType::kF32);
  Check<int16_t>(c, DType::kS16);
}

TEST(Convolution, Groups) {
  for (bool last : {false, true}) {
    Case c = Plain(last);
    c.feature_groups = 3;
    c.lhs = last ? Dims{2, 9, 7, 6} : Dims{2, 6, 9, 7};
    c.rhs = last ? Dims{3, 2, 2, 9} : Dims{9, 2, 3, 2};
    c.out = last ? Dims{2, 7, 6, 9} : Dims{2, 9, 7, 6};
    Check<float>(c, DType::kF32);
    c = Plain(last);
    c.batch_groups = 2;
    c.lhs = last ? Dims{6, 9, 7, 3} : Dims{6, 3, 9, 7};
    c.out = last ? Dims{3, 7, 6, 4} : Dims{3, 4, 7, 6};
    Check<float>(c, DType::kF32);
    Check<int64_t>(c, DType::kS64);
  }
}

// Patches that are cut along positions and along their own elements; products read in place.
TEST(Convolution, ManyBlocks) {
  for (bool last : {false, true}) {
    Case c = Plain(last);
    c.padding = {1, 1, 1, 1};
    c.lhs = last ? Dims{1, 20, 18, 260} : Dims{1, 260, 20, 18};
    c.rhs = last ? Dims{3, 3, 260, 9} : Dims{9, 260, 3, 3};
    c.out = last ? Dims{1, 20, 18, 9} : Dims{1, 9, 20, 18};
    Check<float>(c, DType::kF32);
    c.padding = {0, 0, 0, 0};  // a 1x1 kernel
    c.rhs = last ? Dims{1, 1, 260, 70} : Dims{70, 260, 1, 1};
    c.out = last ? Dims{1, 20, 18, 70} : Dims{1, 70, 20, 18};
    Check<float>(c, DType::kF32);
  }
}

TEST(Convolution, OtherRanksAndNothing) {
  Case c;  // without spatial dimensions it is a matrix product
  c.lhs = {3, 4}, c.rhs = {5, 4}, c.out = {3, 5};
  c.lhs_order = c.out_order = {0, 1};
  c.rhs_order = {1, 0};
  Check<float>(c, DType::kF32);
  c.lhs = {3, 0}, c.rhs = {5, 0};
  Check<float>(c, DType::kF32);
  c.lhs = {0, 4}, c.rhs = {5, 4}, c.out = {0, 5};
  Check<float>(c, DType::kF32);
  Case d;  // one, and an input that is all padding
  d.lhs = {2, 3, 0}, d.rhs = {4, 3, 2}, d.out = {2, 4, 20};
  d.lhs_order = d.out_order = {0, 1, 2};
  d.rhs_order = {1, 0, 2};
  d.strides = d.lhs_dilation = d.rhs_dilation = {1};
  d.padding = {11, 10};
  d.reversal = {0};
  Check<float>(d, DType::kF32);
}

TEST(Convolution, ResultOfAnotherType) {
  Case c = Plain(false);
  const auto lhs = Whole<int8_t>(size_t(Product(c.lhs)), 1);
  const auto rhs = Whole<int8_t>(size_t(Product(c.rhs)), 3);
  std::vector<int32_t> wide_lhs(lhs.begin(), lhs.end()), wide_rhs(rhs.begin(), rhs.end());
  Builder b({Type::Tensor(DType::kS8, c.lhs), Type::Tensor(DType::kS8, c.rhs)});
  Build(b, c, DType::kS32);
  EXPECT_TRUE((Harness().One<int32_t>(b.module(), {Bytes(lhs), Bytes(rhs)}) ==
               Definition(c, wide_lhs, wide_rhs)));
  // Sums of bf16 are rounded once: 256 + 1 + 1 is 258, one by one it would stay 256.
  Case one;
  one.lhs = {1, 3}, one.rhs = {1, 3}, one.out = {1, 1};
  one.lhs_order = one.out_order = {0, 1};
  one.rhs_order = {1, 0};
  Builder h({Type::Tensor(DType::kBF16, one.lhs), Type::Tensor(DType::kBF16, one.rhs)});
  Build(h, one, DType::kBF16);
  EXPECT_EQ(Harness().One<uint16_t>(h.module(), {Bytes<uint16_t>({0x4380, 0x3f80, 0x3f80}),
                                                 Bytes<uint16_t>({0x3f80, 0x3f80, 0x3f80})}),
            (std::vector<uint16_t>{0x4381}));
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::reference
