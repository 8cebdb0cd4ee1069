#include "reference/fuse_elementwise.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "program/op_table.h"
#include "reference/plan_builder.h"
#include "reference/reduce_precision.h"

namespace PJRT_PLUGIN_NS::reference {
namespace {

using backend::Status;
using kernels::ElementwiseOp;
using program::Op;
using program::OpCode;
using program::Value;
using Reg = TapeBuilder::Reg;

constexpr size_t kMaxClusterOps = 256;
// A loop is shared among threads when each gets at least this much (in Tape::cost units, some tens
// of microseconds).
constexpr double kThreadWork = 150'000;
// A transposed operand larger than this is copied in tiles first, which is kinder to the cache.
constexpr int64_t kLargeTranspose = 4096;
constexpr size_t kStackPointers = 24;

// The kernels' and the operations' enumerators have the same names.
const std::array<int, 512>& KernelsByOp() {
  static const std::array<int, 512> table = [] {
    std::map<std::string_view, int> kernels;
#define PJRT_PLUGIN_KERNEL(name, arity, dtypes) kernels["k" #name] = int(ElementwiseOp::k##name);
#include "reference/kernels/elementwise.inc"
#undef PJRT_PLUGIN_KERNEL
    std::array<int, 512> by_op;
    by_op.fill(-1);
#define PJRT_PLUGIN_OP(code, ...) \
  if (auto it = kernels.find(#code); it != kernels.end()) by_op[size_t(OpCode::code)] = it->second;
#include "program/ops.inc"
#undef PJRT_PLUGIN_OP
    return by_op;
  }();
  return table;
}

ElementwiseOp CompareKernel(const Op& op) {
  using program::ComparisonDirection;
  auto direction = op.As<ComparisonDirection>("comparison_direction");
  bool total =
      op.As<program::ComparisonType>("compare_type") == program::ComparisonType::kTotalOrder &&
      backend::IsFloat(op.operand_type(0).dtype);
  switch (direction) {
    case ComparisonDirection::kEq:
      return total ? ElementwiseOp::kCompareTotalEq : ElementwiseOp::kCompareEq;
    case ComparisonDirection::kNe:
      return total ? ElementwiseOp::kCompareTotalNe : ElementwiseOp::kCompareNe;
    case ComparisonDirection::kGe:
      return total ? ElementwiseOp::kCompareTotalGe : ElementwiseOp::kCompareGe;
    case ComparisonDirection::kGt:
      return total ? ElementwiseOp::kCompareTotalGt : ElementwiseOp::kCompareGt;
    case ComparisonDirection::kLe:
      return total ? ElementwiseOp::kCompareTotalLe : ElementwiseOp::kCompareLe;
    case ComparisonDirection::kLt:
      break;
  }
  return total ? ElementwiseOp::kCompareTotalLt : ElementwiseOp::kCompareLt;
}

bool SameWidthBitcast(const Op& op) {
  return op.code == OpCode::kBitcastConvert && op.operand_type(0).dims == op.type().dims &&
         backend::DTypeBits(op.operand_type(0).dtype) == backend::DTypeBits(op.type().dtype);
}

}  // namespace

std::optional<ElementwiseOp> KernelOf(const Op& op) {
  if (op.code == OpCode::kCompare) return CompareKernel(op);
  int kernel = KernelsByOp()[size_t(op.code)];
  if (kernel < 0) return std::nullopt;
  return ElementwiseOp(kernel);
}

bool IsElementwise(const Op& op) {
  return op.code == OpCode::kCompare || op.code == OpCode::kConvert ||
         op.code == OpCode::kReducePrecision || SameWidthBitcast(op) ||
         KernelsByOp()[size_t(op.code)] >= 0;
}

std::optional<Reg> AddToTape(TapeBuilder& tape, const Op& op, std::span<const Reg> operands) {
  if (op.code == OpCode::kConvert) return tape.Convert(operands[0], op.type().dtype);
  if (op.code == OpCode::kBitcastConvert) return tape.Bitcast(operands[0], op.type().dtype);
  if (op.code == OpCode::kReshape) return operands[0];
  if (op.code == OpCode::kReducePrecision)
    return ReducePrecision(tape, operands[0], op.Int("exponent_bits"), op.Int("mantissa_bits"));
  std::optional<ElementwiseOp> kernel = KernelOf(op);
  if (!kernel) return std::nullopt;
  return tape.Apply(*kernel, operands);
}

Status Fusion::Add(const Op& op) {
  const int64_t elements = op.type().num_elements();
  for (const Value* operand : op.operands) {
    auto it = cluster_of_.find(operand);
    if (it != cluster_of_.end() &&
        (it->second->elements != elements || it->second->ops.size() >= kMaxClusterOps))
      PJRT_PLUGIN_RETURN_IF_ERROR(Emit(it->second));
  }
  // Joins the cluster of the first pending operand, and the others' clusters to that one.
  Handle home = clusters_.end();
  for (const Value* operand : op.operands) {
    auto it = cluster_of_.find(operand);
    if (it == cluster_of_.end() || it->second == home) continue;
    if (home == clusters_.end()) {
      home = it->second;
      continue;
    }
    Handle other = it->second;
    for (const Op* moved : other->ops) {
      home->ops.push_back(moved);
      cluster_of_[moved->result()] = home;
    }
    clusters_.erase(other);
  }
  // Single elements go together whether or not they have to do with each other: what a loop over
  // scalars costs is the number of its steps.
  for (Handle other = clusters_.begin();
       elements == 1 && home == clusters_.end() && other != clusters_.end(); ++other)
    if (other->elements == 1 && other->ops.size() < kMaxClusterOps) home = other;
  if (home == clusters_.end()) {
    home = clusters_.emplace(clusters_.end());
    home->elements = elements;
  }
  home->ops.push_back(&op);
  cluster_of_[op.result()] = home;
  return Status();
}

Status Fusion::Flush(const Value* value) {
  auto it = cluster_of_.find(value);
  return it == cluster_of_.end() ? Status() : Emit(it->second);
}

Status Fusion::FlushAll() {
  while (!clusters_.empty()) PJRT_PLUGIN_RETURN_IF_ERROR(Emit(clusters_.begin()));
  return Status();
}

namespace {

// The tape of one cluster under construction, and where its inputs lie.
class ClusterTape {
 public:
  ClusterTape(PlanBuilder& builder, int64_t elements) : builder_(builder), elements_(elements) {}

  backend::Result<Reg> Operand(const Value* value) {
    if (auto it = regs_.find(value); it != regs_.end()) return it->second;
    PJRT_PLUGIN_ASSIGN_OR_RETURN(View view, builder_.ViewOf(value));
    Reg reg = Load(view);
    regs_[value] = reg;
    return reg;
  }
  void Set(const Value* value, Reg reg) { regs_[value] = reg; }
  Reg Get(const Value* value) const { return regs_.at(value); }

  TapeBuilder tape;
  std::vector<Place> inputs;

 private:
  Reg Load(View view) {
    const int64_t bytes = int64_t(view.element_bytes());
    if (view.scalar() || view.num_elements() == 1) {
      inputs.push_back({view.buffer, view.offset * bytes});
      // A loop of one element reads it as densely as any, which lets the result take its place.
      return elements_ == 1 ? tape.Input(view.dtype) : tape.ScalarInput(view.dtype);
    }
    if (!view.dense()) {
      View flat = Collapsed(view);
      int64_t inner = flat.strides.back();
      if (inner != 0 && inner != 1 && elements_ > kLargeTranspose) {
        inputs.push_back(builder_.Dense(view));
        return tape.Input(view.dtype);
      }
      inputs.push_back({view.buffer, view.offset * bytes});
      return tape.StridedInput(view.dtype, {std::move(flat.dims), std::move(flat.strides)});
    }
    inputs.push_back({view.buffer, view.offset * bytes});
    return tape.Input(view.dtype);
  }

  PlanBuilder& builder_;
  const int64_t elements_;
  std::unordered_map<const Value*, Reg> regs_;
};

std::string TextOf(const std::vector<const Op*>& ops) {
  std::string text = "fused loop:";
  for (const Op* op : ops) text += " " + std::string(program::OpName(op->code));
  return text + " -> " + program::ToString(ops.back()->type());
}

}  // namespace

Status Fusion::Emit(Handle cluster) {
  const std::vector<const Op*> ops = std::move(cluster->ops);
  const int64_t elements = cluster->elements;
  for (const Op* op : ops) cluster_of_.erase(op->result());
  clusters_.erase(cluster);

  ClusterTape loop(builder_, elements);
  std::unordered_map<const Value*, int> inside;  // uses by the cluster itself
  for (const Op* op : ops) {
    if (op->code == OpCode::kIota) {
      const program::Type& type = op->type();
      size_t axis = size_t(op->Int("iota_dimension"));
      int64_t inner = 1;
      for (size_t d = axis + 1; d < type.dims.size(); ++d) inner *= type.dims[d];
      loop.Set(op->result(), loop.tape.Iota(type.dtype, inner, type.dims[axis]));
      continue;
    }
    std::vector<Reg> operands;
    for (const Value* operand : op->operands) {
      ++inside[operand];
      PJRT_PLUGIN_ASSIGN_OR_RETURN(Reg reg, loop.Operand(operand));
      operands.push_back(reg);
    }
    std::optional<Reg> reg = AddToTape(loop.tape, *op, operands);
    if (!reg) return PlanBuilder::Unsupported(*op, "there is no kernel for these element types");
    loop.Set(op->result(), *reg);
  }

  std::vector<Place> outputs;
  Uses uses;
  for (const Op* op : ops) {
    const Value* value = op->result();
    if (builder_.UsesOf(value) == inside[value]) continue;
    loop.tape.Output(loop.Get(value));
    outputs.push_back(builder_.NewResult(value));
    uses.writes.push_back(outputs.back().buffer);
  }
  if (outputs.empty()) return Status();
  auto tape = std::make_shared<const Tape>(std::move(loop.tape).Build());
  std::vector<Place> inputs = std::move(loop.inputs);
  for (size_t k = 0; k < inputs.size(); ++k) {
    uses.reads.push_back(inputs[k].buffer);
    // The same buffer may be several inputs, each of which must allow it.
    for (size_t j = 0; j < outputs.size(); ++j) {
      bool can = true;
      for (size_t i = 0; i < inputs.size(); ++i)
        if (inputs[i].buffer == inputs[k].buffer)
          can = can && inputs[i].bytes == 0 && tape->CanShare(i, j);
      if (can) uses.in_place.push_back({inputs[k].buffer, outputs[j].buffer});
    }
  }
  builder_.AddFlops(double(elements) * double(ops.size()));
  const double cost = std::max(tape->cost(), 1.0);
  const int64_t grain = int64_t(std::ceil(kThreadWork / cost / Tape::kMaxBlock)) * Tape::kMaxBlock;

  builder_.Emit(*ops.back(), TextOf(ops), std::move(uses),
                [tape, inputs = std::move(inputs), outputs = std::move(outputs), elements,
                 grain](const Frame& frame) {
                  const void* stack[kStackPointers];
                  std::vector<const void*> heap;
                  const void** in = stack;
                  const size_t count = inputs.size() + outputs.size();
                  if (count > kStackPointers) {
                    heap.resize(count);
                    in = heap.data();
                  }
                  for (size_t k = 0; k < inputs.size(); ++k) in[k] = inputs[k].At(frame);
                  void** out = const_cast<void**>(in + inputs.size());
                  for (size_t k = 0; k < outputs.size(); ++k) out[k] = outputs[k].At(frame);
                  if (elements <= grain) {
                    tape->Run(in, out, 0, elements);
                  } else {
                    frame.pool->ParallelFor(elements, grain, [&](int64_t begin, int64_t end) {
                      tape->Run(in, out, begin, end);
                    });
                  }
                  return Status();
                });
  return Status();
}

}  // namespace PJRT_PLUGIN_NS::reference
