#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "program/op_table.h"
#include "reference/body.h"
#include "reference/kernels/kernel_table.h"
#include "reference/lowerings.h"

namespace PJRT_PLUGIN_NS::reference {
namespace {

using backend::DTypeBytes;
using kernels::ReduceFn;
using kernels::ReduceOp;

// Elements that make a share worth a thread.
constexpr int64_t kThreadElements = int64_t{1} << 16;
constexpr int64_t kWideRow = 2048;

// A dense array as outer x reduced x inner, of which the middle goes.
struct Shape3 {
  int64_t outer = 1, reduced = 1, inner = 1;
};

// Splits `view` so; copies it to another order of dimensions when the reduced ones do not lie
// together.
std::pair<Place, Shape3> Arrange(PlanBuilder& b, View view, const Dims& reduced) {
  auto is_reduced = [&](size_t d) {
    return std::find(reduced.begin(), reduced.end(), int64_t(d)) != reduced.end();
  };
  // 0 before, 1 inside, 2 behind the group of reduced dimensions.
  auto phases = [&](const Dims& order) {
    int phase = 0;
    bool together = true;
    for (int64_t d : order) {
      if (view.dims[size_t(d)] == 1) continue;
      bool in = is_reduced(size_t(d));
      if (in && phase == 0) phase = 1;
      if (!in && phase == 1) phase = 2;
      if (in && phase == 2) together = false;
    }
    return together;
  };
  Dims order;
  for (size_t d = 0; d < view.dims.size(); ++d) order.push_back(int64_t(d));
  if (!phases(order)) {
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t c) {
      return is_reduced(size_t(a)) < is_reduced(size_t(c));
    });
  }
  View arranged{view.buffer, view.dtype, view.offset, {}, {}};
  Shape3 shape;
  bool seen = false;
  for (int64_t dim : order) {
    size_t d = size_t(dim);
    arranged.dims.push_back(view.dims[d]);
    arranged.strides.push_back(view.strides[d]);
    if (is_reduced(d)) {
      shape.reduced *= view.dims[d];
      seen = seen || view.dims[d] != 1;
    } else {
      (seen ? shape.inner : shape.outer) *= view.dims[d];
    }
  }
  return {b.Dense(arranged), shape};
}

// out[o][i] (accumulators, filled) = fold of in[o][r][i] over r.
struct SimpleReduce {
  ReduceFn inner_fn, outer_fn;
  kernels::ElementwiseFn combine;  // of two accumulators
  Shape3 shape;
  int64_t in_bytes, out_bytes;  // of an element

  // A range of the outer dimension.
  void Rows(const std::byte* in, std::byte* out, int64_t begin, int64_t end) const {
    if (shape.inner == 1) {
      inner_fn(in + begin * shape.reduced * in_bytes, end - begin, shape.reduced, shape.reduced,
               out + begin * out_bytes);
      return;
    }
    for (int64_t o = begin; o < end; ++o)
      outer_fn(in + o * shape.reduced * shape.inner * in_bytes, shape.reduced, shape.inner,
               shape.inner, out + o * shape.inner * out_bytes);
  }

  void Run(const Frame& frame, const std::byte* in, std::byte* out, std::byte* partial,
           int64_t parts) const {
    const int64_t row = shape.reduced * shape.inner;
    if (parts > 1) {
      // One long fold in parts, the first into the result itself. `partial` is filled like `out`.
      const int64_t width = shape.inner * out_bytes;
      frame.pool->ParallelFor(parts, 1, [&](int64_t begin, int64_t end) {
        for (int64_t p = begin; p < end; ++p) {
          int64_t first = shape.reduced * p / parts, last = shape.reduced * (p + 1) / parts;
          std::byte* to = p == 0 ? out : partial + (p - 1) * width;
          const std::byte* from = in + first * shape.inner * in_bytes;
          if (shape.inner == 1) {
            inner_fn(from, 1, last - first, last - first, to);
          } else {
            outer_fn(from, last - first, shape.inner, shape.inner, to);
          }
        }
      });
      for (int64_t p = 1; p < parts; ++p) {
        const void* both[] = {out, partial + (p - 1) * width};
        combine(both, 0, out, shape.inner);
      }
      return;
    }
    if (shape.outer == 1 && shape.inner >= kWideRow) {
      // Few rows of many columns: threads share the columns.
      int64_t grain = std::max<int64_t>(512, kThreadElements / std::max<int64_t>(shape.reduced, 1));
      frame.pool->ParallelFor(shape.inner, grain, [&](int64_t begin, int64_t end) {
        outer_fn(in + begin * in_bytes, shape.reduced, end - begin, shape.inner,
                 out + begin * out_bytes);
      });
      return;
    }
    frame.pool->ParallelFor(shape.outer,
                            std::max<int64_t>(1, kThreadElements / std::max<int64_t>(row, 1)),
                            [&](int64_t begin, int64_t end) { Rows(in, out, begin, end); });
  }
};

