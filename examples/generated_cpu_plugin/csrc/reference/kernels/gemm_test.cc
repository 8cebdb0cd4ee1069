// Matrix products of every dtype and shape class, on every ISA that this CPU runs, against three
// plain loops.

#include <complex>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "reference/kernels/kernel_table.h"
#include "reference/kernels/scalar_reference.h"
#include "testing/test.h"

namespace PJRT_PLUGIN_NS::reference::kernels {
namespace {

using scalar::BF16;
using scalar::F16;

// Small whole numbers: every product and sum is exact in every dtype, so that results compare
// equal.
template <typename T>
std::vector<T> Numbers(int64_t n, int seed) {
  std::vector<T> x(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) {
    const int v = int((i * 7 + seed + i / 13) % 5) - 2;
    if constexpr (scalar::kHalf<T>) {
      x[size_t(i)] = T::From(v);
    } else if constexpr (scalar::kComplexNumber<T>) {
      x[size_t(i)] = T(v, (v + seed) % 3);
    } else {
      x[size_t(i)] = T(v);
    }
  }
  return x;
}

template <typename T>
auto Value(T x) {
  if constexpr (scalar::kHalf<T>) {
    return float(double(x));
  } else {
    return x;
  }
}

struct Case {
  int64_t m, n, k;
};
constexpr Case kCases[] = {{1, 1, 1},     {8, 8, 8},      {3, 5, 7},      {0, 4, 4},
                           {4, 0, 4},     {4, 4, 0},      {1, 100, 37},   {100, 1, 37},
                           {2, 300, 70},  {17, 33, 65},   {1, 70, 1000},  {64, 64, 64},
                           {50, 10, 300}, {13, 16, 600},  {97, 131, 257}, {150, 9, 270},
                           {30, 2100, 5}, {201, 65, 513}, {1, 8200, 3},   {1, 4111, 9}};

template <typename T>
void TestProduct(DType t, const Case& c, bool a_transposed, bool b_transposed, bool accumulate) {
  using A = decltype(Value(T{}));
  const std::vector<T> a = Numbers<T>(c.m * c.k, 1), b = Numbers<T>(c.k * c.n, 2);
  const int64_t c_row = c.n == 1 ? 1 : c.n + 2;
  const std::vector<A> before = Numbers<A>(c.m * c_row + 1, 3);
  std::vector<A> got = before, want = before;
  GemmArgs g{.m = c.m,
             .n = c.n,
             .k = c.k,
             .a = a.data(),
             .a_row = a_transposed ? 1 : c.k,
             .a_col = a_transposed ? c.m : 1,
             .b = b.data(),
             .b_row = b_transposed ? 1 : c.n,
             .b_col = b_transposed ? c.k : 1,
             .c = got.data(),
             .c_row = c_row,
             .accumulate = accumulate};
  for (int64_t i = 0; i < c.m; ++i)
    for (int64_t j = 0; j < c.n; ++j) {
      A sum = accumulate ? want[size_t(i * c_row + j)] : A{};
      for (int64_t p = 0; p < c.k; ++p)
        sum = A(sum + Value(a[size_t(i * g.a_row + p * g.a_col)]) *
                          Value(b[size_t(p * g.b_row + j * g.b_col)]));
      want[size_t(i * c_row + j)] = sum;
    }
  // Exactly the scratch that was asked for, so that a sanitizer sees what goes beyond.
  const size_t bytes = Kernels().gemm_scratch_bytes(t, c.m, c.n, c.k);
  const std::unique_ptr<void, decltype(&std::free)> scratch(
      std::aligned_alloc(64, (bytes + 127) / 64 * 64), &std::free);
  Kernels().gemm[size_t(t)](g, scratch.get());
  if (got != want)
    ADD_FAILURE() << std::string(ActiveIsa()) + " " + std::string(DTypeName(t)) + " " +
                         std::to_string(c.m) + "x" + std::to_string(c.n) + "x" +
                         std::to_string(c.k) + (a_transposed ? " A'" : "") +
                         (b_transposed ? " B'" : "") + (accumulate ? " accumulating" : "");
}

template <typename T>
void TestDType(DType t) {
  ASSERT_TRUE(Kernels().gemm[size_t(t)] != nullptr);
  for (const Case& c : kCases)
    for (int flags = 0; flags < 8; ++flags)
      TestProduct<T>(t, c, (flags & 1) != 0, (flags & 2) != 0, (flags & 4) != 0);
}

void TestIsa(std::string_view isa) {
  if (!SelectIsa(isa).ok()) return;
  TestDType<float>(DType::kF32);
  TestDType<double>(DType::kF64);
  TestDType<F16>(DType::kF16);
  TestDType<BF16>(DType::kBF16);
  TestDType<int8_t>(DType::kS8);
  TestDType<int16_t>(DType::kS16);
  TestDType<int32_t>(DType::kS32);
  TestDType<int64_t>(DType::kS64);
  TestDType<uint8_t>(DType::kU8);
  TestDType<uint16_t>(DType::kU16);
  TestDType<uint32_t>(DType::kU32);
  TestDType<uint64_t>(DType::kU64);
  TestDType<std::complex<float>>(DType::kC64);
  TestDType<std::complex<double>>(DType::kC128);
  EXPECT_TRUE(SelectIsa("").ok());
}

TEST(Gemm, Baseline) { TestIsa("baseline"); }
TEST(Gemm, Avx2) { TestIsa("avx2"); }
TEST(Gemm, Avx512) { TestIsa("avx512"); }
TEST(Gemm, Neon) { TestIsa("neon"); }

TEST(Gemm, PartsCoverTheProductOnce) {
  for (int64_t threads : {1, 2, 3, 8, 64})
    for (const Case& c : {Case{512, 512, 512}, Case{1, 5000, 5000}, Case{5000, 1, 5000},
                          Case{100, 100, 100}, Case{7, 9, 11}, Case{0, 5, 5}, Case{4096, 64, 64}}) {
      const GemmSplit s = SplitGemm(c.m, c.n, c.k, threads);
      EXPECT_LE(s.row_parts * s.column_parts, threads);
      EXPECT_LE(c.m, s.row_parts * s.rows_per_part);
      EXPECT_LE(c.n, s.column_parts * s.columns_per_part);
      if (s.row_parts > 1) EXPECT_LE((s.row_parts - 1) * s.rows_per_part + 1, c.m);
      if (s.column_parts > 1) EXPECT_LE((s.column_parts - 1) * s.columns_per_part + 1, c.n);
    }
  const GemmSplit two = SplitGemm(512, 512, 512, 2);
  EXPECT_EQ(two.row_parts * two.column_parts, 2);
  const GemmSplit small = SplitGemm(8, 8, 8, 16);
  EXPECT_EQ(small.row_parts * small.column_parts, 1);
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::reference::kernels
