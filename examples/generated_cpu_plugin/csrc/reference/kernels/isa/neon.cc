// The kernels for aarch64 CPUs. Their baseline has NEON already; what changes is the matrix
// product's tile, which may use 32 registers.

#include "reference/kernels/isa/region.h"
#include "reference/kernels/isa/tables.h"

#if defined(__aarch64__)

namespace PJRT_PLUGIN_NS::reference::kernels::neon {

inline constexpr int kVectorBytes = 16;
inline constexpr int kGemmRows = 6;
inline constexpr int kGemmVectors = 4;

#include "reference/kernels/block.inl"
//
#include "reference/kernels/math_f32.inl"
//
#include "reference/kernels/ops.inl"
//
#include "reference/kernels/half.inl"
//
#include "reference/kernels/vector.inl"
//
#include "reference/kernels/gemm.inl"

constexpr KernelTable MakeTable() {
  KernelTable table{};
  FillGemm(table);
  return table;
}
constinit const KernelTable kTable = MakeTable();

}  // namespace PJRT_PLUGIN_NS::reference::kernels::neon

#endif  // aarch64
