// The whole list of kernels for one ISA, and its table. The including file has opened the ISA's namespace and target
// region, and says before:
//   kIsOldest             whether this is the table that must be complete (baseline)
//   kVectorBytes          width of a vector register
//   kGemmRows, kGemmVectors   rows and vectors of the matrix product's register tile

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
#include "reference/kernels/vector.inl"
//
#include "reference/kernels/reduce.inl"
//
#include "reference/kernels/gemm.inl"
//
#include "reference/kernels/copy.inl"

constexpr KernelTable MakeTable() {
  KernelTable table{};
  FillElementwise(table);
  FillConvert(table);
  FillReduce(table);
  FillGemm(table);
  if constexpr (kIsOldest) FillData(table);  // moves no faster with wider registers
  return table;
}
