#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "program/op_table.h"
#include "reference/body.h"
#include "reference/kernels/kernel_table.h"
#include "reference/lowerings.h"
#include "reference/pad.h"

namespace PJRT_PLUGIN_NS::reference {
namespace {

struct Window {
  Dims sizes, strides, dilations, base_dilations, low, high;
};

Window WindowOf(const Op& op) {
  Window window{op.IntList("window_dimensions"),
                op.IntList("window_strides"),
                op.IntList("window_dilations"),
                op.IntList("base_dilations"),
                {},
                {}};
  const auto& padding = op.IntList("padding");
  for (size_t d = 0; d < window.sizes.size(); ++d) {
    window.low.push_back(padding[2 * d]);
    window.high.push_back(padding[2 * d + 1]);
  }
  return window;
}

// The operands and results of a reduce_window.
struct Arrays {
  std::vector<Place> in, init, out;
  std::vector<int64_t> bytes;
  std::vector<Place> captured;

  Uses Touched() const {
    Uses uses;
    for (const auto* places : {&in, &init, &captured})
      for (const Place& place : *places) uses.reads.push_back(place.buffer);
    for (const Place& place : out) uses.writes.push_back(place.buffer);
    return uses;
  }
};

// The axis along which the windows are all the elements up to each one: a cumulative sum and its
// like.
std::optional<size_t> CumulativeAxis(const Window& window, const Dims& dims, bool& reverse) {
  std::optional<size_t> axis;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (window.strides[d] != 1 || window.dilations[d] != 1 || window.base_dilations[d] != 1)
      return std::nullopt;
    if (window.sizes[d] == 1 && window.low[d] == 0 && window.high[d] == 0) continue;
    const bool forward = window.low[d] == dims[d] - 1 && window.high[d] == 0;
    const bool backward = window.low[d] == 0 && window.high[d] == dims[d] - 1;
    if (axis || window.sizes[d] != dims[d] || (!forward && !backward)) return std::nullopt;
    axis = d;
    reverse = backward;
  }
  return axis;
}

Status LowerCumulative(PlanBuilder& b, const Op& op, size_t axis, bool reverse) {
  const size_t count = op.results.size();
  PJRT_PLUGIN_ASSIGN_OR_RETURN(BodyTape body, TapeOfBody(b, op, *op.regions[0]));
  Arrays arrays;
  arrays.captured = body.captured;
  for (size_t k = 0; k < count; ++k) {
    PJRT_PLUGIN_ASSIGN_OR_RETURN(Place in, b.Dense(op.operands[k]));
    PJRT_PLUGIN_ASSIGN_OR_RETURN(Place init, b.Dense(op.operands[count + k]));
    arrays.in.push_back(in);
    arrays.init.push_back(init);
    arrays.bytes.push_back(int64_t(backend::DTypeBytes(op.type(k).dtype)));
  }
  for (size_t k = 0; k < count; ++k) arrays.out.push_back(b.NewResult(op.result(k)));
  const Dims& dims = op.type().dims;
  int64_t outer = 1, inner = 1;
  for (size_t d = 0; d < axis; ++d) outer *= dims[d];
  for (size_t d = axis + 1; d < dims.size(); ++d) inner *= dims[d];
  const int64_t length = dims[axis];
  b.Emit(op, arrays.Touched(), [=, tape = body.tape](const Frame& frame) {
    frame.pool->ParallelFor(
        outer, std::max<int64_t>(1, 16384 / std::max<int64_t>(length * inner, 1)),
        [&](int64_t begin, int64_t end) {
          std::vector<const void*> in(2 * count);
          for (const Place& place : arrays.captured) in.push_back(place.At(frame));
          std::vector<void*> out(count);
          // The first window holds the initial value and one element.
          std::vector<std::vector<std::byte>> start(count);
          for (size_t k = 0; k < count; ++k) {
            const size_t bytes = size_t(arrays.bytes[k]);
            start[k].resize(size_t(inner) * bytes);
            kernels::Kernels().fill[kernels::SizeIndex(bytes)](arrays.init[k].At(frame),
                                                               start[k].data(), inner);
          }
          for (int64_t o = begin; o < end; ++o) {
            for (int64_t i = 0; i < length; ++i) {
              const int64_t at = o * length + (reverse ? length - 1 - i : i);
              const int64_t before = reverse ? at + 1 : at - 1;
              for (size_t k = 0; k < count; ++k) {
                const int64_t row = inner * arrays.bytes[k];
                in[k] = i == 0 ? start[k].data() : arrays.out[k].At(frame) + before * row;
                in[count + k] = arrays.in[k].At(frame) + at * row;
                out[k] = arrays.out[k].At(frame) + at * row;
              }
              tape->Run(in.data(), out.data(), 0, inner);
            }
          }
        });
    return Status();
  });
  return Status();
}

}  // namespace

