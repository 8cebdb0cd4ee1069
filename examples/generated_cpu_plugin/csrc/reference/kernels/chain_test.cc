// Every step of chain.inc, for every dtype it is defined for, on every ISA that this CPU runs:
// bit for bit what the elementwise kernels give, one after the other.

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "reference/kernels/kernel_table.h"
#include "testing/test.h"

namespace PJRT_PLUGIN_NS::reference::kernels {
namespace {

constexpr DType kTypes[] = {DType::kS32, DType::kU32, DType::kF32, DType::kF64};
constexpr int64_t kSizes[] = {0, 1, 3, 7, 17, 63, 64, 129, 1000, 1024};

struct Step {
  ChainOp step;
  ElementwiseOp op;
  bool swapped;
  DTypeSet types;
  const char* name;
};
constexpr Step kSteps[] = {
#define PJRT_PLUGIN_CHAIN_STEP(name, operation, swapped, dtypes) \
  {ChainOp::k##name, ElementwiseOp::k##operation, swapped, dtypes, #name},
#include "reference/kernels/chain.inc"
#undef PJRT_PLUGIN_CHAIN_STEP
};
bool IsUnary(const Step& s) { return s.step == ChainOp::kAbs || s.step == ChainOp::kNegate; }

// Elements of all kinds: corner values, then pseudo-random bits of moderate size.
std::vector<std::byte> Values(DType t, int64_t n, uint64_t seed) {
  std::vector<std::byte> out(size_t(n) * backend::DTypeBytes(t));
  const double corners[] = {0.0, -0.0, 1.0, -1.0, INFINITY, -INFINITY, NAN, 1e-40, 3e38, 2.5};
  for (int64_t i = 0; i < n; ++i) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    const double real = seed % 3 == 0 ? corners[seed / 3 % 10] : double(int64_t(seed >> 20)) / 1e9;
    const uint32_t bits = seed % 5 == 0 ? uint32_t(seed >> 60) * 7 : uint32_t(seed >> 32);
    const float narrow = float(real);
    const void* from = t == DType::kF32   ? static_cast<const void*>(&narrow)
                       : t == DType::kF64 ? static_cast<const void*>(&real)
                                          : static_cast<const void*>(&bits);
    std::memcpy(out.data() + size_t(i) * backend::DTypeBytes(t), from, backend::DTypeBytes(t));
  }
  return out;
}

void Apply(const Step& s, DType t, const void* running, const void* other, bool scalar, void* out,
           int64_t n) {
  const void* in[2] = {s.swapped ? other : running, s.swapped ? running : other};
  const uint32_t scalars = scalar && !IsUnary(s) ? (s.swapped ? 1u : 2u) : 0u;
  Kernels().Find(s.op, t)(in, scalars, out, n);
}

// Same bits; one NaN is as good as another.
bool Same(DType t, const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
  const size_t bytes = backend::DTypeBytes(t);
  for (size_t i = 0; i + bytes <= a.size(); i += bytes) {
    if (std::memcmp(&a[i], &b[i], bytes) == 0) continue;
    double x = 0, y = 0;
    if (t == DType::kF64) {
      std::memcpy(&x, &a[i], 8), std::memcpy(&y, &b[i], 8);
    } else if (t == DType::kF32) {
      float f;
      std::memcpy(&f, &a[i], 4), x = f;
      std::memcpy(&f, &b[i], 4), y = f;
    }
    if (!(std::isnan(x) && std::isnan(y))) return false;
  }
  return true;
}

template <typename Body>
void OnEveryIsa(Body body) {
  for (const char* isa : {"baseline", "avx2", "avx512", "neon"})
    if (SelectIsa(isa).ok()) body(isa);
  (void)SelectIsa("");
}

TEST(Chain, EveryStepIsItsElementwiseKernel) {
  OnEveryIsa([](std::string isa) {
    for (const Step& s : kSteps) {
      for (DType t : kTypes) {
        if (!Contains(s.types, t)) continue;
        for (int64_t n : kSizes) {
          for (bool scalar : {false, true}) {
            const auto x = Values(t, n, 1), y = Values(t, scalar ? 1 : n, 2);
            std::vector<std::byte> want(x.size()), got(x.size());
            Apply(s, t, x.data(), y.data(), scalar, want.data(), n);
            const ChainStep step = {s.step, scalar, IsUnary(s) ? x.data() : y.data(), got.data()};
            const ChainStep dense = {s.step, false, x.data(), got.data()};
            Kernels().chain[size_t(t)](x.data(), IsUnary(s) ? &dense : &step, 1, n);
            if (!Same(t, want, got))
              ADD_FAILURE() << isa + " " + s.name + " " + std::string(backend::DTypeName(t)) +
                                   " n=" + std::to_string(n) + (scalar ? " scalar" : "");
          }
        }
      }
    }
  });
}

// As long as a chain may be, with values stored on the way, read again, and in place.
TEST(Chain, StoresOnTheWay) {
  OnEveryIsa([](std::string isa) {
    for (int64_t n : kSizes) {
      const DType t = DType::kF32;
      const auto x = Values(t, n, 3), y = Values(t, n, 4);
      std::vector<std::byte> value = x, middle(x.size()), got_middle(x.size()), in_place = x;
      std::vector<ChainStep> steps;
      for (int i = 0; i < kMaxChainSteps; ++i) {
        const Step& s = kSteps[2 + i % 8];  // those of two operands that floats have
        const bool again = i == 9;          // reads what step 5 stored
        std::vector<std::byte> next(x.size());
        Apply(s, t, value.data(), again ? middle.data() : y.data(), false, next.data(), n);
        value = next;
        if (i == 5) middle = value;
        steps.push_back({s.step, false, again ? got_middle.data() : y.data(),
                         i == 5                    ? got_middle.data()
                         : i == kMaxChainSteps - 1 ? in_place.data()
                                                   : nullptr});
      }
      Kernels().chain[size_t(t)](in_place.data(), steps.data(), int(steps.size()), n);
      if (!Same(t, middle, got_middle) || !Same(t, value, in_place))
        ADD_FAILURE() << isa + " n=" + std::to_string(n);
    }
  });
}

TEST(Chain, FindsTheStepOfAnOperation) {
  using Op = ElementwiseOp;
  EXPECT_TRUE(FindChainOp(Op::kSubtract, DType::kF32, false) == ChainOp::kSubtract);
  EXPECT_TRUE(FindChainOp(Op::kSubtract, DType::kF32, true) == ChainOp::kSubtractFrom);
  EXPECT_TRUE(FindChainOp(Op::kAdd, DType::kS32, true) == ChainOp::kAdd);
  EXPECT_FALSE(FindChainOp(Op::kDivide, DType::kS32, false).has_value());
  EXPECT_FALSE(FindChainOp(Op::kAdd, DType::kF16, false).has_value());
  EXPECT_FALSE(FindChainOp(Op::kTanh, DType::kF32, false).has_value());
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::reference::kernels
