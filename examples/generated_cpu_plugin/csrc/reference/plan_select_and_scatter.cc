// select_and_scatter: the gradient of a pooling. Windows are looked at in blocks of lanes: one
// element of each at a time is held against the best ones so far.

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

constexpr int64_t kWindowLanes = 256;

// The words that elements are moved as.
struct SixteenBytes {
  uint64_t half[2];
};

// What one step needs. Leading dimensions in which nothing is pooled are rows, which are
// independent of each other; `starts` and `offsets` count elements within a row of the padded
// operand.
struct SelectAndScatter {
  std::shared_ptr<const Tape> select, scatter;
  std::vector<int64_t> starts;   // of the window of each of a row's source elements
  std::vector<int64_t> offsets;  // of each of a window's elements
  int64_t rows = 1, row_elements = 1;
  bool pads = false;

  struct Pointers {
    const std::byte* in;  // padded
    const std::byte* source;
    const std::byte* inside;  // of one row: 1 for an element of the operand, 0 for padding
    std::byte* out;           // padded, filled with the initial value
    std::vector<const void*> select_captured, scatter_captured;
  };

  template <typename Word>
  void Row(const Pointers& at, int64_t row) const {
    const Word* in = reinterpret_cast<const Word*>(at.in) + row * row_elements;
    Word* out = reinterpret_cast<Word*>(at.out) + row * row_elements;
    const int64_t count = int64_t(starts.size());
    const Word* source = reinterpret_cast<const Word*>(at.source) + row * count;
    for (int64_t first = 0; first < count; first += kWindowLanes)
      Block(at, in, source + first, out, starts.data() + first,
            std::min(kWindowLanes, count - first));
  }

  template <typename Word>
  void Block(const Pointers& at, const Word* in, const Word* source, Word* out,
             const int64_t* start, int64_t n) const {
    alignas(64) Word best[kWindowLanes], next[kWindowLanes], result[kWindowLanes];
    alignas(64) bool keep[kWindowLanes];
    int64_t chosen[kWindowLanes];  // the index in `offsets`, -1 while the window has nothing
    std::fill_n(chosen, n, -1);
    std::vector<const void*> inputs = {best, next};
    inputs.insert(inputs.end(), at.select_captured.begin(), at.select_captured.end());
    void* kept = keep;
    for (size_t k = 0; k < offsets.size(); ++k) {
      const Word* element = in + offsets[k];
      for (int64_t l = 0; l < n; ++l) next[l] = element[start[l]];
      if (k == 0) {
        std::copy_n(next, n, best);
        std::fill_n(keep, n, true);
      } else {
        select->Run(inputs.data(), &kept, 0, n);
      }
      const std::byte* inside = pads ? at.inside + offsets[k] : nullptr;
      for (int64_t l = 0; l < n; ++l) {
        if (pads && inside[start[l]] == std::byte{0}) continue;
        if (keep[l] && chosen[l] >= 0) continue;
        best[l] = next[l];
        chosen[l] = int64_t(k);
      }
    }
    // Lanes that chose the same place in their windows chose different elements.
    int64_t order[kWindowLanes], lanes = 0;
    for (int64_t l = 0; l < n; ++l)
      if (chosen[l] >= 0) order[lanes++] = chosen[l] * kWindowLanes + l;
    std::sort(order, order + lanes);
    inputs.assign({best, next});
    inputs.insert(inputs.end(), at.scatter_captured.begin(), at.scatter_captured.end());
    void* made = result;
    for (int64_t i = 0; i < lanes;) {
      const int64_t place = order[i] / kWindowLanes;
      Word* element = out + offsets[size_t(place)];
      int64_t m = 0;
      for (; i + m < lanes && order[i + m] / kWindowLanes == place; ++m) {
        const int64_t l = order[i + m] % kWindowLanes;
        best[m] = element[start[l]];
        next[m] = source[l];
      }
      scatter->Run(inputs.data(), &made, 0, m);
      for (int64_t j = 0; j < m; ++j) element[start[order[i + j] % kWindowLanes]] = result[j];
      i += m;
    }
  }

  void Row(const Pointers& at, int64_t row, size_t bytes) const {
    switch (bytes) {
      case 1:
        return Row<uint8_t>(at, row);
      case 2:
        return Row<uint16_t>(at, row);
      case 4:
        return Row<uint32_t>(at, row);
      case 8:
        return Row<uint64_t>(at, row);
      default:
        return Row<SixteenBytes>(at, row);
    }
  }
};

// All sums of one multiple of each stride below the dimension's count, in row-major order.
std::vector<int64_t> Lattice(const Dims& counts, const Dims& strides) {
  std::vector<int64_t> sums = {0};
  for (size_t d = 0; d < counts.size(); ++d) {
    std::vector<int64_t> longer;
    longer.reserve(sums.size() * size_t(counts[d]));
    for (int64_t sum : sums)
      for (int64_t i = 0; i < counts[d]; ++i) longer.push_back(sum + i * strides[d]);
    sums = std::move(longer);
  }
  return sums;
}

}  // namespace