Status LowerSimple(PlanBuilder& b, const Op& op, ReduceOp reduce, kernels::ElementwiseOp element,
                   bool& done) {
  const kernels::KernelTable& table = kernels::Kernels();
  const DType type = op.operand_type(0).dtype;
  const DType sum = kernels::AccumulatorType(type);
  SimpleReduce run{};
  run.inner_fn = table.ReduceInner(reduce, type);
  run.outer_fn = table.ReduceOuter(reduce, type);
  run.combine = table.Find(element, sum);
  done = run.inner_fn != nullptr && run.outer_fn != nullptr && run.combine != nullptr &&
         op.type().dtype == type;
  if (!done) return Status();
  PJRT_PLUGIN_ASSIGN_OR_RETURN(View view, b.ViewOf(op.operands[0]));
  PJRT_PLUGIN_ASSIGN_OR_RETURN(Place init, b.Dense(op.operands[1]));
  auto [in, shape] = Arrange(b, std::move(view), op.IntList("dimensions"));
  run.shape = shape;
  run.in_bytes = int64_t(DTypeBytes(type));
  run.out_bytes = int64_t(DTypeBytes(sum));
  const int64_t elements = op.type().num_elements();
  int64_t parts = 1;
  if (shape.outer == 1 && shape.reduced * shape.inner >= 2 * kThreadElements)
    parts = std::min<int64_t>(8, shape.reduced);
  if (elements * 16 > shape.reduced * shape.inner || shape.inner >= kWideRow) parts = 1;
  // The parts' accumulators start from the identity, so only operations that have one are cut: add
  // zero, or fold the initial value in again where that changes nothing.
  const bool idempotent =
      reduce != ReduceOp::kAdd && reduce != ReduceOp::kMultiply && reduce != ReduceOp::kXor;
  if (reduce == ReduceOp::kMultiply) parts = 1;
  BufferId partial =
      parts > 1 ? b.NewTemp(size_t((parts - 1) * elements * run.out_bytes)) : kNoBuffer;
  Place out = b.NewResult(op.result());
  Place sums = sum == type ? out : Place{b.NewTemp(size_t(elements * run.out_bytes)), 0};
  Uses uses{.reads = {in.buffer, init.buffer}, .writes = {out.buffer}};
  if (sums.buffer != out.buffer) uses.writes.push_back(sums.buffer);
  if (partial != kNoBuffer) uses.writes.push_back(partial);
  b.AddFlops(double(op.operand_type(0).num_elements()));
  kernels::ElementwiseFn widen = sum == type ? nullptr : table.Convert(type, sum);
  kernels::ElementwiseFn narrow = sum == type ? nullptr : table.Convert(sum, type);
  kernels::FillFn fill = table.fill[kernels::SizeIndex(DTypeBytes(sum))];
  b.Emit(op, std::move(uses), [=, in = in](const Frame& frame) {
    alignas(16) std::byte start[16];
    const void* value = init.At(frame);
    if (widen != nullptr) {
      widen(&value, 0, start, 1);
    } else {
      std::memcpy(start, value, size_t(run.out_bytes));
    }
    std::byte* to = sums.At(frame);
    fill(start, to, elements);
    std::byte* rest = partial == kNoBuffer ? nullptr : frame.At(partial);
    if (rest != nullptr) {
      if (idempotent) {
        fill(start, rest, (parts - 1) * elements);
      } else {
        std::memset(rest, 0, size_t((parts - 1) * elements * run.out_bytes));
      }
    }
    run.Run(frame, in.At(frame), to, rest, parts);
    if (narrow != nullptr) {
      const void* from = to;
      narrow(&from, 0, out.At(frame), elements);
    }
    return Status();
  });
  return Status();
}

// ---- Any body ----

// Folds several arrays at once with a tape: accumulators and elements in, accumulators out.
// Accumulators are a vector of lanes, so that the tape runs over many elements at a time.
class GeneralReduce {
 public:
  GeneralReduce(std::shared_ptr<const Tape> tape, Shape3 shape, std::vector<int64_t> bytes)
      : tape_(std::move(tape)), shape_(shape), bytes_(std::move(bytes)) {}

