#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "program/op_table.h"
#include "reference/body.h"
#include "reference/kernels/kernel_table.h"
#include "reference/lowerings.h"

namespace PJRT_PLUGIN_NS::reference {
namespace {

using program::OpCode;

// Whether `right` is computed from the second elements as `left` is from the first ones.
bool SameOfTheOther(const Value* left, const Value* right, const Block& comparator,
                    int depth = 64) {
  if (depth == 0) return false;
  if (left->op == nullptr || right->op == nullptr) {
    return left->op == nullptr && right->op == nullptr && left->block == &comparator &&
           right->block == &comparator && left->index % 2 == 0 && right->index == left->index + 1;
  }
  const Op& a = *left->op;
  const Op& b = *right->op;
  if (a.code != b.code || left->type != right->type || a.operands.size() != b.operands.size() ||
      !a.regions.empty() || !b.regions.empty())
    return false;
  if (!(a.attributes == b.attributes)) return false;
  for (size_t i = 0; i < a.operands.size(); ++i)
    if (a.operands[i] != b.operands[i] || a.operands[i]->op == nullptr ||
        a.operands[i]->op->code != OpCode::kConstant)
      if (!SameOfTheOther(a.operands[i], b.operands[i], comparator, depth - 1)) return false;
  return true;
}

// A comparator that compares one key of each side: key(a) < key(b), or >.
struct KeyOrder {
  Value* key = nullptr;  // of the first side
  bool descending = false;
  bool total = false;
};

std::optional<KeyOrder> KeyOrderOf(const Block& comparator) {
  using program::ComparisonDirection;
  const Value* result = comparator.terminator()->operands[0];
  if (result->op == nullptr || result->op->code != OpCode::kCompare) return std::nullopt;
  const Op& compare = *result->op;
  auto direction = compare.As<ComparisonDirection>("comparison_direction");
  if (direction != ComparisonDirection::kLt && direction != ComparisonDirection::kGt)
    return std::nullopt;
  if (!SameOfTheOther(compare.operands[0], compare.operands[1], comparator)) return std::nullopt;
  return KeyOrder{
      compare.operands[0], direction == ComparisonDirection::kGt,
      compare.As<program::ComparisonType>("compare_type") == program::ComparisonType::kTotalOrder};
}

// Element `i` as a number whose unsigned order is the elements'; nothing below 64 bits is lost.
template <typename Bits>
uint64_t OrderedBits(const std::byte* data, int64_t i, DType type, bool total) {
  Bits bits;
  std::memcpy(&bits, data + i * int64_t(sizeof(Bits)), sizeof(Bits));
  constexpr Bits kSign = Bits(Bits{1} << (8 * sizeof(Bits) - 1));
  if (backend::IsFloat(type)) {
    // Without total order both zeros are one.
    if (!total && bits == kSign) bits = 0;
    return bits & kSign ? Bits(~bits) : Bits(bits | kSign);
  }
  return backend::IsSignedInt(type) ? Bits(bits ^ kSign) : bits;
}

uint64_t OrderedKey(const std::byte* data, int64_t i, DType type, bool total) {
  switch (backend::DTypeBytes(type)) {
    case 1:
      return OrderedBits<uint8_t>(data, i, type, total);
    case 2:
      return OrderedBits<uint16_t>(data, i, type, total);
    case 4:
      return OrderedBits<uint32_t>(data, i, type, total);
    default:
      return OrderedBits<uint64_t>(data, i, type, total);
  }
}

// Rows of `length` elements of several arrays, dense, and how to put each row in order.
struct SortRows {
  std::shared_ptr<const Tape> tape;  // the key, or the comparator
  std::optional<KeyOrder> key;
  DType key_type = DType::kF32;
  int64_t length = 0;
  std::vector<int64_t> bytes;

  // The order of one row.
  std::vector<int64_t> Order(const std::vector<const std::byte*>& row,
                             const std::vector<const std::byte*>& captured) const {
    std::vector<int64_t> order(static_cast<size_t>(length));
    std::iota(order.begin(), order.end(), 0);
    std::vector<const void*> in(2 * row.size());
    for (const std::byte* one : captured) in.push_back(one);
    if (key) {
      // The tape's inputs are pairs of elements of which only the first ones matter.
      for (size_t k = 0; k < row.size(); ++k) in[2 * k] = in[2 * k + 1] = row[k];
      const size_t key_bytes = backend::DTypeBytes(key_type);
      std::vector<std::byte> keys(size_t(length) * key_bytes);
      void* out = keys.data();
      tape->Run(in.data(), &out, 0, length);
      struct Entry {
        uint64_t key;
        int64_t index;
      };
      std::vector<Entry> entries(static_cast<size_t>(length));
      for (int64_t i = 0; i < length; ++i) {
        uint64_t bits = OrderedKey(keys.data(), i, key_type, key->total);
        entries[size_t(i)] = {key->descending ? ~bits : bits, i};
      }
      std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
        return a.key != b.key ? a.key < b.key : a.index < b.index;
      });
      for (int64_t i = 0; i < length; ++i) order[size_t(i)] = entries[size_t(i)].index;
      return order;
    }
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      for (size_t k = 0; k < row.size(); ++k) {
        in[2 * k] = row[k] + a * bytes[k];
        in[2 * k + 1] = row[k] + b * bytes[k];
      }
      bool less = false;
      void* out = &less;
      tape->Run(in.data(), &out, 0, 1);
      return less;
    });
    return order;
  }
};

}  // namespace

