#include <algorithm>
#include <utility>
#include <vector>

#include "program/op_table.h"
#include "reference/kernels/kernel_table.h"
#include "reference/lowerings.h"
#include "reference/pad.h"
#include "reference/scalar_index.h"

namespace PJRT_PLUGIN_NS::reference {

using backend::DTypeBytes;

Status LowerConcatenate(PlanBuilder& b, const Op& op) {
  const size_t axis = size_t(op.Int("dimension"));
  const Type& type = op.type();
  std::vector<View> parts;
  for (const Value* operand : op.operands) {
    PJRT_PLUGIN_ASSIGN_OR_RETURN(View part, b.ViewOf(operand));
    parts.push_back(std::move(part));
  }
  BufferId out = b.NewResult(op.result()).buffer;
  const Dims strides = DenseStrides(type.dims);
  int64_t start = 0;
  for (const View& part : parts) {
    if (part.num_elements() != 0 || parts.size() == 1)
      b.EmitCopy(part, View{out, type.dtype, start * strides[axis], part.dims, strides});
    start += part.dims[axis];
  }
  return Status();
}

void EmitPad(PlanBuilder& b, View in, Place value, const Padding& padding, BufferId out,
             const Dims& dims) {
  const size_t bytes = in.element_bytes();
  const int64_t elements = Product(dims);
  kernels::FillFn fill = kernels::Kernels().fill[kernels::SizeIndex(bytes)];
  b.Emit("fill", {.reads = {value.buffer}, .writes = {out}}, [=](const Frame& frame) {
    frame.pool->ParallelFor(elements, int64_t{1} << 17, [&](int64_t begin, int64_t end) {
      fill(value.At(frame), frame.At(out) + begin * int64_t(bytes), end - begin);
    });
    return Status();
  });
  // The part of the operand that lies inside the result: negative padding cuts it.
  View to{out, in.dtype, 0, {}, {}};
  const Dims strides = DenseStrides(dims);
  for (size_t d = 0; d < in.dims.size(); ++d) {
    const int64_t step = padding.interior[d] + 1;
    // Element i lands at low + i * step.
    const int64_t low = padding.low[d];
    const int64_t first = low >= 0 ? 0 : (-low + step - 1) / step;
    const int64_t place = low + first * step;
    int64_t count = place >= dims[d] ? 0 : (dims[d] - 1 - place) / step + 1;
    count = std::clamp<int64_t>(count, 0, std::max<int64_t>(in.dims[d] - first, 0));
    in.offset += first * in.strides[d];
    in.dims[d] = count;
    to.dims.push_back(count);
    to.strides.push_back(strides[d] * step);
    to.offset += place * strides[d];
  }
  if (in.num_elements() != 0) b.EmitCopy(in, to);
}

Status LowerPad(PlanBuilder& b, const Op& op) {
  PJRT_PLUGIN_ASSIGN_OR_RETURN(View in, b.ViewOf(op.operands[0]));
  PJRT_PLUGIN_ASSIGN_OR_RETURN(Place value, b.Dense(op.operands[1]));
  Place out = b.NewResult(op.result());
  EmitPad(b, std::move(in), value, {op.IntList("edge_padding_low"), op.IntList("interior_padding")},
          out.buffer, op.type().dims);
  return Status();
}

namespace {

// The start of a window of `sizes` in an array of `dims`: indices that are known at run time, moved
// inside.
struct WindowStart {
  std::vector<ScalarIndex> indices;
  Dims limits;   // the largest start of each dimension
  Dims strides;  // bytes