  struct Pointers {
    std::vector<const std::byte*> in, init, captured;
    std::vector<std::byte*> out;
  };

  void Run(const Frame& frame, const Pointers& at) const {
    if (shape_.inner > 1 || (shape_.reduced <= kFewElements && shape_.outer >= kManyRows)) {
      // Lanes are neighbouring results.
      const int64_t results = shape_.outer * shape_.inner;
      const int64_t row = std::max<int64_t>(shape_.reduced, 1);
      frame.pool->ParallelFor(results, std::max<int64_t>(kLanes, kThreadElements / 8 / row),
                              [&](int64_t begin, int64_t end) {
                                for (int64_t i = begin; i < end; i += kLanes)
                                  Across(at, i, std::min(end, i + kLanes));
                              });
    } else {
      frame.pool->ParallelFor(
          shape_.outer,
          std::max<int64_t>(1, kThreadElements / 8 / std::max<int64_t>(shape_.reduced, 1)),
          [&](int64_t begin, int64_t end) {
            for (int64_t o = begin; o < end; ++o) Along(at, o);
          });
    }
  }

 private:
  static constexpr int64_t kLanes = 256;
  static constexpr int64_t kFewElements = 128;
  static constexpr int64_t kManyRows = 16;

  // Two sets of accumulators, used in turn: a tape does not write over its inputs.
  struct Lanes {
    explicit Lanes(const GeneralReduce& reduce) {
      size_t total = 0;
      for (int64_t bytes : reduce.bytes_) total += size_t(bytes) * kLanes;
      memory.resize(3 * total / sizeof(std::max_align_t) + 1);
      std::byte* next = reinterpret_cast<std::byte*>(memory.data());
      for (auto* set : {&now, &next_set, &elements})
        for (int64_t bytes : reduce.bytes_) {
          set->push_back(next);
          next += bytes * kLanes;
        }
    }
    std::vector<std::max_align_t> memory;
    std::vector<std::byte*> now, next_set, elements;
  };

  // next = body(now, elements) for `n` lanes; then next becomes now.
  void Step(const Pointers& at, Lanes& lanes, const std::vector<const std::byte*>& left,
            const std::vector<const std::byte*>& right, int64_t n) const {
    std::vector<const void*> in(left.begin(), left.end());
    in.insert(in.end(), right.begin(), right.end());
    in.insert(in.end(), at.captured.begin(), at.captured.end());
    std::vector<void*> out(lanes.next_set.begin(), lanes.next_set.end());
    tape_->Run(in.data(), out.data(), 0, n);
    std::swap(lanes.now, lanes.next_set);
  }

  static std::vector<const std::byte*> Const(const std::vector<std::byte*>& set) {
    return {set.begin(), set.end()};
  }

  void Fill(const Pointers& at, std::vector<std::byte*>& set, int64_t n) const {
    for (size_t k = 0; k < bytes_.size(); ++k)
      kernels::Kernels().fill[kernels::SizeIndex(size_t(bytes_[k]))](at.init[k], set[k], n);
  }

  // Results [begin, end), counted over outer and inner.
  void Across(const Pointers& at, int64_t begin, int64_t end) const {
    Lanes lanes(*this);
    const int64_t n = end - begin;
    Fill(at, lanes.now, n);
    for (int64_t r = 0; r < shape_.reduced; ++r) {
      for (size_t k = 0; k < bytes_.size(); ++k) {
        const size_t size = size_t(bytes_[k]);
        // Runs of the inner dimension.
        for (int64_t i = begin; i < end;) {
          int64_t o = i / shape_.inner, inside = i % shape_.inner;
          int64_t run = std::min(end - i, shape_.inner - inside);
          std::memcpy(lanes.elements[k] + size_t(i - begin) * size,
                      at.in[k] + size_t((o * shape_.reduced + r) * shape_.inner + inside) * size,
                      size_t(run) * size);
          i += run;
        }
      }
      Step(at, lanes, Const(lanes.now), Const(lanes.elements), n);
    }
    Store(at, lanes, begin, n);
  }

