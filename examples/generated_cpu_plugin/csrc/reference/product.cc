#include "reference/product.h"

#include <utility>

#include "reference/kernels/kernel_table.h"

namespace PJRT_PLUGIN_NS::reference {

using backend::DTypeBytes;

std::optional<Axis> Join(const View& view, const Dims& axes) {
  View part{view.buffer, view.dtype, 0, {}, {}};
  for (int64_t d : axes) {
    part.dims.push_back(view.dims[size_t(d)]);
    part.strides.push_back(view.strides[size_t(d)]);
  }
  int64_t elements = part.num_elements();
  if (elements == 0) return Axis{0, 0};
  part = Collapsed(std::move(part));
  if (part.dims.size() > 1) return std::nullopt;
  return part.dims.empty() ? Axis{1, 0} : Axis{part.dims[0], part.strides[0]};
}

namespace {

// Integers, floats, complex numbers: each kind holds what the ones before it hold, nearly.
int KindOf(DType t) { return backend::IsComplex(t) ? 2 : backend::IsFloat(t) ? 1 : 0; }

// Of two types the one that has more values.
DType Wider(DType a, DType b) {
  if (KindOf(a) != KindOf(b)) return KindOf(a) > KindOf(b) ? a : b;
  return DTypeBytes(kernels::AccumulatorType(a)) >= DTypeBytes(kernels::AccumulatorType(b)) ? a : b;
}

}  // namespace

DType ProductType(DType lhs, DType rhs, DType result) {
  const DType widest = Wider(Wider(lhs, rhs), result);
  const bool half = backend::IsFloat(widest) && kernels::AccumulatorType(widest) == DType::kF32;
  if (half && (lhs != widest || rhs != widest)) return DType::kF32;  // bf16 and f16, say
  if (kernels::Kernels().gemm[size_t(widest)] != nullptr) return widest;
  return backend::IsFloat(widest) ? DType::kF32 : DType::kS32;
}

Result<View> OperandAs(PlanBuilder& b, const Value* value, DType type) {
  PJRT_PLUGIN_ASSIGN_OR_RETURN(View view, b.ViewOf(value));
  if (view.dtype == type) return view;
  Place in = b.Dense(view);
  const int64_t elements = view.num_elements();
  BufferId out = b.NewTemp(size_t(elements) * DTypeBytes(type));
  kernels::ElementwiseFn convert = kernels::Kernels().Convert(view.dtype, type);
  b.Emit("convert operand", {.reads = {in.buffer}, .writes = {out}}, [=](const Frame& frame) {
    frame.pool->ParallelFor(elements, int64_t{1} << 16, [&](int64_t begin, int64_t end) {
      const void* from = in.At(frame) + begin * int64_t(DTypeBytes(view.dtype));
      convert(&from, 0, frame.At(out) + begin * int64_t(DTypeBytes(type)), end - begin);
    });
    return Status();
  });
  return View{out, type, 0, view.dims, DenseStrides(view.dims)};
}

}  // namespace PJRT_PLUGIN_NS::reference
