#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "program/op_table.h"
#include "reference/lowerings.h"

namespace PJRT_PLUGIN_NS::reference {

using backend::DTypeBytes;

Status LowerConstant(PlanBuilder& b, const Op& op) {
  const program::Literal& literal = op.Constant();
  const Type& type = op.type();
  // One element is enough where all are equal.
  const size_t bytes = literal.splat ? DTypeBytes(type.dtype) : type.byte_size();
  BufferId id = b.NewConstant(literal.bytes(), literal.data->size() < bytes ? 0 : bytes);
  Dims strides = literal.splat ? Dims(type.dims.size(), 0) : DenseStrides(type.dims);
  b.Bind(op.result(), View{id, type.dtype, 0, type.dims, std::move(strides)});
  return Status();
}

// `operand` with dimension d of it as dimension places[d] of `type`, repeated along all others.
static Status BindBroadcast(PlanBuilder& b, const Op& op, const Dims& places) {
  PJRT_PLUGIN_ASSIGN_OR_RETURN(View view, b.ViewOf(op.operands[0]));
  const Type& type = op.type();
  View out{view.buffer, view.dtype, view.offset, type.dims, Dims(type.dims.size(), 0)};
  for (size_t d = 0; d < view.dims.size(); ++d)
    if (view.dims[d] != 1) out.strides[size_t(places[d])] = view.strides[d];
  b.Bind(op.result(), std::move(out));
  return Status();
}

Status LowerBroadcast(PlanBuilder& b, const Op& op) {
  Dims places(op.operand_type(0).dims.size());
  for (size_t d = 0; d < places.size(); ++d)
    places[d] = int64_t(op.IntList("broadcast_sizes").size() + d);
  return BindBroadcast(b, op, places);
}

Status LowerBroadcastInDim(PlanBuilder& b, const Op& op) {
  return BindBroadcast(b, op, op.IntList("broadcast_dimensions"));
}

Status LowerReshape(PlanBuilder& b, const Op& op) {
  PJRT_PLUGIN_ASSIGN_OR_RETURN(View view, b.ViewOf(op.operands[0]));
  const Dims& dims = op.type().dims;
  View out{view.buffer, view.dtype, view.offset, dims, {}};
  if (view.dense()) {
    out.strides = DenseStrides(dims);
  } else if (view.scalar()) {
    out.strides = Dims(dims.size(), 0);
  } else {
    // Only dimensions of size 1 come or go: the others keep their strides.
    Dims sizes, strides, wanted;
    for (size_t d = 0; d < view.dims.size(); ++d)
      if (view.dims[d] != 1) sizes.push_back(view.dims[d]), strides.push_back(view.strides[d]);
    for (int64_t size : dims)
      if (size != 1) wanted.push_back(size);
    if (sizes == wanted) {
      size_t next = 0;
      for (int64_t size : dims) out.strides.push_back(size == 1 ? 0 : strides[next++]);
    } else {
      Place place = b.Dense(view);
      out = View{place.buffer, view.dtype, 0, dims, DenseStrides(dims)};
    }
  }
  b.Bind(op.result(), std::move(out));
  return Status();
}

Status LowerTranspose(PlanBuilder& b, const Op& op) {
  PJRT_PLUGIN_ASSIGN_OR_RETURN(View view, b.ViewOf(op.operands[0]));
  View out{view.buffer, view.dtype, view.offset, op.type().dims, {}};
  for (int64_t d : op.IntList("permutation")) out.strides.push_back(view.strides[size_t(d)]);
  b.Bind(op.result(), std::move(out));
  return Status();
}

Status LowerSlice(PlanBuilder& b, const Op& op) {
  PJRT_PLUGIN_ASSIGN_OR_RETURN(View view, b.ViewOf(op.operands[0]));
  const auto& start = op.IntList("start_indices");
  const auto& step = op.IntList("strides");
  View out{view.buffer, view.dtype, view.offset, op.type().dims, {}};
  for (size_t d = 0; d < view.dims.size(); ++d) {
    out.offset += start[d] * view.strides[d];
    out.strides.push_back(view.strides[d] * step[d]);
  }
  // Without elements there may be no such place.
  if (out.num_elements() == 0) out.offset = 0;
  b.Bind(op.result(), std::move(out));
  return Status();
}

Status LowerReverse(PlanBuilder& b, const Op& op) {
  PJRT_PLUGIN_ASSIGN_OR_RETURN(View view, b.ViewOf(op.operands[0]));
  if (view.num_elements() != 0) {
    for (int64_t dim : op.IntList("dimensions")) {
      size_t d = size_t(dim);
      view.offset += (view.dims[d] - 1) * view.strides[d];
      view.strides[d] = -view.strides[d];
    }
  }
  b.Bind(op.result(), std::move(view));
  return Status();
}

namespace {

// Elements of `wide` bits as several of `narrow` ones, fewer than eight, or the other way round. In
// memory a narrow element is a byte, of which the low bits count; a signed one fills the others
// with its sign.
struct Regrouping {
  size_t wide, narrow;  // bits
  bool splits, sign;    // sign: of the result