  int64_t Offset(const Frame& frame) const {
    int64_t offset = 0;
    for (size_t d = 0; d < indices.size(); ++d)
      offset += std::clamp<int64_t>(indices[d].Read(frame), 0, limits[d]) * strides[d];
    return offset;
  }
};

Result<WindowStart> StartOf(PlanBuilder& b, std::span<Value* const> starts, const Dims& dims,
                            const Dims& sizes, const View& view, std::vector<BufferId>& reads) {
  WindowStart window;
  for (size_t d = 0; d < starts.size(); ++d) {
    PJRT_PLUGIN_ASSIGN_OR_RETURN(Place place, b.Dense(starts[d]));
    reads.push_back(place.buffer);
    window.indices.push_back({place, starts[d]->type.dtype});
    window.limits.push_back(dims[d] - sizes[d]);
    window.strides.push_back(view.strides[d] * int64_t(view.element_bytes()));
  }
  return window;
}

}  // namespace

Status LowerDynamicSlice(PlanBuilder& b, const Op& op) {
  PJRT_PLUGIN_ASSIGN_OR_RETURN(View in, b.ViewOf(op.operands[0]));
  const Type& type = op.type();
  const size_t bytes = DTypeBytes(type.dtype);
  std::vector<BufferId> reads = {in.buffer};
  PJRT_PLUGIN_ASSIGN_OR_RETURN(WindowStart start,
                               StartOf(b, program::Operands(op, 1), in.dims, type.dims, in, reads));
  Place from{in.buffer, in.offset * int64_t(bytes)};
  Place to = b.NewResult(op.result());
  kernels::CopyFn copy = kernels::Kernels().copy[kernels::SizeIndex(bytes)];
  b.Emit(op, {.reads = std::move(reads), .writes = {to.buffer}},
         [=, dims = type.dims, in_strides = InBytes(in.strides, int64_t(bytes)),
          out_strides = InBytes(DenseStrides(type.dims), int64_t(bytes)),
          start = std::move(start)](const Frame& frame) {
           copy({int64_t(dims.size()), dims.data(), from.At(frame) + start.Offset(frame),
                 in_strides.data(), to.At(frame), out_strides.data()});
           return Status();
         });
  return Status();
}

Status LowerDynamicUpdateSlice(PlanBuilder& b, const Op& op) {
  PJRT_PLUGIN_ASSIGN_OR_RETURN(Place operand, b.Dense(op.operands[0]));
  PJRT_PLUGIN_ASSIGN_OR_RETURN(View update, b.ViewOf(op.operands[1]));
  const Type& type = op.type();
  const size_t bytes = DTypeBytes(type.dtype);
  std::vector<BufferId> reads = {operand.buffer, update.buffer};
  Place to = b.NewResult(op.result());
  View target{to.buffer, type.dtype, 0, type.dims, DenseStrides(type.dims)};
  PJRT_PLUGIN_ASSIGN_OR_RETURN(WindowStart start, StartOf(b, program::Operands(op, 2), type.dims,
                                                          update.dims, target, reads));
  Uses uses{.reads = std::move(reads), .writes = {to.buffer}};
  // In place only the window is written. The update must not lie in the operand then.
  if (operand.bytes == 0 && b.Root(update.buffer) != b.Root(operand.buffer))
    uses.in_place = {{operand.buffer, to.buffer}};
  Place from{update.buffer, update.offset * int64_t(bytes)};
  kernels::CopyFn copy = kernels::Kernels().copy[kernels::SizeIndex(bytes)];
  b.Emit(op, std::move(uses),
         [=, size = type.byte_size(), dims = update.dims,
          in_strides = InBytes(update.strides, int64_t(bytes)),
          out_strides = InBytes(target.strides, int64_t(bytes)),
          start = std::move(start)](const Frame& frame) {
           std::byte* out = to.At(frame);
           // Before the copy: an index may lie in the operand.
           int64_t offset = start.Offset(frame);
           if (out != operand.At(frame)) std::copy_n(operand.At(frame), size, out);
           copy({int64_t(dims.size()), dims.data(), from.At(frame), in_strides.data(), out + offset,
                 out_strides.data()});
           return Status();
         });
  return Status();
}

}  // namespace PJRT_PLUGIN_NS::reference
