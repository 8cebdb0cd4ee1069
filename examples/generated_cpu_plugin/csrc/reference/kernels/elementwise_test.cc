// Every entry of elementwise.inc, for every dtype it is defined for, on every ISA that this CPU
// runs, against the scalar reference: corner values crossed with each other, random bits, tails,
// broadcasts, and results in place.

#include <cstring>
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
using scalar::Pred;

constexpr int64_t kCount = 2048;

struct OpInfo {
  ElementwiseOp op;
  const char* name;
  int arity;
  DTypeSet dtypes;
};
constexpr OpInfo kOps[] = {
#define PJRT_PLUGIN_KERNEL(name, arity, dtypes) {ElementwiseOp::k##name, #name, arity, dtypes},
#include "reference/kernels/elementwise.inc"
#undef PJRT_PLUGIN_KERNEL
};

// ---- Operands ----

template <typename T>
std::vector<T> Corners() {
  if constexpr (std::is_same_v<T, Pred>) {
    return {{0}, {1}};
  } else if constexpr (scalar::kComplexNumber<T>) {
    std::vector<T> z;
    for (double re : {0.5, -1.25, 2.0, 0.0, -0.375})
      for (double im : {0.75, -0.5, 1.5, -2.25}) z.push_back(T(re, im));
    return z;
  } else if constexpr (scalar::kReal<T>) {
    std::vector<T> x;
    for (double v :
         {0.0,        0.25,  0.5,     1.0,   1.5,    2.0,       2.5,        3.0,   3.14159265,
          1.57079633, 0.7,   10.0,    17.3,  88.5,   89.5,      103.5,      710.0, 1234.5,
          65504.0,    1.0e5, 1.0e6,   3.0e6, 1.0e10, 8388609.0, 16777216.0, 1e-3,  1e-8,
          6e-8,       1e-20, 1.1e-38, 1e-42, 3.4e38, HUGE_VAL,  0.49999997})
      for (double s : {1.0, -1.0}) x.push_back(scalar::Rounded<T>(s * v));
    x.push_back(scalar::Rounded<T>(std::nan("")));
    x.push_back(scalar::Rounded<T>(-std::nan("")));
    if constexpr (std::is_same_v<T, double>) {
      for (double v : {5e-324, 1e-310, 1.7e308, 1e15}) x.push_back(v), x.push_back(-v);
    }
    return x;
  } else {
    std::vector<T> x;
    for (int64_t v : {0, 1, -1, 2, 3, -3, 7, 8, 15, 16, 31, 32, 63, 64, 100, -100, 127})
      x.push_back(T(v));
    for (T v : {std::numeric_limits<T>::min(), std::numeric_limits<T>::max()}) {
      x.push_back(v);
      x.push_back(T(v ^ 1));
    }
    return x;
  }
}

// Corners crossed so that every pair of them meets, then random values.
template <typename T>
std::vector<T> Operand(int index, uint32_t seed) {
  const std::vector<T> corners = Corners<T>();
  const int64_t c = int64_t(corners.size());
  std::mt19937_64 random(seed);
  std::vector<T> x(kCount + 8);
  for (int64_t i = 0; i < int64_t(x.size()); ++i) {
    // From a random start: c * c corner pairs may be more than a block holds.
    const int64_t pair = i + int64_t(seed % 7) * kCount;
    if (i < kCount / 2 || std::is_same_v<T, Pred> || scalar::kComplexNumber<T>) {
      x[i] = corners[size_t(index == 0   ? pair % c
                            : index == 1 ? pair / c % c
                                         : (pair * 7 + 3) % c)];
    } else if constexpr (scalar::kReal<T>) {
      // All magnitudes, but mostly those that functions take.
      const double scale = std::ldexp(1.0, int(random() % 24) - 16);
      x[i] = scalar::Rounded<T>(scale * (double(random() % 2000001) - 1000000) / 4096);
    } else if constexpr (!scalar::kComplexNumber<T> && !std::is_same_v<T, Pred>) {
      x[i] = T(random() >> (random() % 64));
    }
  }
  return x;
}

// ---- Expected results ----

std::string Text(double x) { return testing::PrintToString(x); }
template <typename T>
std::string ShowValue(const T& x) {
  if constexpr (scalar::kComplexNumber<T>) {
    return "(" + Text(x.real()) + ", " + Text(x.imag()) + ")";
  } else {
    std::ostringstream out;
    out.precision(17);
    out << +double(x);
    return out.str();
  }
}

bool Same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