  static std::byte Extended(unsigned value, size_t bits, bool sign) {
    const unsigned top = 1u << (bits - 1);
    return std::byte((value ^ (sign ? top : 0)) - (sign ? top : 0));
  }
  void Run(const std::byte* in, std::byte* out, int64_t wide_elements) const {
    const size_t bytes = (wide + 7) / 8, ratio = wide / narrow;
    const unsigned mask = (1u << narrow) - 1;
    for (int64_t e = 0; e < wide_elements; ++e) {
      if (!splits) std::memset(out, 0, bytes);
      for (size_t j = 0; j < ratio; ++j) {
        const size_t byte = j * narrow / 8, shift = j * narrow % 8;
        if (splits) {
          *out++ = Extended(unsigned(in[byte] >> shift) & mask, narrow, sign);
        } else {
          out[byte] |= (*in++ & std::byte(mask)) << shift;
        }
      }
      if (splits) {
        in += bytes;
      } else {
        if (wide < 8) *out = Extended(unsigned(*out), wide, sign);
        out += bytes;
      }
    }
  }
};

}  // namespace

// Only between types of different width: the others are elementwise.
Status LowerBitcastConvert(PlanBuilder& b, const Op& op) {
  PJRT_PLUGIN_ASSIGN_OR_RETURN(Place place, b.Dense(op.operands[0]));
  const Type& type = op.type();
  const Type& from = op.operand_type(0);
  const size_t to_bits = backend::DTypeBits(type.dtype), in_bits = backend::DTypeBits(from.dtype);
  if (to_bits < 8 || in_bits < 8) {
    const Place out = b.NewResult(op.result());
    const Regrouping regroup{std::max(to_bits, in_bits), std::min(to_bits, in_bits),
                             to_bits < in_bits, backend::IsSignedInt(type.dtype)};
    const int64_t elements = regroup.splits ? from.num_elements() : type.num_elements();
    b.Emit(op, {.reads = {place.buffer}, .writes = {out.buffer}}, [=](const Frame& frame) {
      regroup.Run(place.At(frame), out.At(frame), elements);
      return Status();
    });
    return Status();
  }
  const int64_t bytes = int64_t(DTypeBytes(type.dtype));
  if (place.bytes % bytes != 0) {
    const int64_t in_bytes = int64_t(DTypeBytes(from.dtype));
    BufferId aligned = b.NewTemp(from.byte_size());
    const Dims strides = DenseStrides(from.dims);
    b.EmitCopy(View{place.buffer, from.dtype, place.bytes / in_bytes, from.dims, strides},
               View{aligned, from.dtype, 0, from.dims, strides});
    place = {aligned, 0};
  }
  b.Bind(op.result(),
         View{place.buffer, type.dtype, place.bytes / bytes, type.dims, DenseStrides(type.dims)});
  return Status();
}

Status LowerIdentity(PlanBuilder& b, const Op& op) {
  for (size_t i = 0; i < op.results.size(); ++i) {
    if (!op.type(i).is_tensor()) continue;
    PJRT_PLUGIN_ASSIGN_OR_RETURN(View view, b.ViewOf(op.operands[i]));
    b.Bind(op.result(i), std::move(view));
  }
  return Status();
}

// Steps run in order, so there is nothing that a token would have to hold up.
Status LowerToken(PlanBuilder&, const Op&) { return Status(); }

}  // namespace PJRT_PLUGIN_NS::reference
