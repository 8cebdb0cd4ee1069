// The choice of the instruction set.

#include "reference/kernels/kernel_table.h"

#include <cstdlib>
#include <string>

#include "reference/kernels/isa/tables.h"
#include "testing/test.h"

namespace PJRT_PLUGIN_NS::reference::kernels {
namespace {

constexpr std::string_view kNames[] = {"baseline", "avx2", "avx512", "neon"};

TEST(SelectIsa, TheForcedOneIsActive) {
  for (std::string_view name : kNames) {
    if (!SelectIsa(name).ok()) continue;
    EXPECT_EQ(ActiveIsa(), name);
  }
  EXPECT_TRUE(SelectIsa("").ok());
}

// A kernel that every ISA has, and each in its own instructions.
TEST(SelectIsa, TheActiveTableHoldsItsOwnKernels) {
  const auto own = [](const KernelTable& t) { return t.gemm[size_t(DType::kF32)]; };
  const auto active = [&](std::string_view name) {
    return SelectIsa(name).ok() ? own(Kernels()) : nullptr;
  };
  EXPECT_TRUE(active("baseline") == own(baseline::kTable));
#if defined(__x86_64__)
  if (SelectIsa("avx2").ok()) EXPECT_TRUE(active("avx2") == own(avx2::kTable));
  if (SelectIsa("avx512").ok()) EXPECT_TRUE(active("avx512") == own(avx512::kTable));
#elif defined(__aarch64__)
  EXPECT_TRUE(active("neon") == own(neon::kTable));
#endif
  EXPECT_TRUE(SelectIsa("").ok());
}

TEST(SelectIsa, RefusesAnotherArchitecture) {
#if defined(__x86_64__)
  const std::string_view foreign = "neon";
#else
  const std::string_view foreign = "avx2";
#endif
  const std::string_view before = ActiveIsa();
  const backend::Status status = SelectIsa(foreign);
  EXPECT_TRUE(status.code() == backend::Code::kFailedPrecondition);
  EXPECT_CONTAINS(status.message(), foreign);
  EXPECT_CONTAINS(status.message(), "baseline");
  EXPECT_EQ(ActiveIsa(), before);
}

TEST(SelectIsa, RefusesAnUnknownNameAndSaysTheKnownOnes) {
  const backend::Status status = SelectIsa("sse9");
  EXPECT_TRUE(status.code() == backend::Code::kInvalidArgument);
  for (std::string_view name : kNames) EXPECT_CONTAINS(status.message(), name);
  EXPECT_CONTAINS(status.message(), "sse9");
}

// Every entry that the list promises is there on every ISA, conversions between all pairs included.
TEST(KernelTable, IsComplete) {
  for (std::string_view name : kNames) {
    if (!SelectIsa(name).ok()) continue;
    const KernelTable& t = Kernels();
#define PJRT_PLUGIN_KERNEL(op, arity, dtypes) \
  for (size_t d = 0; d < kNumDTypes; ++d)     \
    EXPECT_EQ(t.Find(ElementwiseOp::k##op, DType(d)) != nullptr, Contains((dtypes), DType(d)));
#include "reference/kernels/elementwise.inc"
#undef PJRT_PLUGIN_KERNEL
    for (const auto& row : t.convert)
      for (ElementwiseFn convert : row) EXPECT_TRUE(convert != nullptr);
    for (CopyFn copy : t.copy) EXPECT_TRUE(copy != nullptr);
    for (FillFn fill : t.fill) EXPECT_TRUE(fill != nullptr);
    EXPECT_TRUE(t.gather_rows != nullptr && t.gemm_scratch_bytes != nullptr);
  }
  EXPECT_TRUE(SelectIsa("").ok());
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::reference::kernels
