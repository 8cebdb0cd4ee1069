// Factors and solutions, multiplied out again.

#include <cmath>
#include <complex>
#include <cstdint>
#include <vector>

#include "program/op_table.h"
#include "reference/testing_run.h"

namespace PJRT_PLUGIN_NS::reference {
namespace {

using program::Builder;
using program::OpCode;
using program::Transpose;

template <typename T>
struct Info;
template <>
struct Info<float> {
  static constexpr DType kType = DType::kF32;
  static constexpr double kTolerance = 2e-5;
};
template <>
struct Info<double> {
  static constexpr DType kType = DType::kF64;
  static constexpr double kTolerance = 1e-13;
};
template <>
struct Info<std::complex<float>> {
  static constexpr DType kType = DType::kC64;
  static constexpr double kTolerance = 5e-5;
};
template <>
struct Info<std::complex<double>> {
  static constexpr DType kType = DType::kC128;
  static constexpr double kTolerance = 1e-13;
};

template <typename T>
T Number(int64_t i) {
  const double re = double(i * 7919 % 101) / 101 - 0.5, im = double(i * 104729 % 97) / 97 - 0.5;
  if constexpr (std::is_floating_point_v<T>) {
    return T(re);
  } else {
    return T(typename T::value_type(re), typename T::value_type(im));
  }
}
template <typename T>
T Conjugate(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    return x;
  } else {
    return std::conj(x);
  }
}

template <typename T>
using Matrix = std::vector<T>;  // n by n or n by m, row-major

template <typename T>
Matrix<T> Multiply(const Matrix<T>& a, const Matrix<T>& b, int64_t rows, int64_t inner,
                   int64_t columns) {
  Matrix<T> c(size_t(rows * columns), T(0));
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t k = 0; k < inner; ++k)
      for (int64_t j = 0; j < columns; ++j)
        c[size_t(i * columns + j)] += a[size_t(i * inner + k)] * b[size_t(k * columns + j)];
  return c;
}

template <typename T>
double Distance(const Matrix<T>& a, const Matrix<T>& b) {
  double off = a.size() == b.size() ? 0 : HUGE_VAL, largest = 1;
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
    off = std::max(off, double(std::abs(a[i] - b[i])));
    largest = std::max(largest, double(std::abs(b[i])));
  }
  return off / largest;
}

// The conjugate transposed.
template <typename T>
Matrix<T> Adjoint(const Matrix<T>& a, int64_t n) {
  Matrix<T> turned(a.size());
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) turned[size_t(i * n + j)] = Conjugate(a[size_t(j * n + i)]);
  return turned;
}

template <typename T>
void CheckCholesky(int64_t n, bool lower) {
  Matrix<T> half;
  for (int64_t i = 0; i < n * n; ++i) half.push_back(Number<T>(i));
  Matrix<T> a = Multiply(half, Adjoint(half, n), n, n, n);
  for (int64_t i = 0; i < n; ++i) a[size_t(i * n + i)] += T(1);
  Matrix<T> given = a;  // only one triangle counts
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j)
      if (lower ? j > i : j < i) given[size_t(i * n + j)] = T(1000);
  const Type type = Type::Tensor(Info<T>::kType, {n, n});
  Builder b({type});
  b.Return({b.Add(OpCode::kCholesky, {b.argument(0)}, type, {{"lower", {lower}}})});
  const Matrix<T> factor = Harness().One<T>(b.module(), {Bytes(given)});
  ASSERT_EQ(factor.size(), a.size());
  const Matrix<T> turned = Adjoint(factor, n);
  const Matrix<T> again =
      lower ? Multiply(factor, turned, n, n, n) : Multiply(turned, factor, n, n, n);
  EXPECT_LE(Distance(again, a), Info<T>::kTolerance) << "size " << n;
}

TEST(Cholesky, Factors) {
  for (int64_t n : {1, 2, 5, 47, 48, 49, 130})
    for (bool lower : {true, false}) {
      CheckCholesky<float>(n, lower);
      CheckCholesky<double>(n, lower);
      CheckCholesky<std::complex<float>>(n, lower);
      CheckCholesky<std::complex<double>>(n, lower);
    }
}

