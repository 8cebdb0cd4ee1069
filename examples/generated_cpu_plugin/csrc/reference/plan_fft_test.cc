// Transforms against their definition: all kinds of lengths, dimensions and precisions.

#include <cmath>
#include <complex>
#include <cstdint>
#include <numbers>
#include <vector>

#include "program/op_table.h"
#include "reference/testing_run.h"

namespace PJRT_PLUGIN_NS::reference {
namespace {

using program::Builder;
using program::FftType;
using program::Ints;
using program::OpCode;
using Numbers = std::vector<std::complex<double>>;

// Transforms every line along dimension `d`.
Numbers Along(const Numbers& in, const Dims& dims, size_t d, double sign) {
  const Dims strides = DenseStrides(dims);
  const int64_t n = dims[d];
  Numbers out(in.size());
  for (size_t i = 0; i < in.size(); ++i) {
    const int64_t k = int64_t(i) / strides[d] % n, first = int64_t(i) - k * strides[d];
    for (int64_t j = 0; j < n; ++j) {
      const double angle = sign * 2 * std::numbers::pi * double(j * k % n) / double(n);
      out[i] += in[size_t(first + j * strides[d])] * std::polar(1.0, angle);
    }
    if (sign > 0) out[i] /= double(n);
  }
  return out;
}

// The first `half` of every row of `n`.
template <typename T>
std::vector<T> Cut(const std::vector<T>& in, int64_t n, int64_t half) {
  std::vector<T> out;
  for (size_t i = 0; i < in.size(); ++i)
    if (int64_t(i) % n < half) out.push_back(in[i]);
  return out;
}

template <typename T>
std::vector<T> Flat(const Numbers& numbers, bool real) {
  std::vector<T> flat;
  for (std::complex<double> x : numbers) {
    flat.push_back(T(x.real()));
    if (!real) flat.push_back(T(x.imag()));
  }
  return flat;
}

Numbers Some(int64_t count, bool real) {
  Numbers numbers;
  for (int64_t i = 0; i < count; ++i)
    numbers.emplace_back(double(i * 37 % 19) - 9, real ? 0 : double(i * 23 % 17) - 8);
  return numbers;
}

template <typename T>
void Check(FftType type, const Dims& dims, size_t count, double tolerance) {
  const bool from_real = type == FftType::kRfft, to_real = type == FftType::kIrfft;
  const bool inverse = to_real || type == FftType::kIfft;
  const int64_t n = dims.back(), half = n / 2 + 1;
  Dims half_dims = dims;
  half_dims.back() = half;
  Numbers in = Some(Product(dims), from_real || to_real), wanted = in;
  for (size_t d = dims.size() - count; d < dims.size(); ++d)
    wanted = Along(wanted, dims, d, inverse ? 1 : -1);
  if (from_real) wanted = Cut(wanted, n, half);
  if (to_real) {  // back from the transform of real numbers
    wanted = in;
    for (size_t d = dims.size() - count; d < dims.size(); ++d) in = Along(in, dims, d, -1);
    in = Cut(in, n, half);
  }
  const DType real = sizeof(T) == 4 ? DType::kF32 : DType::kF64;
  const DType pairs = sizeof(T) == 4 ? DType::kC64 : DType::kC128;
  const Type from = Type::Tensor(from_real ? real : pairs, to_real ? half_dims : dims);
  const Type to = Type::Tensor(to_real ? real : pairs, from_real ? half_dims : dims);
  Builder b({from});
  b.Return({b.Add(OpCode::kFft, {b.argument(0)}, to,
                  {{"fft_length", {Ints(dims.end() - std::ptrdiff_t(count), dims.end())}},
                   {"fft_type", {int64_t(type)}}})});
  const auto made = Harness().One<T>(b.module(), {Bytes(Flat<T>(in, from_real))});
  const auto right = Flat<T>(wanted, to_real);
  ASSERT_EQ(made.size(), right.size());
  double largest = 0, off = 0;
  for (size_t i = 0; i < right.size(); ++i) {
    largest = std::max(largest, std::abs(double(right[i])));
    off = std::max(off, std::abs(double(made[i]) - double(right[i])));
  }
  EXPECT_LE(off, tolerance * largest) << "type " << int(type) << ", length " << n;
}

constexpr FftType kAll[] = {FftType::kFft, FftType::kIfft, FftType::kRfft, FftType::kIrfft};

TEST(Fft, Lengths) {
  for (FftType type : kAll)
    for (int64_t n : {1, 2, 3, 4, 5, 6, 7, 8, 12, 25, 31, 37, 74, 97, 120, 128, 202, 360}) {
      Check<double>(type, {n}, 1, 1e-14);
      Check<float>(type, {5, n}, 1, 1e-6);
    }
}

TEST(Fft, Dimensions) {
  for (FftType type : kAll) {
    Check<double>(type, {3, 10, 7, 12}, 3, 1e-14);
    Check<double>(type, {4, 9, 11}, 2, 1e-14);
    Check<float>(type, {37, 41}, 2, 1e-6);
  }
}

TEST(Fft, Nothing) {
  Builder b({Type::Tensor(DType::kC64, {0, 4})});
  b.Return({b.Add(OpCode::kFft, {b.argument(0)}, Type::Tensor(DType::kC64, {0, 4}),
                  {{"fft_length", {Ints{4}}}, {"fft_type", {int64_t(FftType::kFft)}}})});
  EXPECT_TRUE(Harness().One<float>(b.module(), {Data()}).empty());
}

// What the transform of real numbers cannot have is not looked at.
TEST(Fft, ImaginaryPartsOfTheEndsAreIgnored) {
  for (int64_t n : {4, 5}) {
    const Type from = Type::Tensor(DType::kC64, {n / 2 + 1});
    Builder b({from});
    b.Return({b.Add(OpCode::kFft, {b.argument(0)}, Type::Tensor(DType::kF32, {n}),
                    {{"fft_length", {Ints{n}}}, {"fft_type", {int64_t(FftType::kIrfft)}}})});
    const float last = n == 4 ? 9.0f : 0.0f;  // of an odd length the last has a partner
    EXPECT_EQ(Harness().One<float>(b.module(), {Bytes<float>({1, 7, 0, 0, 2, last})}),
              Harness().One<float>(b.module(), {Bytes<float>({1, 0, 0, 0, 2, 0})}));
  }
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::reference