Status LowerSelectAndScatter(PlanBuilder& b, const Op& op) {
  const Type& type = op.type();
  const DType dtype = type.dtype;
  if (op.operand_type(0).dtype != dtype || op.operand_type(1).dtype != dtype)
    return PlanBuilder::Unsupported(op, "its operands are of different element types");
  const size_t rank = type.dims.size(), bytes = DTypeBytes(dtype);
  PJRT_PLUGIN_ASSIGN_OR_RETURN(BodyTape select, TapeOfBody(b, op, *op.regions[0]));
  PJRT_PLUGIN_ASSIGN_OR_RETURN(BodyTape scatter, TapeOfBody(b, op, *op.regions[1]));
  PJRT_PLUGIN_ASSIGN_OR_RETURN(View operand, b.ViewOf(op.operands[0]));
  PJRT_PLUGIN_ASSIGN_OR_RETURN(Place source, b.Dense(op.operands[1]));
  PJRT_PLUGIN_ASSIGN_OR_RETURN(Place init, b.Dense(op.operands[2]));

  const Dims& sizes = op.IntList("window_dimensions");
  const Dims& steps = op.IntList("window_strides");
  const Dims& padding = op.IntList("padding");
  const Dims& windows = op.operand_type(1).dims;
  Padding around{{}, Dims(rank, 0)}, back = around;
  Dims padded;
  SelectAndScatter run{select.tape, scatter.tape, {}, {}, 1, 1, false};
  size_t row_dims = 0;
  for (size_t d = 0; d < rank; ++d) {
    const int64_t low = padding[2 * d], high = padding[2 * d + 1];
    around.low.push_back(low);
    back.low.push_back(-low);
    padded.push_back(type.dims[d] + low + high);
    const bool padded_here = low != 0 || high != 0;
    run.pads = run.pads || padded_here;
    if (row_dims == d && sizes[d] == 1 && steps[d] == 1 && !padded_here) {
      ++row_dims;
      run.rows *= type.dims[d];
    } else {
      run.row_elements *= padded[d];
    }
  }
  const bool nothing = Product(windows) == 0 || type.num_elements() == 0;
  if (!nothing) {
    const Dims all_strides = DenseStrides(padded);
    auto in_row = [&](const Dims& dims) {
      return Dims(dims.begin() + ptrdiff_t(row_dims), dims.end());
    };
    const Dims strides = in_row(all_strides);
    Dims moves = strides;
    for (size_t d = 0; d < moves.size(); ++d) moves[d] *= steps[row_dims + d];
    run.starts = Lattice(in_row(windows), moves);
    run.offsets = Lattice(in_row(sizes), strides);
  }

  Place in;
  BufferId inside = kNoBuffer, made = kNoBuffer;
  if (run.pads && !nothing) {
    in = {b.NewTemp(size_t(Product(padded)) * bytes), 0};
    EmitPad(b, std::move(operand), init, around, in.buffer, padded);
    // Which elements of a row are the operand's.
    std::vector<std::byte> mask(size_t(run.row_elements), std::byte{1});
    Dims index(rank, 0);
    for (std::byte& one : mask) {
      for (size_t d = row_dims; d < rank; ++d) {
        const int64_t place = index[d] - around.low[d];
        if (place < 0 || place >= type.dims[d]) one = std::byte{0};
      }
      for (size_t d = rank; d-- > row_dims && ++index[d] == padded[d];) index[d] = 0;
    }
    inside = b.NewConstant(mask.data(), mask.size());
    made = b.NewTemp(size_t(Product(padded)) * bytes);
  } else {
    in = b.Dense(operand);
    made = b.NewResult(op.result()).buffer;
  }
  Uses uses{.reads = {in.buffer, source.buffer, init.buffer}, .writes = {made}};
  if (inside != kNoBuffer) uses.reads.push_back(inside);
  for (const auto* captured : {&select.captured, &scatter.captured})
    for (const Place& place : *captured) uses.reads.push_back(place.buffer);
  kernels::FillFn fill = kernels::Kernels().fill[kernels::SizeIndex(bytes)];
  const int64_t elements = nothing ? type.num_elements() : Product(padded);
  b.AddFlops(double(Product(windows)) * double(Product(sizes)));
  b.Emit(op, std::move(uses),
         [=, run = std::move(run), select_captured = select.captured,
          scatter_captured = scatter.captured](const Frame& frame) {
           std::byte* out = frame.At(made);
           fill(init.At(frame), out, elements);
           if (nothing) return Status();
           SelectAndScatter::Pointers at{in.At(frame),
                                         source.At(frame),
                                         inside == kNoBuffer ? nullptr : frame.At(inside),
                                         out,
                                         {},
                                         {}};
           for (const Place& place : select_captured) at.select_captured.push_back(place.At(frame));
           for (const Place& place : scatter_captured)
             at.scatter_captured.push_back(place.At(frame));
           const int64_t work = int64_t(run.starts.size() * run.offsets.size());
           frame.pool->ParallelFor(run.rows,
                                   std::max<int64_t>(1, 16384 / std::max<int64_t>(work, 1)),
                                   [&](int64_t begin, int64_t end) {
                                     for (int64_t row = begin; row < end; ++row)
                                       run.Row(at, row, bytes);
                                   });
           return Status();
         });
  if (inside == kNoBuffer) return Status();
  Place out = b.NewResult(op.result());
  EmitPad(b, View{made, dtype, 0, padded, DenseStrides(padded)}, init, back, out.buffer, type.dims);
  return Status();
}

}  // namespace PJRT_PLUGIN_NS::reference