Status LowerSort(PlanBuilder& b, const Op& op) {
  const size_t count = op.operands.size();
  const Block& comparator = *op.regions[0];
  const Type& type = op.type();
  int64_t axis = op.Int("dimension");
  if (axis < 0) axis += type.rank();
  SortRows rows;
  rows.length = type.dims.empty() ? 1 : type.dims[size_t(axis)];
  rows.key = KeyOrderOf(comparator);
  BodyTape body;
  if (rows.key) {
    rows.key_type = rows.key->key->type.dtype;
    Value* outputs[] = {rows.key->key};
    PJRT_PLUGIN_ASSIGN_OR_RETURN(body, TapeOfBody(b, op, comparator, outputs));
  } else {
    PJRT_PLUGIN_ASSIGN_OR_RETURN(body, TapeOfBody(b, op, comparator));
  }
  rows.tape = body.tape;

  // The sorted dimension goes last; results are put back in their own order of dimensions.
  Dims order;
  for (int64_t d = 0; d < type.rank(); ++d)
    if (d != axis) order.push_back(d);
  if (!type.dims.empty()) order.push_back(axis);
  Uses uses;
  std::vector<Place> in, out;
  std::vector<View> results;
  for (size_t k = 0; k < count; ++k) {
    PJRT_PLUGIN_ASSIGN_OR_RETURN(View view, b.ViewOf(op.operands[k]));
    View arranged{view.buffer, view.dtype, view.offset, {}, {}};
    for (int64_t d : order) {
      arranged.dims.push_back(view.dims[size_t(d)]);
      arranged.strides.push_back(view.strides[size_t(d)]);
    }
    in.push_back(b.Dense(arranged));
    rows.bytes.push_back(int64_t(view.element_bytes()));
    uses.reads.push_back(in.back().buffer);
    const bool last = axis == type.rank() - 1 || type.dims.empty();
    out.push_back(last ? b.NewResult(op.result(k)) : Place{b.NewTemp(op.type(k).byte_size()), 0});
    uses.writes.push_back(out.back().buffer);
    if (last) continue;
    View sorted{out.back().buffer, view.dtype, 0, type.dims, Dims(type.dims.size())};
    const Dims strides = DenseStrides(arranged.dims);
    for (size_t d = 0; d < order.size(); ++d) sorted.strides[size_t(order[d])] = strides[d];
    b.Bind(op.result(k), std::move(sorted));
  }
  for (const Place& place : body.captured) uses.reads.push_back(place.buffer);
  const int64_t num_rows = rows.length == 0 ? 0 : type.num_elements() / rows.length;
  b.Emit(op, std::move(uses),
         [=, captured = body.captured, rows = std::move(rows)](const Frame& frame) {
           std::vector<const std::byte*> outside;
           for (const Place& place : captured) outside.push_back(place.At(frame));
           const int64_t grain = std::max<int64_t>(1, 4096 / std::max<int64_t>(rows.length, 1));
           frame.pool->ParallelFor(num_rows, grain, [&](int64_t begin, int64_t end) {
             for (int64_t r = begin; r < end; ++r) {
               std::vector<const std::byte*> row;
               for (size_t k = 0; k < in.size(); ++k)
                 row.push_back(in[k].At(frame) + r * rows.length * rows.bytes[k]);
               std::vector<int64_t> sorted = rows.Order(row, outside);
               for (size_t k = 0; k < in.size(); ++k) {
                 for (int64_t& offset : sorted) offset *= rows.bytes[k];
                 kernels::Kernels().gather_rows(row[k], sorted.data(), rows.length, rows.bytes[k],
                                                out[k].At(frame) + r * rows.length * rows.bytes[k]);
                 for (int64_t& offset : sorted) offset /= rows.bytes[k];
               }
             }
           });
           return Status();
         });
  return Status();
}

}  // namespace PJRT_PLUGIN_NS::reference