TEST(Cholesky, NotPositiveDefiniteIsNotANumber) {
  const Type type = Type::Tensor(DType::kF32, {2, 2, 2});
  Builder b({type});
  b.Return({b.Add(OpCode::kCholesky, {b.argument(0)}, type, {{"lower", {true}}})});
  const auto made = Harness().One<float>(b.module(), {Bytes<float>({1, 2, 2, 1, 4, 0, 2, 10})});
  ASSERT_EQ(made.size(), size_t{8});
  EXPECT_TRUE(std::isnan(made[0]) && std::isnan(made[2]) && std::isnan(made[3]));
  EXPECT_EQ((std::vector<float>(made.begin() + 4, made.end())), (std::vector<float>{2, 0, 1, 3}));
}

TEST(Cholesky, Nothing) {
  const Type type = Type::Tensor(DType::kF32, {3, 0, 0});
  Builder b({type});
  b.Return({b.Add(OpCode::kCholesky, {b.argument(0)}, type, {{"lower", {true}}})});
  EXPECT_TRUE(Harness().One<float>(b.module(), {Data()}).empty());
}

template <typename T>
void CheckSolve(int64_t n, int64_t m, bool left, bool lower, bool unit, Transpose transpose) {
  const int64_t batches = 2, rows = left ? n : m, columns = left ? m : n;
  Matrix<T> all_a, all_b;
  for (int64_t i = 0; i < batches * n * n; ++i) {
    const bool diagonal = i % (n * n) % (n + 1) == 0;
    all_a.push_back(Number<T>(i) * T(1.0 / double(n)) + T(diagonal ? 2 : 0));
  }
  for (int64_t i = 0; i < batches * n * m; ++i) all_b.push_back(Number<T>(i + 5));
  const Type a_type = Type::Tensor(Info<T>::kType, {batches, n, n});
  const Type b_type = Type::Tensor(Info<T>::kType, {batches, rows, columns});
  Builder b({a_type, b_type});
  b.Return({b.Add(OpCode::kTriangularSolve, {b.argument(0), b.argument(1)}, b_type,
                  {{"left_side", {left}},
                   {"lower", {lower}},
                   {"transpose_a", {int64_t(transpose)}},
                   {"unit_diagonal", {unit}}})});
  const Matrix<T> x = Harness().One<T>(b.module(), {Bytes(all_a), Bytes(all_b)});
  ASSERT_EQ(x.size(), all_b.size());
  for (int64_t batch = 0; batch < batches; ++batch) {
    auto part = [&](const Matrix<T>& all, int64_t size) {
      return Matrix<T>(all.begin() + batch * size, all.begin() + (batch + 1) * size);
    };
    Matrix<T> a = part(all_a, n * n);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j) {
        T& one = a[size_t(i * n + j)];
        if (lower ? j > i : j < i) one = T(0);
        if (i == j && unit) one = T(1);
      }
    if (transpose != Transpose::kNoTranspose) a = Adjoint(a, n);
    if (transpose == Transpose::kTranspose)
      for (T& one : a) one = Conjugate(one);
    const Matrix<T> solved = part(x, n * m);
    const Matrix<T> again = left ? Multiply(a, solved, n, n, m) : Multiply(solved, a, m, n, n);
    EXPECT_LE(Distance(again, part(all_b, n * m)), Info<T>::kTolerance)
        << n << " by " << m << ", left " << left << ", lower " << lower << ", unit " << unit;
  }
}

TEST(TriangularSolve, EverySideAndTriangle) {
  for (auto transpose : {Transpose::kNoTranspose, Transpose::kTranspose, Transpose::kAdjoint})
    for (int which = 0; which < 8; ++which) {
      const bool left = which & 1, lower = which & 2, unit = which & 4;
      CheckSolve<float>(5, 3, left, lower, unit, transpose);
      CheckSolve<double>(100, 70, left, lower, unit, transpose);
      CheckSolve<std::complex<float>>(50, 4, left, lower, unit, transpose);
      CheckSolve<std::complex<double>>(7, 1, left, lower, unit, transpose);
    }
}

TEST(TriangularSolve, Nothing) {
  const Type a = Type::Tensor(DType::kF32, {3, 3}), none = Type::Tensor(DType::kF32, {3, 0});
  Builder b({a, none});
  b.Return({b.Add(OpCode::kTriangularSolve, {b.argument(0), b.argument(1)}, none,
                  {{"left_side", {true}},
                   {"lower", {true}},
                   {"transpose_a", {int64_t(Transpose::kNoTranspose)}},
                   {"unit_diagonal", {false}}})});
  EXPECT_TRUE(Harness()
                  .One<float>(b.module(), {Bytes<float>({1, 0, 0, 0, 1, 0, 0, 0, 1}), Data()})
                  .empty());
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::reference
