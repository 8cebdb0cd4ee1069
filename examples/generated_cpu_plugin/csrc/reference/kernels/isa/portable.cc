// What no instruction set makes faster, built once and part of every table: library functions of
// f64 and complex numbers, integer division, the small types, data movement.

#include "reference/kernels/isa/region.h"
#include "reference/kernels/isa/tables.h"

namespace PJRT_PLUGIN_NS::reference::kernels::portable {

inline constexpr bool kVectorKernels = false;
inline constexpr DTypeSet kTypes = kPredTypes | kIntegerTypes | kFloatTypes | kComplexTypes;

#include "reference/kernels/block.inl"
//
#include "reference/kernels/math_f32.inl"
//
#include "reference/kernels/ops.inl"
//
#include "reference/kernels/half.inl"
//
#include "reference/kernels/elementwise.inl"
//
#include "reference/kernels/convert.inl"
//
#include "reference/kernels/complex.inl"
//
#include "reference/kernels/small_types.inl"
//
#include "reference/kernels/copy.inl"

constexpr KernelTable MakeTable() {
  KernelTable table{};
  FillElementwise(table);
  FillComplex(table);
  FillSmallTypes(table);
  FillData(table);
  return table;
}
constinit const KernelTable kTable = MakeTable();

}  // namespace PJRT_PLUGIN_NS::reference::kernels::portable