Status LowerReduceWindow(PlanBuilder& b, const Op& op) {
  const size_t count = op.results.size();
  const Dims& dims = op.type().dims;
  const Window window = WindowOf(op);
  bool reverse = false;
  if (auto axis = CumulativeAxis(window, op.operand_type(0).dims, reverse))
    return LowerCumulative(b, op, *axis, reverse);

  // The operands with their padding, of which every result sees a window.
  Dims padded;
  bool pads = false;
  Padding padding{window.low, {}};
  for (size_t d = 0; d < dims.size(); ++d) {
    const int64_t size = op.operand_type(0).dims[d];
    padding.interior.push_back(window.base_dilations[d] - 1);
    const int64_t dilated = size == 0 ? 0 : (size - 1) * window.base_dilations[d] + 1;
    padded.push_back(dilated + window.low[d] + window.high[d]);
    pads = pads || padded.back() != size || window.low[d] != 0;
  }
  const Dims padded_strides = DenseStrides(padded);
  StridedLoad load{dims, {}};
  if (dims.empty()) load = {{1}, {1}};
  for (size_t d = 0; d < dims.size(); ++d)
    load.strides.push_back(padded_strides[d] * window.strides[d]);
  PJRT_PLUGIN_ASSIGN_OR_RETURN(BodyTape body, TapeOfBody(b, op, *op.regions[0], load));
  Arrays arrays;
  arrays.captured = body.captured;
  for (size_t k = 0; k < count; ++k) {
    PJRT_PLUGIN_ASSIGN_OR_RETURN(View view, b.ViewOf(op.operands[k]));
    PJRT_PLUGIN_ASSIGN_OR_RETURN(Place init, b.Dense(op.operands[count + k]));
    arrays.bytes.push_back(int64_t(view.element_bytes()));
    arrays.init.push_back(init);
    if (pads) {
      BufferId buffer = b.NewTemp(size_t(Product(padded)) * view.element_bytes());
      EmitPad(b, std::move(view), init, padding, buffer, padded);
      arrays.in.push_back({buffer, 0});
    } else {
      arrays.in.push_back(b.Dense(view));
    }
  }
  // Where the window's elements lie from its start.
  Dims offsets = {0};
  for (size_t d = 0; d < dims.size(); ++d) {
    Dims longer;
    for (int64_t offset : offsets)
      for (int64_t i = 0; i < window.sizes[d]; ++i)
        longer.push_back(offset + i * window.dilations[d] * padded_strides[d]);
    offsets = std::move(longer);
  }
  const bool in_place = count == 1 && body.tape->CanShare(0, 0);
  // A tape that must not write over its inputs gets arrays of its own, which are copied back.
  std::vector<BufferId> made;
  for (size_t k = 0; k < count; ++k) {
    arrays.out.push_back(b.NewResult(op.result(k)));
    if (!in_place) made.push_back(b.NewTemp(op.type(k).byte_size()));
  }
  Uses uses = arrays.Touched();
  uses.writes.insert(uses.writes.end(), made.begin(), made.end());
  const int64_t elements = op.type().num_elements();
  b.AddFlops(double(elements) * double(offsets.size()));
  b.Emit(op, std::move(uses), [=, tape = body.tape](const Frame& frame) {
    const int64_t grain = std::max<int64_t>(256, (int64_t{1} << 17) / int64_t(offsets.size()));
    frame.pool->ParallelFor(elements, grain, [&](int64_t begin, int64_t end) {
      std::vector<const void*> in(2 * count);
      for (const Place& place : arrays.captured) in.push_back(place.At(frame));
      std::vector<void*> out(count);
      constexpr int64_t kBlock = 256;
      for (int64_t first = begin; first < end; first += kBlock) {
        const int64_t last = std::min(first + kBlock, end);
        for (size_t k = 0; k < count; ++k) {
          std::byte* result = arrays.out[k].At(frame);
          const size_t bytes = size_t(arrays.bytes[k]);
          kernels::Kernels().fill[kernels::SizeIndex(bytes)](
              arrays.init[k].At(frame), result + first * arrays.bytes[k], last - first);
          in[k] = result;
          out[k] = in_place ? result : frame.At(made[k]);
        }
        for (int64_t offset : offsets) {
          for (size_t k = 0; k < count; ++k)
            in[count + k] = arrays.in[k].At(frame) + offset * arrays.bytes[k];
          tape->Run(in.data(), out.data(), first, last);
          for (size_t k = 0; k < count && !in_place; ++k)
            std::memcpy(arrays.out[k].At(frame) + first * arrays.bytes[k],
                        frame.At(made[k]) + first * arrays.bytes[k],
                        size_t((last - first) * arrays.bytes[k]));
        }
      }
    });
    return Status();
  });
  return Status();
}

}  // namespace PJRT_PLUGIN_NS::reference
