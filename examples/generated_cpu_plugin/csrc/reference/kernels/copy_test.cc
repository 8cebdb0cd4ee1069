// Strided copies, fills, iota and gathered rows against plain loops, for every element size.

#include <algorithm>
#include <complex>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "reference/kernels/kernel_table.h"
#include "reference/kernels/scalar_reference.h"
#include "testing/test.h"

namespace PJRT_PLUGIN_NS::reference::kernels {
namespace {

using Dims = std::vector<int64_t>;

// Row-major strides in bytes.
Dims Strides(const Dims& dims, int64_t size) {
  Dims strides(dims.size());
  for (size_t d = dims.size(); d-- > 0; size *= dims[d]) strides[d] = size;
  return strides;
}
int64_t Count(const Dims& dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

// Copies a box whose element i lies in `in` at base + i . in_strides into a dense array, and
// compares.
void TestCopy(const std::string& what, int64_t size, const Dims& dims, const Dims& in_strides,
              const std::vector<unsigned char>& in, int64_t base) {
  const Dims out_strides = Strides(dims, size);
  const int64_t n = Count(dims);
  std::vector<unsigned char> got(size_t(n * size + 1), 0xa5), want = got;
  for (int64_t i = 0; i < n; ++i) {
    int64_t rest = i, at = base;
    for (size_t d = dims.size(); d-- > 0;) at += rest % dims[d] * in_strides[d], rest /= dims[d];
    std::memcpy(&want[size_t(i * size)], &in[size_t(at)], size_t(size));
  }
  Kernels().copy[SizeIndex(size_t(size))]({.rank = int64_t(dims.size()),
                                           .dims = dims.data(),
                                           .in = in.data() + base,
                                           .in_strides = in_strides.data(),
                                           .out = got.data(),
                                           .out_strides = out_strides.data()});
  if (got != want)
    ADD_FAILURE() << what + " of elements of " + std::to_string(size) + " bytes, dims " +
                         testing::PrintToString(dims);
}

std::vector<unsigned char> Bytes(int64_t n) {
  std::mt19937 random(1);
  std::vector<unsigned char> bytes(size_t(n) + 16);
  for (auto& b : bytes) b = uint8_t(random());
  return bytes;
}

TEST(Copy, TransposesByEveryPermutation) {
  for (int64_t size : {1, 2, 4, 8, 16})
    for (const Dims& dims :
         {Dims{}, Dims{5}, Dims{3, 4}, Dims{70, 130}, Dims{64, 64}, Dims{5, 33, 17},
          Dims{2, 3, 20, 18}, Dims{1, 7, 1, 9}, Dims{0, 3}, Dims{3, 0, 2}}) {
      const std::vector<unsigned char> in = Bytes(Count(dims) * size);
      const Dims strides = Strides(dims, size);
      Dims order(dims.size());
      std::iota(order.begin(), order.end(), 0);
      do {
        Dims d, s;
        for (int64_t o : order) d.push_back(dims[size_t(o)]), s.push_back(strides[size_t(o)]);
        TestCopy("transpose " + testing::PrintToString(order), size, d, s, in, 0);
      } while (std::next_permutation(order.begin(), order.end()));
    }
}

TEST(Copy, BroadcastsReversesAndSlices) {
  for (int64_t size : {1, 2, 4, 8, 16}) {
    const std::vector<unsigned char> in = Bytes(40 * 50 * size);
    const int64_t row = 50 * size;
    TestCopy("broadcast of rows", size, {30, 50}, {0, size}, in, 0);
    TestCopy("broadcast of columns", size, {40, 30}, {row, 0}, in, 0);
    TestCopy("broadcast of a scalar", size, {7, 9}, {0, 0}, in, 3 * size);
    TestCopy("reverse of columns", size, {40, 50}, {row, -size}, in, 49 * size);
    TestCopy("reverse of rows", size, {40, 50}, {-row, size}, in, 39 * row);
    TestCopy("slice", size, {10, 20}, {row, size}, in, 2 * row + 3 * size);
    TestCopy("slice with steps", size, {10, 15}, {3 * row, 2 * size}, in, row + size);
    TestCopy("transposed slice with steps", size, {15, 10}, {2 * size, 3 * row}, in, size);
  }
}

// The other way round: a dense array into a part of a larger one, whose rest stays as it is.
TEST(Copy, WritesOnlyItsPart) {
  const std::vector<uint32_t> in = {1, 2, 3, 4, 5, 6};
  std::vector<uint32_t> out(5 * 4, 9);
  const Dims dims = {3, 2}, in_strides = {8, 4}, out_strides = {16, 8};
  Kernels().copy[2]({.rank = 2,
                     .dims = dims.data(),
                     .in = in.data(),
                     .in_strides = in_strides.data(),
                     .out = &out[5],
                     .out_strides = out_strides.data()});
  EXPECT_EQ(out,
            (std::vector<uint32_t>{9, 9, 9, 9, 9, 1, 9, 2, 9, 3, 9, 4, 9, 5, 9, 6, 9, 9, 9, 9}));
}

TEST(Fill, EverySize) {
  const std::vector<unsigned char> value = Bytes(16);
  for (int64_t size : {1, 2, 4, 8, 16})
    for (int64_t n : {0, 1, 7, 100}) {
      std::vector<unsigned char> out(size_t((n + 1) * size), 0xa5);
      Kernels().fill[SizeIndex(size_t(size))](value.data(), out.data(), n);
      for (int64_t i = 0; i < n; ++i)
        EXPECT_TRUE(std::memcmp(&out[size_t(i * size)], value.data(), size_t(size)) == 0);
      EXPECT_EQ(int(out[size_t(n * size)]), 0xa5);
    }
}

template <typename T>
void TestIota(DType t) {
  std::vector<T> out(301);
  Kernels().iota[size_t(t)](-3, 2, out.data(), 300);
  for (int64_t i = 0; i < 300; ++i) {
    const int64_t x = -3 + 2 * i;
    if constexpr (scalar::kReal<T>) {
      EXPECT_EQ(double(out[size_t(i)]), double(scalar::Rounded<T>((long double)(x))));
    } else {
      EXPECT_EQ(out[size_t(i)], T(x));
    }
  }
  EXPECT_TRUE(out[300] == T{});
}
TEST(Iota, EveryDType) {
  TestIota<int8_t>(DType::kS8);
  TestIota<int16_t>(DType::kS16);
  TestIota<int32_t>(DType::kS32);
  TestIota<int64_t>(DType::kS64);
  TestIota<uint8_t>(DType::kU8);
  TestIota<uint16_t>(DType::kU16);
  TestIota<uint32_t>(DType::kU32);
  TestIota<uint64_t>(DType::kU64);
  TestIota<scalar::F16>(DType::kF16);
  TestIota<scalar::BF16>(DType::kBF16);
  TestIota<float>(DType::kF32);
  TestIota<double>(DType::kF64);
  std::complex<float> z[2];
  Kernels().iota[size_t(DType::kC64)](4, 1, z, 2);
  EXPECT_TRUE(z[1] == std::complex<float>(5, 0));
}

TEST(GatherRows, TakesRowsAtTheirOffsets) {
  const std::vector<unsigned char> in = Bytes(1000);
  const std::vector<int64_t> offsets = {0, 900, 16, 16, 333};
  for (int64_t bytes : {0, 1, 4, 8, 12, 50}) {
    std::vector<unsigned char> out(size_t(bytes) * 5 + 1, 0xa5);
    Kernels().gather_rows(in.data(), offsets.data(), 5, bytes, out.data());
    for (size_t r = 0; r < 5; ++r)
      EXPECT_TRUE(std::memcmp(&out[r * size_t(bytes)], &in[size_t(offsets[r])], size_t(bytes)) ==
                  0);
    EXPECT_EQ(int(out.back()), 0xa5);
  }
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::reference::kernels
