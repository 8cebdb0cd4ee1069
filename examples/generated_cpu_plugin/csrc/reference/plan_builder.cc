#include "reference/plan_builder.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "program/op_table.h"
#include "reference/assign_buffers.h"
#include "reference/kernels/kernel_table.h"
#include "reference/partition.h"

namespace PJRT_PLUGIN_NS::reference {
namespace {

using program::OpCode;

constexpr size_t kConstantAlignment = 64;
// A copy is shared among threads when each gets at least this many bytes.
constexpr int64_t kThreadBytes = int64_t{1} << 18;

Dims ByteStrides(const View& view) {
  Dims strides = view.strides;
  for (int64_t& stride : strides) stride *= int64_t(view.element_bytes());
  return strides;
}

const program::Attribute* FindAttribute(const program::AttributeList& list, std::string_view name) {
  for (const program::NamedAttribute& one : list)
    if (one.name == name) return &one.value;
  return nullptr;
}

// As profiles show it: "model.py:12".
std::string SourceOf(const Op& op) {
  const program::Location& location = *op.location;
  if (location.file.empty()) return location.name;
  return location.file + ":" + std::to_string(location.line);
}

}  // namespace

PlanBuilder::PlanBuilder(const program::Module& module, const Partitioning& partitioning,
                         int threads, backend::CustomCalls* custom_calls)
    : module_(module),
      partitioning_(partitioning),
      threads_(threads),
      custom_calls_(custom_calls),
      fusion_(*this) {}

std::string PlanBuilder::Describe(const Op& op) {
  std::string where = program::ToString(*op.location);
  return program::Signature(op) + (where.empty() ? "" : " at " + where);
}

Status PlanBuilder::Unsupported(const Op& op, std::string_view what) {
  return backend::Unimplemented("the reference backend cannot run " + Describe(op) + ": " +
                                std::string(what));
}

// ---- Values ----

Result<View> PlanBuilder::ViewOf(const Value* value) {
  PJRT_PLUGIN_RETURN_IF_ERROR(fusion_.Flush(value));
  auto it = views_.find(value);
  if (it != views_.end()) return it->second;
  if (auto shard = shards_.find(value); shard != shards_.end())
    return Unshard(*this, value, shard->second);
  std::string what = value->op != nullptr ? Describe(*value->op) : "a block argument";
  return backend::Internal("the planner has no memory for the result of " + what);
}

Result<Place> PlanBuilder::Dense(const Value* value) {
  PJRT_PLUGIN_ASSIGN_OR_RETURN(View view, ViewOf(value));
  if (view.dense()) return Place{view.buffer, view.offset * int64_t(view.element_bytes())};
  Place place = Dense(view);
  Bind(value, View{place.buffer, view.dtype, 0, view.dims, DenseStrides(view.dims)});
  return place;
}

Place PlanBuilder::Dense(const View& view) {
  if (view.dense()) return Place{view.buffer, view.offset * int64_t(view.element_bytes())};
  BufferId buffer = NewTemp(size_t(view.num_elements()) * view.element_bytes());
  EmitCopy(view, View{buffer, view.dtype, 0, view.dims, DenseStrides(view.dims)});
  return Place{buffer, 0};
}

Place PlanBuilder::NewResult(const Value* value) {
  const Type& type = value->type;
  BufferId id = kNoBuffer;
  auto hint = output_of_.find(value);
  if (hint != output_of_.end() && plan_.outputs[size_t(hint->second)].buffer == kNoBuffer) {
    id = NewBuffer(BufferKind::kOutput, type.byte_size());
    plan_.buffers[size_t(id)].index = hint->second;
    plan_.outputs[size_t(hint->second)].buffer = id;
  } else {
    id = NewTemp(type.byte_size());
  }
  plan_.buffers[size_t(id)].note = program::ToString(type);
  Bind(value, View{id, type.dtype, 0, type.dims, DenseStrides(type.dims)});
  return Place{id, 0};
}

BufferId PlanBuilder::NewBuffer(BufferKind kind, size_t bytes) {
  BufferId id = BufferId(plan_.buffers.size());
  Buffer buffer;
  buffer.kind = kind;
  buffer.bytes = bytes;
  buffer.root = id;
  plan_.buffers.push_back(std::move(buffer));
  return id;
}

BufferId PlanBuilder::NewTemp(size_t bytes) { return NewBuffer(BufferKind::kTemp, bytes); }

BufferId PlanBuilder::NewConstant(const std::byte* bytes, size_t size) {
  BufferId id = NewBuffer(BufferKind::kConstant, size);
  size_t offset =
      (plan_.constants.size() + kConstantAlignment - 1) / kConstantAlignment * kConstantAlignment;
  plan_.buffers[size_t(id)].offset = offset;
  plan_.constants.resize(offset + size);
  if (size != 0) std::memcpy(plan_.constants.data() + offset, bytes, size);
  return id;
}

void PlanBuilder::Bind(const Value* value, View view) {
  auto it = views_.find(value);
  if (!regions_.empty()) {
    regions_.back().undo.emplace_back(
        value, it == views_.end() ? std::nullopt : std::optional<View>(it->second));
  }
  views_[value] = std::move(view);
}

int PlanBuilder::UsesOf(const Value* value) const {
  auto it = uses_.find(value);
  return it == uses_.end() ? 0 : it->second;
}

void PlanBuilder::CountUses(const Block& block) {
  for (const auto& op : block.ops) {
    for (const Value* operand : op->operands) ++uses_[operand];
    for (const auto& region : op->regions) CountUses(*region);
  }
}

// ---- Steps ----

void PlanBuilder::Touch(BufferId id) {
  id = plan_.Root(id);
  Buffer& buffer = plan_.buffers[size_t(id)];
  if (buffer.first < 0) buffer.first = position_;
  buffer.last = std::max(buffer.last, position_);
  if (!regions_.empty()) regions_.back().touched.push_back(id);
}

void PlanBuilder::Emit(const Op& op, Uses uses, Run run) {
  std::string text = std::string(program::OpName(op.code));
  for (const auto& result : op.results) text += " " + program::ToString(result->type);
  Emit(op, std::move(text), std::move(uses), std::move(run));
}

void PlanBuilder::Emit(std::string text, Uses uses, Run run) {
  AddStep(lowering_, std::move(text), std::move(uses), std::move(run));
}

void PlanBuilder::Emit(const Op& op, std::string text, Uses uses, Run run) {
  AddStep(&op, std::move(text), std::move(uses), std::move(run));
}

void PlanBuilder::AddStep(const Op* op, std::string text, Uses uses, Run run) {
  auto list = [](const std::vector<BufferId>& ids) {
    std::string names;
    for (BufferId id : ids) names += (names.empty() ? "%" : ", %") + std::to_string(id);
    return names;
  };
  for (BufferId id : uses.reads) {
    Touch(id);
    plan_.bytes_accessed += double(plan_.buffers[size_t(id)].bytes);
  }
  for (BufferId id : uses.writes) {
    Touch(id);
    plan_.bytes_accessed += double(plan_.buffers[size_t(id)].bytes);
  }
  for (auto [operand, result] : uses.in_place)
    plan_.in_place.push_back({operand, result, position_});
  Sequence& sequence = regions_.empty() ? plan_.body : regions_.back().sequence;
  std::string shown = list(uses.writes) + " = " + text + " (" + list(uses.reads) + ")";
  sequence.steps.push_back(Step{.name = std::move(text),
                                .source = op == nullptr ? "" : SourceOf(*op),
                                .text = std::move(shown),
                                .run = std::move(run),
                                .nested = {}});
  ++position_;
}

void PlanBuilder::EmitControl(const Op& op, Uses uses,
                              std::vector<std::shared_ptr<const Sequence>> nested, Run run) {
  Emit(op, std::move(uses), std::move(run));
  Sequence& sequence = regions_.empty() ? plan_.body : regions_.back().sequence;
  sequence.steps.back().nested = std::move(nested);
}

void PlanBuilder::EmitCopy(const View& from, const View& to) {
  const size_t bytes = from.element_bytes();
  const int64_t elements = from.num_elements();
  if (elements == 0) {
    // Nothing moves, but the buffer exists.
    Emit("copy of nothing", {.reads = {from.buffer}, .writes = {to.buffer}},
         [](const Frame&) { return Status(); });
    return;
  }
  Place in{from.buffer, from.offset * int64_t(bytes)};
  Place out{to.buffer, to.offset * int64_t(bytes)};
  Uses uses{.reads = {from.buffer}, .writes = {to.buffer}};
  if (from.dense() && to.dense()) {
    const int64_t size = elements * int64_t(bytes);
    if (in.bytes == 0 && out.bytes == 0) uses.in_place = {{from.buffer, to.buffer}};
    Emit("copy", std::move(uses), [=](const Frame& frame) {
      std::byte* target = out.At(frame);
      const std::byte* source = in.At(frame);
      if (target == source) return Status();
      if (size <= 2 * kThreadBytes) {
        std::memcpy(target, source, size_t(size));
      } else {
        frame.pool->ParallelFor(size, kThreadBytes, [&](int64_t begin, int64_t end) {
          std::memcpy(target + begin, source + begin, size_t(end - begin));
        });
      }
      return Status();
    });
    return;
  }
  // Threads share the dimension that is outermost in the result.
  size_t outer = 0;
  for (size_t d = 1; d < to.dims.size(); ++d)
    if (to.dims[d] > 1 &&
        (to.dims[outer] <= 1 || std::abs(to.strides[d]) > std::abs(to.strides[outer])))
      outer = d;
  const int64_t rows = to.dims.empty() ? 1 : to.dims[outer];
  const int64_t row_bytes = elements / rows * int64_t(bytes);
  const int64_t grain = (kThreadBytes + row_bytes - 1) / row_bytes;
  kernels::CopyFn copy = kernels::Kernels().copy[kernels::SizeIndex(bytes)];
  Emit("copy strided", std::move(uses),
       [=, dims = to.dims, in_strides = ByteStrides(from),
        out_strides = ByteStrides(to)](const Frame& frame) {
         auto part = [&](int64_t begin, int64_t end) {
           int64_t part_dims[kernels::kMaxCopyRank];
           std::copy(dims.begin(), dims.end(), part_dims);
           kernels::CopyArgs args{};
           args.rank = int64_t(dims.size());
           args.dims = part_dims;
           args.in_strides = in_strides.data();
           args.out_strides = out_strides.data();
           args.in = in.At(frame);
           args.out = out.At(frame);
           if (!dims.empty()) {
             part_dims[outer] = end - begin;
             args.in = in.At(frame) + begin * in_strides[outer];
             args.out = out.At(frame) + begin * out_strides[outer];
           }
           copy(args);
         };
         frame.pool->ParallelFor(rows, grain, part);
         return Status();
       });
}

// ---- Regions ----

Status PlanBuilder::BeginRegion(bool loop) {
  // What is pending was computed outside; it must not move in.
  PJRT_PLUGIN_RETURN_IF_ERROR(fusion_.FlushAll());
  Region region;
  region.loop = loop;
  region.start = position_;
  regions_.push_back(std::move(region));
  return Status();
}

Result<Sequence> PlanBuilder::EndRegion() {
  PJRT_PLUGIN_RETURN_IF_ERROR(fusion_.FlushAll());
  Region region = std::move(regions_.back());
  regions_.pop_back();
  for (size_t i = region.undo.size(); i-- > 0;) {
    auto& [value, view] = region.undo[i];
    if (view) {
      views_[value] = std::move(*view);
    } else {
      views_.erase(value);
    }
  }
  for (BufferId id : region.touched) {
    Buffer& buffer = plan_.buffers[size_t(plan_.Root(id))];
    // The next turn of the loop reads it again.
    if (region.loop && buffer.first < region.start) buffer.last = std::max(buffer.last, position_);
    if (!regions_.empty()) regions_.back().touched.push_back(id);
  }
  if (region.loop) ++position_;
  return std::move(region.sequence);
}

void PlanBuilder::Merge(BufferId from, BufferId into) {
  from = plan_.Root(from);
  into = plan_.Root(into);
  if (from == into) return;
  Buffer& gone = plan_.buffers[size_t(from)];
  Buffer& kept = plan_.buffers[size_t(into)];
  gone.root = into;
  kept.first = std::min(kept.first, gone.first);
  kept.last = std::max(kept.last, gone.last);
}

bool PlanBuilder::IsInPlace(BufferId operand, BufferId result, int position) const {
  return std::any_of(plan_.in_place.begin(), plan_.in_place.end(), [&](const InPlace& one) {
    return one.position == position && plan_.Root(one.operand) == plan_.Root(operand) &&
           plan_.Root(one.result) == plan_.Root(result);
  });
}

Status PlanBuilder::LowerOps(const Block& block) {
  for (const auto& op : block.ops) {
    if (op->code == OpCode::kReturn) break;
    for (const auto& result : op->results) {
      if (!result->type.is_tensor()) continue;
      if (!result->type.is_static())
        return Unsupported(*op, "a result has a dynamic dimension; only static shapes can be run");
      if (result->type.rank() > kernels::kMaxCopyRank)
        return Unsupported(*op, "a result has more than 32 dimensions");
    }
    bool pending_reshape = op->code == OpCode::kReshape && fusion_.IsPending(op->operands[0]);
    if (IsElementwise(*op) || op->code == OpCode::kIota || pending_reshape) {
      PJRT_PLUGIN_RETURN_IF_ERROR(fusion_.Add(*op));
      continue;
    }
    Lowering lowering = FindLowering(op->code);
    if (lowering == nullptr) return Unsupported(*op, "this operation is not implemented yet");
    // Regions are lowered on the way.
    const Op* const outer = std::exchange(lowering_, op.get());
    PJRT_PLUGIN_RETURN_IF_ERROR(lowering(*this, *op));
    lowering_ = outer;
  }
  return Status();
}

// ---- The main function ----

Result<Plan> PlanBuilder::Build() {
  const program::Function* main = module_.main();
  if (main == nullptr)
    return backend::InvalidArgument("the module " + module_.name + " has no function main");
  CountUses(main->body);
  PJRT_PLUGIN_RETURN_IF_ERROR(BindArguments(*main));
  HintOutputs(*main);
  PJRT_PLUGIN_RETURN_IF_ERROR(LowerOps(main->body));
  PJRT_PLUGIN_RETURN_IF_ERROR(fusion_.FlushAll());
  PJRT_PLUGIN_RETURN_IF_ERROR(BindOutputs(*main));
  MatchDonations(*main);
  // Room to align the constants wherever the vector lies.
  plan_.constants.resize(plan_.constants.size() + kConstantAlignment);
  std::memmove(plan_.constant_base(), plan_.constants.data(),
               plan_.constants.size() - kConstantAlignment);
  AssignBuffers(plan_);
  return std::move(plan_);
}

Status PlanBuilder::BindArguments(const program::Function& main) {
  for (size_t i = 0; i < main.body.arguments.size(); ++i) {
    const Value* value = main.body.arguments[i].get();
    if (!value->type.is_tensor() || !value->type.is_static() ||
        value->type.rank() > kernels::kMaxCopyRank)
      return backend::Unimplemented(
          "argument " + std::to_string(i) + " of the program is " + program::ToString(value->type) +
          ": only tensors of static shape and at most 32 dimensions can be passed");
    PJRT_PLUGIN_ASSIGN_OR_RETURN(
        std::optional<Split> split,
        SplitOf(module_, partitioning_, main.argument_attributes, i, value->type));
    const Dims& dims = split ? split->local_dims : value->type.dims;
    size_t bytes = size_t(Product(dims)) * backend::DTypeBytes(value->type.dtype);
    BufferId id = NewBuffer(BufferKind::kArgument, bytes);
    plan_.buffers[size_t(id)].index = int(i);
    plan_.buffers[size_t(id)].first = 0;
    plan_.buffers[size_t(id)].last = 0;
    plan_.buffers[size_t(id)].note = "argument " + std::to_string(i);
    plan_.arguments.push_back(PlanArgument{id, bytes, std::nullopt, false});
    View view{id, value->type.dtype, 0, dims, DenseStrides(dims)};
    if (split) {
      shards_[value] = Shard{*split, std::move(view)};
    } else {
      views_[value] = std::move(view);
    }
  }
  return Status();
}

void PlanBuilder::HintOutputs(const program::Function& main) {
  const auto& results = main.body.terminator()->operands;
  plan_.outputs.resize(results.size());
  for (size_t k = 0; k < results.size(); ++k) {
    if (partitioning_.num_partitions > 1 && k < main.result_attributes.size() &&
        FindAttribute(main.result_attributes[k], "sdy.sharding") != nullptr)
      continue;
    const Value* value = results[k];
    for (;;) {
      if (value->op == nullptr || !output_of_.emplace(value, int(k)).second) break;
      if (value->op->code == OpCode::kReshape) {
        value = value->op->operands[0];
      } else if (value->op->code == OpCode::kOptimizationBarrier) {
        value = value->op->operands[value->index];
      } else {
        break;
      }
    }
  }
}

Status PlanBuilder::BindOutputs(const program::Function& main) {
  const auto& results = main.body.terminator()->operands;
  for (size_t k = 0; k < results.size(); ++k) {
    const Value* value = results[k];
    if (!value->type.is_tensor())
      return backend::Unimplemented("result " + std::to_string(k) + " of the program is " +
                                    program::ToString(value->type) +
                                    ": only tensors can be returned");
    PJRT_PLUGIN_ASSIGN_OR_RETURN(
        std::optional<Split> split,
        SplitOf(module_, partitioning_, main.result_attributes, k, value->type));
    View view;
    if (split) {
      PJRT_PLUGIN_ASSIGN_OR_RETURN(view, LocalView(*this, value, *split));
    } else {
      PJRT_PLUGIN_ASSIGN_OR_RETURN(view, ViewOf(value));
    }
    size_t bytes = size_t(view.num_elements()) * view.element_bytes();
    plan_.outputs[k].bytes = bytes;
    const Buffer& where = buffer(view.buffer);
    bool in_place = where.kind == BufferKind::kOutput && where.index == int(k) &&
                    where.bytes == bytes && view.offset == 0 && view.dense();
    if (in_place) continue;
    if (plan_.outputs[k].buffer != kNoBuffer) {
      // Made for this output, but the result is another view of it: it becomes a temp again.
      Buffer& old = plan_.buffers[size_t(plan_.outputs[k].buffer)];
      old.kind = BufferKind::kTemp;
      old.index = -1;
    }
    BufferId id = NewBuffer(BufferKind::kOutput, bytes);
    plan_.buffers[size_t(id)].index = int(k);
    plan_.buffers[size_t(id)].note = "output " + std::to_string(k);
    plan_.outputs[k].buffer = id;
    EmitCopy(view, View{id, view.dtype, 0, view.dims, DenseStrides(view.dims)});
  }
  // Outputs live to the end.
  for (const PlanOutput& output : plan_.outputs) {
    Buffer& last = plan_.buffers[size_t(plan_.Root(output.buffer))];
    if (last.first < 0) last.first = position_;
    last.last = position_ + 1;
  }
  return Status();
}

void PlanBuilder::MatchDonations(const program::Function& main) {
  std::vector<bool> taken(plan_.outputs.size(), false);
  auto claim = [&](size_t argument, size_t output) {
    if (taken[output] || plan_.outputs[output].bytes != plan_.arguments[argument].bytes ||
        main.body.arguments[argument]->type.dtype !=
            main.body.terminator()->operands[output]->type.dtype)
      return false;
    taken[output] = true;
    plan_.arguments[argument].donated_to_output = int(output);
    return true;
  };
  for (size_t i = 0; i < plan_.arguments.size() && i < main.argument_attributes.size(); ++i) {
    const auto* alias = FindAttribute(main.argument_attributes[i], "tf.aliasing_output");
    if (alias != nullptr) claim(i, size_t(*alias->As<int64_t>()));
  }
  for (size_t i = 0; i < plan_.arguments.size() && i < main.argument_attributes.size(); ++i) {
    const auto* donor = FindAttribute(main.argument_attributes[i], "jax.buffer_donor");
    if (donor == nullptr || !*donor->As<bool>()) continue;
    for (size_t k = 0; k < plan_.outputs.size(); ++k)
      if (claim(i, k)) break;
  }
}

}  // namespace PJRT_PLUGIN_NS::reference
