// Reductions along rows and down columns, against a fold in order, on every ISA that this CPU runs.

#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "reference/kernels/kernel_table.h"
#include "reference/kernels/scalar_reference.h"
#include "testing/test.h"

namespace PJRT_PLUGIN_NS::reference::kernels {
namespace {

using scalar::BF16;
using scalar::F16;

template <typename T>
using AccumulatorOf = std::conditional_t<scalar::kHalf<T>, float, T>;

// The fold in a type wide enough that its own error does not matter.
template <typename T>
auto Widen(T x) {
  if constexpr (scalar::kComplexNumber<T>) {
    return std::complex<long double>(x);
  } else if constexpr (scalar::kReal<T>) {
    return (long double)(double(x));
  } else {
    return x;
  }
}
template <typename W>
W Apply(ReduceOp op, W a, W b) {
  if constexpr (std::is_integral_v<W>) {
    switch (op) {
      case ReduceOp::kAdd:
        return W(uint64_t(a) + uint64_t(b));
      case ReduceOp::kMultiply:
        return W(uint64_t(a) * uint64_t(b));
      case ReduceOp::kMaximum:
        return a > b ? a : b;
      case ReduceOp::kMinimum:
        return a < b ? a : b;
      case ReduceOp::kAnd:
        return W(a & b);
      case ReduceOp::kOr:
        return W(a | b);
      case ReduceOp::kXor:
        return W(a ^ b);
    }
  } else if constexpr (std::is_floating_point_v<W>) {
    if (op == ReduceOp::kMaximum || op == ReduceOp::kMinimum) {
      if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<W>::quiet_NaN();
      return (op == ReduceOp::kMaximum) == (a > b) ? a : b;
    }
  }
  return op == ReduceOp::kMultiply ? a * b : a + b;
}

template <typename T>
T Sample(std::mt19937& random, ReduceOp op, bool is_pred) {
  if constexpr (scalar::kComplexNumber<T>) {
    const double angle = double(random() % 1000);
    if (op == ReduceOp::kMultiply) return T(std::polar(1.0, angle));
    return T(std::cos(angle), std::sin(angle * 3));
  } else if constexpr (scalar::kReal<T>) {
    const double x = double(random() % 20001) / 10000 - 1;
    return scalar::Rounded<T>(op == ReduceOp::kMultiply ? 1 + x / 1000 : x);
  } else {
    return is_pred ? T(random() % 2) : T(random());
  }
}

template <typename T>
bool Close(AccumulatorOf<T> got, decltype(Widen(T{})) want, int64_t count, ReduceOp op) {
  if constexpr (std::is_integral_v<T>) {
    (void)count, (void)op;
    return got == want;
  } else {
    using A = AccumulatorOf<T>;
    using Part = decltype(std::abs(A{}));
    if (op == ReduceOp::kMaximum || op == ReduceOp::kMinimum) return Widen(got) == want;
    // Much less than a fold in order is allowed: that one's error grows with the count itself.
    const double eps = std::numeric_limits<Part>::epsilon();
    return std::abs(Widen(got) - want) <=
           4 * eps * (std::sqrt(double(count)) + 1) * (1 + std::abs(want) / std::sqrt(count + 1.0));
  }
}

template <typename T>
void TestReduction(ReduceOp op, DType t) {
  const ReduceFn inner = Kernels().ReduceInner(op, t), outer = Kernels().ReduceOuter(op, t);
  const std::string where = std::string(ActiveIsa()) + " reduction " + std::to_string(int(op)) +
                            " of " + std::string(DTypeName(t));
  if (inner == nullptr || outer == nullptr) {
    ADD_FAILURE() << where + ": the table has no kernel";
    return;
  }
  using A = AccumulatorOf<T>;
  using W = decltype(Widen(T{}));
  // What adding and multiplying mean for i1.
  const bool pred = t == DType::kPred;
  const ReduceOp fold = !pred                       ? op
                        : op == ReduceOp::kAdd      ? ReduceOp::kOr
                        : op == ReduceOp::kMultiply ? ReduceOp::kAnd
                                                    : op;
  std::mt19937 random(7);
  for (auto [rows, n] : std::vector<std::pair<int64_t, int64_t>>{
           {0, 5}, {5, 0}, {1, 1}, {3, 7}, {7, 3}, {17, 129}, {150, 300}, {2, 20000}, {20000, 2}}) {
    const int64_t stride = n + 3;
    std::vector<T> in(size_t(rows * stride + 1));
    for (T& x : in) x = Sample<T>(random, op, pred);
    std::vector<A> by_row(size_t(rows + 1)), by_column(size_t(n + 1));
    for (A& x : by_row) x = A(Widen(Sample<T>(random, op, pred)));
    for (A& x : by_column) x = A(Widen(Sample<T>(random, op, pred)));
    std::vector<W> want_row, want_column;
    for (A x : by_row) want_row.push_back(Widen(x));
    for (A x : by_column) want_column.push_back(Widen(x));
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t j = 0; j < n; ++j) {
        const W x = Widen(in[size_t(r * stride + j)]);
        want_row[size_t(r)] = Apply(fold, want_row[size_t(r)], x);
        want_column[size_t(j)] = Apply(fold, want_column[size_t(j)], x);
      }
    inner(in.data(), rows, n, stride, by_row.data());
    outer(in.data(), rows, n, stride, by_column.data());
    bool good = true;
    for (int64_t r = 0; r <= rows; ++r)
      good &= Close<T>(by_row[size_t(r)], want_row[size_t(r)], r < rows ? n : 0, op);
    if (!good) ADD_FAILURE() << where + ": wrong along rows of " + testing::PrintToString(n);
    good = true;
    for (int64_t j = 0; j <= n; ++j)
      good &= Close<T>(by_column[size_t(j)], want_column[size_t(j)], j < n ? rows : 0, op);
    if (!good) ADD_FAILURE() << where + ": wrong down columns of " + testing::PrintToString(rows);
  }
}

void TestIsa(std::string_view isa) {
  if (!SelectIsa(isa).ok()) return;
  for (size_t i = 0; i < kNumReduceOps; ++i) {
    const ReduceOp op = ReduceOp(i);
    const bool bits = op == ReduceOp::kAnd || op == ReduceOp::kOr || op == ReduceOp::kXor;
    TestReduction<uint8_t>(op, DType::kPred);
    TestReduction<int8_t>(op, DType::kS8);
    TestReduction<int16_t>(op, DType::kS16);
    TestReduction<int32_t>(op, DType::kS32);
    TestReduction<int64_t>(op, DType::kS64);
    TestReduction<uint8_t>(op, DType::kU8);
    TestReduction<uint16_t>(op, DType::kU16);
    TestReduction<uint32_t>(op, DType::kU32);
    TestReduction<uint64_t>(op, DType::kU64);
    if (bits) continue;
    TestReduction<F16>(op, DType::kF16);
    TestReduction<BF16>(op, DType::kBF16);
    TestReduction<float>(op, DType::kF32);
    TestReduction<double>(op, DType::kF64);
    if (op == ReduceOp::kMaximum || op == ReduceOp::kMinimum) continue;
    TestReduction<std::complex<float>>(op, DType::kC64);
    TestReduction<std::complex<double>>(op, DType::kC128);
  }
  EXPECT_TRUE(SelectIsa("").ok());
}

TEST(Reduce, Baseline) { TestIsa("baseline"); }
TEST(Reduce, Avx2) { TestIsa("avx2"); }
TEST(Reduce, Avx512) { TestIsa("avx512"); }
TEST(Reduce, Neon) { TestIsa("neon"); }

TEST(Reduce, MaximumPropagatesNaN) {
  for (int64_t at : {0, 5, 999}) {
    std::vector<float> x(1000, 1.0f);
    x[size_t(at)] = std::nanf("");
    float row = -HUGE_VALF;
    Kernels().ReduceInner(ReduceOp::kMaximum, DType::kF32)(x.data(), 1, 1000, 1000, &row);
    EXPECT_TRUE(std::isnan(row));
    float column = HUGE_VALF;
    Kernels().ReduceOuter(ReduceOp::kMinimum, DType::kF32)(x.data(), 1000, 1, 1, &column);
    EXPECT_TRUE(std::isnan(column));
  }
}

// A million times 0.1 summed in order is off by a hundredth.
TEST(Reduce, LongSumsStayAccurate) {
  std::vector<float> x(1 << 20, 0.1f);
  float sum = 0;
  Kernels().ReduceInner(ReduceOp::kAdd, DType::kF32)(x.data(), 1, 1 << 20, 0, &sum);
  EXPECT_NEAR(sum, 0.1f * (1 << 20), 0.5f);
  sum = 0;
  Kernels().ReduceOuter(ReduceOp::kAdd, DType::kF32)(x.data(), 1 << 20, 1, 1, &sum);
  EXPECT_NEAR(sum, 0.1f * (1 << 20), 0.5f);
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::reference::kernels
