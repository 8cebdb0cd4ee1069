#include "reference/kernels/kernel_table.h"

#include <atomic>
#include <string>

#include "reference/kernels/isa/tables.h"

namespace PJRT_PLUGIN_NS::reference::kernels {
namespace {

bool Always() { return true; }
#if defined(__x86_64__)
// The compilers' CPU check asks the operating system too: a kernel that does not save wide
// registers counts as none.
bool HasAvx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
         __builtin_cpu_supports("popcnt");
}
bool HasAvx512() {
  return HasAvx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#endif

struct Isa {
  std::string_view name;
  const KernelTable* kernels;
  bool (*supported)();
};
// Oldest first: each one fills the gaps of the next.
constexpr Isa kIsas[] = {
    {"baseline", &baseline::kTable, &Always},
#if defined(__x86_64__)
    {"avx2", &avx2::kTable, &HasAvx2},
    {"avx512", &avx512::kTable, &HasAvx512},
#elif defined(__aarch64__)
    {"neon", &neon::kTable, &Always},
#endif
};
constexpr size_t kNumIsas = sizeof(kIsas) / sizeof(kIsas[0]);
constexpr std::string_view kKnownNames[] = {"baseline", "avx2", "avx512", "neon"};

template <typename Fn, size_t n>
void Overlay(const Fn (&newer)[n], Fn (&merged)[n]) {
  for (size_t i = 0; i < n; ++i)
    if (newer[i] != nullptr) merged[i] = newer[i];
}
template <typename Fn, size_t n, size_t m>
void Overlay(const Fn (&newer)[n][m], Fn (&merged)[n][m]) {
  for (size_t i = 0; i < n; ++i) Overlay(newer[i], merged[i]);
}

struct Merged {
  KernelTable tables[kNumIsas];

  Merged() {
    for (size_t i = 0; i < kNumIsas; ++i) {
      const KernelTable& newer = *kIsas[i].kernels;
      KernelTable& t = tables[i];
      t = i == 0 ? portable::kTable : tables[i - 1];
      Overlay(newer.elementwise, t.elementwise);
      Overlay(newer.convert, t.convert);
      Overlay(newer.chain, t.chain);
      Overlay(newer.reduce_inner, t.reduce_inner);
      Overlay(newer.reduce_outer, t.reduce_outer);
      Overlay(newer.gemm, t.gemm);
      Overlay(newer.copy, t.copy);
      Overlay(newer.fill, t.fill);
      Overlay(newer.iota, t.iota);
      if (newer.gemm_scratch_bytes != nullptr) t.gemm_scratch_bytes = newer.gemm_scratch_bytes;
      if (newer.gather_rows != nullptr) t.gather_rows = newer.gather_rows;
    }
  }
};
const KernelTable& Table(size_t isa) {
  static const Merged merged;
  return merged.tables[isa];
}

size_t Best() {
  size_t best = 0;
  for (size_t i = 0; i < kNumIsas; ++i)
    if (kIsas[i].supported()) best = i;
  return best;
}

// The index in kIsas of the ISA in use, or -1 before the first choice.
std::atomic<int> chosen{-1};

size_t Chosen() {
  int isa = chosen.load(std::memory_order_acquire);
  if (isa < 0) {
    int none = -1;
    chosen.compare_exchange_strong(none, int(Best()));
    isa = chosen.load(std::memory_order_acquire);
  }
  return size_t(isa);
}

std::string Usable() {
  std::string names;
  for (const Isa& isa : kIsas)
    if (isa.supported()) names += (names.empty() ? "" : ", ") + std::string(isa.name);
  return names;
}

}  // namespace

const KernelTable& Kernels() { return Table(Chosen()); }

std::string_view ActiveIsa() { return kIsas[Chosen()].name; }

std::optional<ChainOp> FindChainOp(ElementwiseOp op, DType t, bool swapped) {
  constexpr struct {
    ChainOp step;
    ElementwiseOp op;
    bool swapped;
    DTypeSet types;
  } kSteps[] = {
#define PJRT_PLUGIN_CHAIN_STEP(name, operation, swapped, dtypes) \
  {ChainOp::k##name, ElementwiseOp::k##operation, swapped, dtypes},
#include "reference/kernels/chain.inc"
#undef PJRT_PLUGIN_CHAIN_STEP
  };
  // Operations whose operands may change places have one entry; which of two NaNs comes out is
  // open.
  constexpr ElementwiseOp kCommuting[] = {ElementwiseOp::kAdd,     ElementwiseOp::kMultiply,
                                          ElementwiseOp::kMaximum, ElementwiseOp::kMinimum,
                                          ElementwiseOp::kAnd,     ElementwiseOp::kOr,
                                          ElementwiseOp::kXor};
  for (ElementwiseOp one : kCommuting)
    if (one == op) swapped = false;
  for (const auto& step : kSteps)
    if (step.op == op && step.swapped == swapped && Contains(step.types, t)) return step.step;
  return std::nullopt;
}

backend::Status SelectIsa(std::string_view force) {
  if (force.empty()) {
    chosen.store(int(Best()), std::memory_order_release);
    return {};
  }
  for (size_t i = 0; i < kNumIsas; ++i) {
    if (kIsas[i].name != force) continue;
    if (!kIsas[i].supported())
      return backend::FailedPrecondition(
          "the instruction set \"" + std::string(force) +
          "\" was asked for, but this CPU lacks it; it runs: " + Usable());
    chosen.store(int(i), std::memory_order_release);
    return {};
  }
  for (std::string_view name : kKnownNames)
    if (name == force)
      return backend::FailedPrecondition(
          "the instruction set \"" + std::string(force) +
          "\" belongs to another architecture; this build has: " + Usable());
  return backend::InvalidArgument("unknown instruction set \"" + std::string(force) +
                                  "\"; give one of baseline, avx2, avx512, neon, or nothing for "
                                  "the best that the CPU runs");
}

}  // namespace PJRT_PLUGIN_NS::reference::kernels
