// All kernels that vectorise, for one ISA, and its table. The including file has opened the ISA's
// namespace and target region, and has said before:
//   kTypes                the dtypes that are worth an instance of their own
//   kVectorBytes          width of a vector register
//   kGemmRows, kGemmVectors   rows and vectors of the matrix product's register tile

inline constexpr bool kVectorKernels = true;

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
#include "reference/kernels/chain.inl"
//
#include "reference/kernels/reduce.inl"
//
#include "reference/kernels/gemm.inl"

constexpr KernelTable MakeTable() {
  KernelTable table{};
  FillElementwise(table);
  FillConvert(table);
  FillChain(table);
  FillReduce(table);
  FillGemm(table);
  return table;
}