// Whether `got` is within `tolerance` units in the last place of `want`.
template <typename T>
bool Near(T got, long double want, double tolerance) {
  const T nearest = scalar::Rounded<T>(want);
  if (Same(got, nearest)) return true;
  if (tolerance == 0 || std::isnan(double(got)) || std::isnan(want)) return false;
  constexpr int digits = std::is_same_v<T, double>  ? 53
                         : std::is_same_v<T, float> ? 24
                         : std::is_same_v<T, F16>   ? 11
                                                    : 8;
  constexpr int lowest = std::is_same_v<T, double> ? -1074
                         : std::is_same_v<T, F16>  ? -24
                         : std::is_same_v<T, BF16> ? -133
                                                   : -149;
  constexpr int highest = std::is_same_v<T, double> ? 1023 : std::is_same_v<T, F16> ? 15 : 127;
  int exponent = want == 0 || std::isinf(want) ? lowest : int(std::ilogb(want)) - digits + 1;
  if (exponent < lowest) exponent = lowest;
  const long double unit = std::ldexp(1.0L, exponent);
  const long double infinity = std::ldexp(1.0L, highest + 1);
  const long double g =
      std::isinf(double(got)) ? std::copysign(infinity, double(got)) : double(got);
  const long double w = std::fabs(want) > infinity ? std::copysign(infinity, want) : want;
  // An f16 rounds an f32 that is itself off by `tolerance` of the smaller units.
  const double allowed = scalar::kHalf<T> ? 1 : tolerance;
  return std::fabs(g - w) <= allowed * unit;
}

// Compares one result; nothing where the reference has no meaning for (op, T).
template <typename T>
std::optional<bool> Check(ElementwiseOp op, T x, T y, T z, const void* result) {
  if (const auto want = scalar::Compare(op, x, y); want.has_value())
    return *static_cast<const uint8_t*>(result) == uint8_t(*want);
  if constexpr (std::is_same_v<T, Pred>) {
    const auto want = scalar::Boolean(op, x, y, z);
    if (!want.has_value()) return std::nullopt;
    return static_cast<const Pred*>(result)->value == want->value;
  } else if constexpr (scalar::kComplexNumber<T>) {
    using Part = typename T::value_type;
    using Wide = std::complex<long double>;
    const double eps = std::numeric_limits<Part>::epsilon();
    const auto part = [&] { return *static_cast<const Part*>(result); };
    if (op == ElementwiseOp::kReal) return part() == x.real();
    if (op == ElementwiseOp::kImag) return part() == x.imag();
    if (op == ElementwiseOp::kAbs)
      return std::fabs((long double)(part()) - std::abs(Wide(x))) <= 2 * eps * std::abs(Wide(x));
    const auto want = scalar::ComplexFloat(op, Wide(x), Wide(y));
    if (!want.has_value()) return std::nullopt;
    const T got = *static_cast<const T*>(result);
    const T near(Part(want->real()), Part(want->imag()));
    if (std::isnan(std::abs(near)) || std::isinf(std::abs(near))) return true;
    return std::abs(Wide(got) - *want) <= 8 * eps * (std::abs(*want) + 1e-3L);
  } else if constexpr (scalar::kReal<T>) {
    if (op == ElementwiseOp::kComplex) {
      const T* got = static_cast<const T*>(result);
      return Same(got[0], x) && Same(got[1], y);
    }
    using Compute = std::conditional_t<std::is_same_v<T, double>, double, float>;
    const auto want =
        scalar::Float<Compute>(op, Compute(double(x)), Compute(double(y)), Compute(double(z)));
    if (!want.has_value()) return std::nullopt;
    return Near(*static_cast<const T*>(result), *want, scalar::Tolerance(op));
  } else {
    const auto want = scalar::Integer(op, x, y, z);
    if (!want.has_value()) return std::nullopt;
    return *static_cast<const T*>(result) == *want;
  }
}

// ---- The comparison of one kernel ----

bool ResultIsPred(ElementwiseOp op) {
  return op == ElementwiseOp::kIsFinite ||
         (op >= ElementwiseOp::kCompareEq && op <= ElementwiseOp::kCompareTotalLt);
}
template <typename T>
size_t ResultBytes(ElementwiseOp op) {
  if (ResultIsPred(op)) return 1;
  if (op == ElementwiseOp::kComplex) return 2 * sizeof(T);
  if (scalar::kComplexNumber<T> &&
      (op == ElementwiseOp::kReal || op == ElementwiseOp::kImag || op == ElementwiseOp::kAbs))
    return sizeof(T) / 2;
  return sizeof(T);
}

