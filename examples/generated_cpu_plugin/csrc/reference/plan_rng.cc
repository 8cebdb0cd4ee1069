// rng: numbers of a generator that the program does not hold the state of. Each op has a key of its
// own, each execution of it a counter of its own: a process that runs the same programs in the same
// order gets the same numbers.

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <memory>
#include <numbers>
#include <utility>

#include "program/op_table.h"
#include "reference/kernels/kernel_table.h"
#include "reference/lowerings.h"
#include "reference/random_bits.h"

namespace PJRT_PLUGIN_NS::reference {
namespace {

using program::RngDistribution;

constexpr int64_t kRngBlock = 256;

// Bits of a uniform number that the type holds for all numbers below one.
int MantissaBits(DType dtype) {
  switch (dtype) {
    case DType::kBF16:
      return 8;
    case DType::kF16:
      return 11;
    case DType::kF64:
      return 53;
    default:
      return 24;
  }
}

struct RngKernel {
  RngDistribution distribution;
  bool whole;  // integers
  int mantissa;
  uint64_t key;
  std::shared_ptr<std::atomic<uint64_t>> executions;

  // From 0 up to, not including, 1.
  double Uniform(uint64_t bits) const {
    return std::ldexp(double(bits >> (64 - mantissa)), -mantissa);
  }
  double Float(const std::array<uint32_t, 4>& words, double a, double b) const {
    const double first = Uniform(uint64_t{words[1]} << 32 | words[0]);
    if (distribution == RngDistribution::kUniform) {
      const double x = a + first * (b - a);
      return x < b ? x : a;
    }
    // Box and Muller: one of the two.
    const double second = double(words[2]) / 4294967296.0;
    const double radius = std::sqrt(-2 * std::log1p(-first));
    return a + b * radius * std::cos(2 * std::numbers::pi * second);
  }
  static int64_t Whole(const std::array<uint32_t, 4>& words, int64_t a, int64_t b) {
    const uint64_t bits = uint64_t{words[1]} << 32 | words[0], range = uint64_t(b) - uint64_t(a);
    return range == 0 ? a : int64_t(uint64_t(a) + bits % range);
  }
};

// The scalar in 64 bits.
template <typename T>
T Read(const std::byte* value, DType from, DType to) {
  T wide;
  const void* in = value;
  kernels::Kernels().Convert(from, to)(&in, 0, &wide, 1);
  return wide;
}

}  // namespace

Status LowerRng(PlanBuilder& b, const Op& op) {
  const Type& type = op.type();
  const DType dtype = type.dtype;
  RngKernel run{op.As<RngDistribution>("rng_distribution"), !backend::IsFloat(dtype),
                MantissaBits(dtype), uint64_t(b.position()) + 1,
                std::make_shared<std::atomic<uint64_t>>(0)};
  if (backend::IsComplex(dtype) || backend::DTypeBits(dtype) < 8)
    return PlanBuilder::Unsupported(op,
                                    "its elements are neither integers nor floats of 8 bits up");
  if (run.whole && run.distribution == RngDistribution::kNormal)
    return PlanBuilder::Unsupported(op, "integers are not distributed normally");
  PJRT_PLUGIN_ASSIGN_OR_RETURN(Place first, b.Dense(op.operands[0]));
  PJRT_PLUGIN_ASSIGN_OR_RETURN(Place second, b.Dense(op.operands[1]));
  const Place out = b.NewResult(op.result());
  const DType wide = run.whole ? DType::kS64 : DType::kF64;
  kernels::ElementwiseFn narrow = kernels::Kernels().Convert(wide, dtype);
  const int64_t elements = type.num_elements(), bytes = int64_t(backend::DTypeBytes(dtype));
  b.Emit(op, {.reads = {first.buffer, second.buffer}, .writes = {out.buffer}},
         [=](const Frame& frame) {
           const uint64_t execution = run.executions->fetch_add(1);
           const std::byte *from = first.At(frame), *to = second.At(frame);
           frame.pool->ParallelFor(elements, kRngBlock, [&](int64_t begin, int64_t end) {
             double floats[kRngBlock];
             int64_t whole[kRngBlock];
             const double a = Read<double>(from, dtype, DType::kF64);
             const double c = Read<double>(to, dtype, DType::kF64);
             const int64_t low = Read<int64_t>(from, dtype, DType::kS64);
             const int64_t high = Read<int64_t>(to, dtype, DType::kS64);
             for (int64_t i = begin; i < end; i += kRngBlock) {
               const int64_t n = std::min(kRngBlock, end - i);
               for (int64_t k = 0; k < n; ++k) {
                 const auto words = Philox4x32(run.key, uint64_t(i + k), execution);
                 if (run.whole) {
                   whole[k] = RngKernel::Whole(words, low, high);
                 } else {
                   floats[k] = run.Float(words, a, c);
                 }
               }
               const void* made = run.whole ? static_cast<const void*>(whole) : floats;
               narrow(&made, 0, out.At(frame) + i * bytes, n);
             }
           });
           return Status();
         });
  return Status();
}

}  // namespace PJRT_PLUGIN_NS::reference
