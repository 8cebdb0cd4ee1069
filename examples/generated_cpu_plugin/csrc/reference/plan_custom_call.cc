// Custom calls: functions outside of StableHLO that frameworks name. These are the ones that JAX's
// releases send to a platform which registers none of its own.

#include <algorithm>
#include <cmath>
#include <complex>
#include <string>
#include <string_view>

#include "program/pass_spmd.h"
#include "reference/kernels/kernel_table.h"
#include "reference/lowerings.h"
#include "reference/partition.h"

namespace PJRT_PLUGIN_NS::reference {
namespace {

// An elementwise function by dtype; null where it has none.
struct Math {
  std::string_view target;
  float (*f32)(float);
  double (*f64)(double);
  std::complex<float> (*c64)(std::complex<float>);
  std::complex<double> (*c128)(std::complex<double>);
};

#define PJRT_PLUGIN_MATH(name)                                                                 \
  {"mhlo." #name, [](float x) { return std::name(x); }, [](double x) { return std::name(x); }, \
   [](std::complex<float> x) { return std::name(x); },                                         \
   [](std::complex<double> x) { return std::name(x); }}
// Frameworks up to 2025 send these; later ones send what they are made of.
constexpr Math kMath[] = {
    PJRT_PLUGIN_MATH(acos),
    PJRT_PLUGIN_MATH(acosh),
    PJRT_PLUGIN_MATH(asin),
    PJRT_PLUGIN_MATH(asinh),
    PJRT_PLUGIN_MATH(atanh),
    PJRT_PLUGIN_MATH(cosh),
    PJRT_PLUGIN_MATH(sinh),
    {"mhlo.erf", [](float x) { return std::erf(x); }, [](double x) { return std::erf(x); }, nullptr,
     nullptr},
};
#undef PJRT_PLUGIN_MATH

template <typename T>
void Map(T (*function)(T), const std::byte* in, std::byte* out, int64_t n) {
  const auto* from = reinterpret_cast<const T*>(in);
  auto* to = reinterpret_cast<T*>(out);
  for (int64_t i = 0; i < n; ++i) to[i] = function(from[i]);
}

// f16 and bf16, in f32.
void MapHalf(const Math& math, DType dtype, const std::byte* in, std::byte* out, int64_t n) {
  constexpr int64_t kBlock = 256;
  float block[kBlock];
  const auto widen = kernels::Kernels().Convert(dtype, DType::kF32);
  const auto narrow = kernels::Kernels().Convert(DType::kF32, dtype);
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t count = std::min(kBlock, n - i);
    const void* from[] = {in + i * 2};
    widen(from, 0, block, count);
    for (int64_t j = 0; j < count; ++j) block[j] = math.f32(block[j]);
    const void* wide[] = {block};
    narrow(wide, 0, out + i * 2, count);
  }
}

bool HasMath(const Math& math, DType dtype) {
  switch (dtype) {
    case DType::kF16:
    case DType::kBF16:
    case DType::kF32:
    case DType::kF64:
      return true;
    case DType::kC64:
    case DType::kC128:
      return math.c64 != nullptr;
    default:
      return false;
  }
}

void ApplyMath(const Math& math, DType dtype, const std::byte* in, std::byte* out, int64_t n) {
  switch (dtype) {
    case DType::kF32:
      return Map(math.f32, in, out, n);
    case DType::kF64:
      return Map(math.f64, in, out, n);
    case DType::kC64:
      return Map(math.c64, in, out, n);
    case DType::kC128:
      return Map(math.c128, in, out, n);
    default:
      return MapHalf(math, dtype, in, out, n);
  }
}

Status LowerMath(PlanBuilder& b, const Op& op, const Math& math) {
  PJRT_PLUGIN_ASSIGN_OR_RETURN(Place in, b.Dense(op.operands[0]));
  const Place out = b.NewResult(op.result());
  const DType dtype = op.type().dtype;
  const int64_t bytes = int64_t(backend::DTypeBytes(dtype));
  b.Emit(op, {.reads = {in.buffer}, .writes = {out.buffer}, .in_place = {{in.buffer, out.buffer}}},
         [=, &math, n = op.type().num_elements()](const Frame& frame) {
           frame.pool->ParallelFor(n, int64_t{1} << 12, [&](int64_t begin, int64_t end) {
             ApplyMath(math, dtype, in.At(frame) + begin * bytes, out.At(frame) + begin * bytes,
                       end - begin);
           });
           return Status();
         });
  return Status();
}

}  // namespace

Status LowerCustomCall(PlanBuilder& b, const Op& op) {
  const std::string& target = op.String("call_target_name");
  // JAX's mark of a value that is not to be removed; nothing is done with it.
  if (target == "dce_sink" && op.results.empty()) return Status();
  if (op.operands.size() == 1 && op.results.size() == 1 && op.operand_type(0).is_tensor() &&
      op.type().is_tensor()) {
    if (target == program::kFullToShard) return LowerFullToShard(b, op);
    if (target == program::kShardToFull) return LowerShardToFull(b, op);
    const bool same_type = op.operand_type(0) == op.type();
    // Hints of frameworks; the operand is the result.
    if (same_type && (target == "annotate_device_placement" || target == "LayoutConstraint"))
      return LowerIdentity(b, op);
    for (const Math& math : kMath)
      if (same_type && target == math.target && HasMath(math, op.type().dtype))
        return LowerMath(b, op, math);
  }
  return LowerForeignCall(b, op);
}

}  // namespace PJRT_PLUGIN_NS::reference