template <typename T>
void TestKernel(const OpInfo& info, DType dtype, ElementwiseFn kernel) {
  const std::string where =
      std::string(ActiveIsa()) + " " + info.name + " " + std::string(DTypeName(dtype));
  if (kernel == nullptr) {
    ADD_FAILURE() << where + ": the table has no kernel";
    return;
  }
  const bool select = info.op == ElementwiseOp::kSelect;
  const size_t bytes = ResultBytes<T>(info.op);
  int failures = 0;
  for (uint32_t seed = 0; seed < 3; ++seed) {
    const std::vector<T> x = Operand<T>(0, seed), y = Operand<T>(1, seed), z = Operand<T>(2, seed);
    std::vector<uint8_t> p(kCount + 8);
    for (size_t i = 0; i < p.size(); ++i) p[i] = (i * 2654435761u >> 7) & 1;
    for (int64_t n : {0, 1, 7, 17, 1000, int(kCount)}) {
      for (uint32_t scalars = 0; scalars < (1u << info.arity); ++scalars) {
        // Every part of the operands in turn is the short block, so that its corners meet the
        // tail's code.
        const int64_t start = n < 1000 ? int64_t(seed) * 97 + n + 11 * scalars : 0;
        const void* in[3] = {&x[size_t(start)], &y[size_t(start)], &z[size_t(start)]};
        if (select) in[0] = &p[size_t(start)], in[1] = &x[size_t(start)], in[2] = &y[size_t(start)];
        std::vector<unsigned char> out((size_t(n) + 1) * bytes, 0xa5);
        kernel(in, scalars, out.data(), n);
        for (size_t b = 0; b < bytes; ++b)
          if (out[size_t(n) * bytes + b] != 0xa5 && failures++ == 0)
            ADD_FAILURE() << where + ": wrote beyond the end";
        for (int64_t i = 0; i < n; ++i) {
          const auto at = [&](int j) { return size_t(start + ((scalars >> j) & 1 ? 0 : i)); };
          const void* got = &out[size_t(i) * bytes];
          bool good;
          if (select) {
            const T& want = p[at(0)] != 0 ? x[at(1)] : y[at(2)];
            good = std::memcmp(got, &want, sizeof(T)) == 0;
          } else {
            const auto verdict = Check<T>(info.op, x[at(0)], y[at(1)], z[at(2)], got);
            if (!verdict.has_value()) {
              ADD_FAILURE() << where + ": scalar_reference.h does not know it";
              return;
            }
            good = *verdict;
          }
          if (!good && failures++ < 3) {
            std::string message = where + "(" + ShowValue(x[at(0)]);
            if (info.arity > 1) message += ", " + ShowValue(y[at(1)]);
            if (info.arity > 2) message += ", " + ShowValue(z[at(2)]);
            message += ")";
            if (bytes == sizeof(T)) message += " gave " + ShowValue(*static_cast<const T*>(got));
            ADD_FAILURE() << message;
          }
        }
        // In place gives the same bits.
        if (bytes == sizeof(T) && scalars == 0 && !select && n > 0) {
          std::vector<T> own(x.begin() + start, x.begin() + start + n);
          in[0] = own.data();
          kernel(in, 0, own.data(), n);
          EXPECT_TRUE(std::memcmp(own.data(), out.data(), size_t(n) * bytes) == 0);
        }
      }
    }
  }
}

void TestOp(const OpInfo& info) {
  const KernelTable& table = Kernels();
  const auto test = [&]<typename T>(DType t, T) {
    if (Contains(info.dtypes, t)) {
      TestKernel<T>(info, t, table.Find(info.op, t));
    } else {
      EXPECT_TRUE(table.Find(info.op, t) == nullptr);
    }
  };
  test(DType::kPred, Pred{});
  test(DType::kS8, int8_t{});
  test(DType::kS16, int16_t{});
  test(DType::kS32, int32_t{});
  test(DType::kS64, int64_t{});
  test(DType::kU8, uint8_t{});
  test(DType::kU16, uint16_t{});
  test(DType::kU32, uint32_t{});
  test(DType::kU64, uint64_t{});
  test(DType::kF16, F16{});
  test(DType::kBF16, BF16{});
  test(DType::kF32, float{});
  test(DType::kF64, double{});
  test(DType::kC64, std::complex<float>{});
  test(DType::kC128, std::complex<double>{});
}

// All of the list on one ISA; nothing where the CPU lacks it.
void TestIsa(std::string_view isa) {
  if (!SelectIsa(isa).ok()) return;
  ASSERT_TRUE(ActiveIsa() == isa);
  for (const OpInfo& info : kOps) TestOp(info);
  EXPECT_TRUE(SelectIsa("").ok());
}

TEST(Elementwise, Baseline) { TestIsa("baseline"); }
TEST(Elementwise, Avx2) { TestIsa("avx2"); }
TEST(Elementwise, Avx512) { TestIsa("avx512"); }
TEST(Elementwise, Neon) { TestIsa("neon"); }

}  // namespace
}  // namespace PJRT_PLUGIN_NS::reference::kernels