  // Result `o`: lanes are neighbouring elements, which are folded into each other in the end.
  void Along(const Pointers& at, int64_t o) const {
    Lanes lanes(*this);
    std::vector<const std::byte*> row(bytes_.size());
    auto move_to = [&](int64_t r) {
      for (size_t k = 0; k < bytes_.size(); ++k)
        row[k] = at.in[k] + (o * shape_.reduced + r) * bytes_[k];
    };
    int64_t n = std::min(kLanes, shape_.reduced);
    move_to(0);
    for (size_t k = 0; k < bytes_.size(); ++k)
      std::memcpy(lanes.now[k], row[k], size_t(n * bytes_[k]));
    for (int64_t r = n; r < shape_.reduced; r += kLanes) {
      int64_t m = std::min(n, shape_.reduced - r);
      move_to(r);
      Step(at, lanes, Const(lanes.now), row, m);
      for (size_t k = 0; k < bytes_.size() && m < n; ++k)
        std::memcpy(lanes.now[k] + m * bytes_[k], lanes.next_set[k] + m * bytes_[k],
                    size_t((n - m) * bytes_[k]));
    }
    while (n > 1) {
      int64_t half = n / 2, kept = n - half;
      std::vector<const std::byte*> upper(bytes_.size());
      for (size_t k = 0; k < bytes_.size(); ++k) upper[k] = lanes.now[k] + kept * bytes_[k];
      Step(at, lanes, Const(lanes.now), upper, half);
      if (kept > half)
        for (size_t k = 0; k < bytes_.size(); ++k)
          std::memcpy(lanes.now[k] + half * bytes_[k], lanes.next_set[k] + half * bytes_[k],
                      size_t(bytes_[k]));
      n = kept;
    }
    if (n == 0) {
      Fill(at, lanes.now, 1);
    } else {
      Step(at, lanes, at.init, Const(lanes.now), 1);
    }
    Store(at, lanes, o, 1);
  }

  void Store(const Pointers& at, const Lanes& lanes, int64_t first, int64_t n) const {
    for (size_t k = 0; k < bytes_.size(); ++k)
      std::memcpy(at.out[k] + first * bytes_[k], lanes.now[k], size_t(n * bytes_[k]));
  }

  std::shared_ptr<const Tape> tape_;
  Shape3 shape_;
  std::vector<int64_t> bytes_;  // of an element of each array
};

Status LowerGeneral(PlanBuilder& b, const Op& op) {
  const size_t count = op.results.size();
  PJRT_PLUGIN_ASSIGN_OR_RETURN(BodyTape body, TapeOfBody(b, op, *op.regions[0]));
  std::vector<Place> in, init, out;
  std::vector<int64_t> bytes;
  Shape3 shape;
  Uses uses;
  for (size_t k = 0; k < count; ++k) {
    if (op.operand_type(k).dtype != op.type(k).dtype)
      return PlanBuilder::Unsupported(op, "its body changes the element type");
    PJRT_PLUGIN_ASSIGN_OR_RETURN(View view, b.ViewOf(op.operands[k]));
    PJRT_PLUGIN_ASSIGN_OR_RETURN(Place start, b.Dense(op.operands[count + k]));
    auto [place, arranged] = Arrange(b, std::move(view), op.IntList("dimensions"));
    shape = arranged;
    in.push_back(place);
    init.push_back(start);
    bytes.push_back(int64_t(DTypeBytes(op.type(k).dtype)));
    uses.reads.insert(uses.reads.end(), {place.buffer, start.buffer});
  }
  for (const Place& place : body.captured) uses.reads.push_back(place.buffer);
  for (size_t k = 0; k < count; ++k) {
    out.push_back(b.NewResult(op.result(k)));
    uses.writes.push_back(out.back().buffer);
  }
  b.AddFlops(double(op.operand_type(0).num_elements()) * double(body.tape->num_kernels()));
  GeneralReduce reduce(body.tape, shape, std::move(bytes));
  b.Emit(op, std::move(uses),
         [in, init, out, captured = body.captured, reduce](const Frame& frame) {
           GeneralReduce::Pointers at;
           for (const Place& place : in) at.in.push_back(place.At(frame));
           for (const Place& place : init) at.init.push_back(place.At(frame));
           for (const Place& place : captured) at.captured.push_back(place.At(frame));
           for (const Place& place : out) at.out.push_back(place.At(frame));
           reduce.Run(frame, at);
           return Status();
         });
  return Status();
}

}  // namespace

Status LowerReduce(PlanBuilder& b, const Op& op) {
  if (op.results.size() == 1) {
    std::optional<kernels::ElementwiseOp> single = SingleOpOf(*op.regions[0]);
    std::optional<ReduceOp> reduce = single ? ReduceOpOf(*single) : std::nullopt;
    bool done = false;
    if (reduce) PJRT_PLUGIN_RETURN_IF_ERROR(LowerSimple(b, op, *reduce, *single, done));
    if (done) return Status();
  }
  return LowerGeneral(b, op);
}

}  // namespace PJRT_PLUGIN_NS::reference
