// Ops that take positions as data.

#include <algorithm>

#include "program/verify_op.h"

namespace PJRT_PLUGIN_NS::program {
namespace {

// Scalars of one integer type, one for each dimension of the operand.
void CheckStarts(OpCheck& check, std::span<Value* const> starts, int64_t rank) {
  check.Require(int64_t(starts.size()) == rank, "there is not one start index a dimension");
  for (const Value* start : starts)
    check.Require(IsScalar(start->type) && backend::IsInt(start->type.dtype) &&
                      start->type == starts[0]->type,
                  "the start indices are not scalars of one integer type");
}

void CheckDynamicSlice(OpCheck& check) {
  const Op& op = check.op();
  const Type& operand = op.operand_type(0);
  const Ints& sizes = op.IntList("slice_sizes");
  CheckStarts(check, Operands(op, 1), operand.rank());
  check.Require(op.type() == Type::Tensor(operand.dtype, sizes),
                "the result is not of the type of the slice");
  if (!check.Require(sizes.size() == operand.dims.size(), "slice_sizes do not fit the rank"))
    return;
  for (size_t i = 0; i < sizes.size(); ++i)
    check.Require(sizes[i] >= 0 && sizes[i] <= operand.dims[i], "a slice exceeds the operand");
}

void CheckDynamicUpdateSlice(OpCheck& check) {
  const Op& op = check.op();
  const Type& operand = op.operand_type(0);
  const Type& update = op.operand_type(1);
  CheckStarts(check, Operands(op, 2), operand.rank());
  check.Require(op.type() == operand, "operand and result differ in type");
  if (!check.Require(update.rank() == operand.rank() && update.dtype == operand.dtype,
                     "the update differs from the operand in rank or element type"))
    return;
  for (size_t i = 0; i < update.dims.size(); ++i)
    check.Require(update.dims[i] <= operand.dims[i], "the update exceeds the operand");
}

// How gather and scatter address windows of an operand: `window` are the dimensions of the result
// (the updates) that lie within a window, `inserted` and `batching` those of the operand that a
// window lacks, `map` those that the index vector addresses. The windows' sizes in the operand,
// dims lacking removed, come out; or nothing, when checks failed.
struct Windows {
  const Type& operand;
  const Type& indices;
  const Type& batch;  // the result or the updates
  const Ints& window;
  const Ints& inserted;
  const Ints& batching;
  const Ints& indices_batching;
  const Ints& map;
  int64_t index_vector_dim;
};

bool CheckWindows(OpCheck& check, const Windows& w) {
  const int64_t rank = w.operand.rank();
  Ints lacking = w.inserted;
  lacking.insert(lacking.end(), w.batching.begin(), w.batching.end());
  Ints addressed = w.map;
  addressed.insert(addressed.end(), w.batching.begin(), w.batching.end());
  if (!check.Require(backend::IsInt(w.indices.dtype), "the indices are not integers") ||
      !check.Require(w.index_vector_dim >= 0 && w.index_vector_dim <= w.indices.rank(),
                     "index_vector_dim is out of range") ||
      !check.Require(AreDistinctDims(lacking, rank) && AreDistinctDims(addressed, rank),
                     "collapsed, inserted, batching or indexed dimensions are out of range or "
                     "repeated") ||
      !check.Require(AreDistinctDims(w.window, w.batch.rank()) &&
                         std::is_sorted(w.window.begin(), w.window.end()),
                     "the window dimensions are out of range, repeated or not in order") ||
      !check.Require(AreDistinctDims(w.indices_batching, w.indices.rank()) &&
                         w.indices_batching.size() == w.batching.size() &&
                         !Contains(w.indices_batching, w.index_vector_dim),
                     "the batching dimensions of operand and indices do not pair up") ||
      !check.Require(int64_t(w.window.size() + lacking.size()) == rank,
                     "the window dimensions and those lacking are not all of the operand's"))
    return false;
  const int64_t vector_size =
      w.index_vector_dim == w.indices.rank() ? 1 : w.indices.dims[size_t(w.index_vector_dim)];
  check.Require(int64_t(w.map.size()) == vector_size,
                "the index vector has another size than the dimensions that it addresses");
  for (size_t i = 0; i < w.batching.size(); ++i)
    check.Require(
        w.operand.dims[size_t(w.batching[i])] == w.indices.dims[size_t(w.indices_batching[i])],
        "the batching dimensions of operand and indices differ in size");
  // The other dimensions of the result are those of the indices without the index vector.
  Dims batch_dims;
  for (int64_t i = 0; i < w.batch.rank(); ++i)
    if (!Contains(w.window, i)) batch_dims.push_back(w.batch.dims[size_t(i)]);
  Dims index_dims = w.indices.dims;
  if (w.index_vector_dim < w.indices.rank())
    index_dims.erase(index_dims.begin() + w.index_vector_dim);
  return check.Require(batch_dims == index_dims,
                       "the dimensions outside of the windows are not those of the indices");
}

void CheckGather(OpCheck& check) {
  const Op& op = check.op();
  const Type& operand = op.operand_type(0);
  const Ints& sizes = op.IntList("slice_sizes");
  const Windows windows{operand,
                        op.operand_type(1),
                        op.type(),
                        op.IntList("offset_dims"),
                        op.IntList("collapsed_slice_dims"),
                        op.IntList("operand_batching_dims"),
                        op.IntList("start_indices_batching_dims"),
                        op.IntList("start_index_map"),
                        op.Int("index_vector_dim")};
  check.Require(op.type().dtype == operand.dtype, "operand and result differ in element type");
  if (!CheckWindows(check, windows)) return;
  if (!check.Require(sizes.size() == operand.dims.size(), "slice_sizes do not fit the rank"))
    return;
  size_t window = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    check.Require(sizes[i] >= 0 && sizes[i] <= operand.dims[i], "a slice exceeds the operand");
    if (Contains(windows.inserted, int64_t(i)) || Contains(windows.batching, int64_t(i))) {
      check.Require(sizes[i] <= 1, "a collapsed or batching dimension has a slice size above 1");
    } else {
      check.Require(op.type().dims[size_t(windows.window[window++])] == sizes[i],
                    "the result's window dimensions are not slice_sizes");
    }
  }
}

void CheckScatter(OpCheck& check) {
  const Op& op = check.op();
  const std::span<Value* const> inputs = Operands(op, 0);
  const std::span<Value* const> updates = Operands(op, 2);
  if (!check.Require(!inputs.empty() && op.results.size() == inputs.size(),
                     "inputs and results differ in number"))
    return;
  const Windows windows{inputs[0]->type,
                        Operands(op, 1)[0]->type,
                        updates[0]->type,
                        op.IntList("update_window_dims"),
                        op.IntList("inserted_window_dims"),
                        op.IntList("input_batching_dims"),
                        op.IntList("scatter_indices_batching_dims"),
                        op.IntList("scatter_dims_to_operand_dims"),
                        op.Int("index_vector_dim")};
  for (size_t i = 0; i < inputs.size(); ++i) {
    check.Require(op.type(i) == inputs[i]->type, "an input and its result differ in type");
    check.Require(inputs[i]->type.dims == inputs[0]->type.dims &&
                      updates[i]->type.dims == updates[0]->type.dims,
                  "the inputs or the updates differ in shape");
    check.Require(updates[i]->type.dtype == inputs[i]->type.dtype,
                  "an input and its update differ in element type");
  }
  if (!CheckWindows(check, windows)) return;
  size_t window = 0;
  for (size_t i = 0; i < windows.operand.dims.size(); ++i) {
    if (Contains(windows.inserted, int64_t(i)) || Contains(windows.batching, int64_t(i))) continue;
    check.Require(windows.batch.dims[size_t(windows.window[window++])] <= windows.operand.dims[i],
                  "an update's window exceeds the input");
  }
  const std::vector<Type> elements = ElementTypes(inputs);
  std::vector<Type> arguments = elements;
  arguments.insert(arguments.end(), elements.begin(), elements.end());
  check.RequireSupported(HasSignature(*op.regions[0], arguments, elements),
                         "the update computation does not map two scalars of each input's element "
                         "type to one");
}

}  // namespace

void CheckIndexing(OpCheck& check) {
  switch (check.op().code) {
    case OpCode::kDynamicSlice:
      return CheckDynamicSlice(check);
    case OpCode::kDynamicUpdateSlice:
      return CheckDynamicUpdateSlice(check);
    case OpCode::kGather:
      return CheckGather(check);
    default:
      return CheckScatter(check);
  }
}

}  // namespace PJRT_PLUGIN_NS::program
