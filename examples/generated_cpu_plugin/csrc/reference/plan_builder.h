#ifndef REFERENCE_PLAN_BUILDER_H_
#define REFERENCE_PLAN_BUILDER_H_

// PlanBuilder: turns the main function of a program into a Plan, one operation after the other.
// Each family of operations has its lowerings in a file plan_x.cc; lowering_table.cc says which is
// whose. A lowering asks for its operands as views or dense places, for places for its results, and
// emits steps:
//
//   Status LowerNegate(PlanBuilder& b, const Op& op) {
//     PJRT_PLUGIN_ASSIGN_OR_RETURN(Place in, b.Dense(op.operands[0]));
//     Place out = b.NewResult(op.result());
//     b.Emit(op, {.reads = {in.buffer}, .writes = {out.buffer}},
//            [=](const Frame& f) { ...; return Status(); });
//   }

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backend/custom_call.h"
#include "backend/status.h"
#include "generated/config.h"
#include "program/ir.h"
#include "reference/fuse_elementwise.h"
#include "reference/plan.h"
#include "reference/split.h"
#include "reference/view.h"

namespace PJRT_PLUGIN_NS::reference {

using program::Block;
using program::Op;
using program::Type;
using program::Value;

// What a step touches. `in_place`: pairs (operand, result) that may be the same memory.
struct Uses {
  std::vector<BufferId> reads;
  std::vector<BufferId> writes;
  std::vector<std::pair<BufferId, BufferId>> in_place = {};
};

class PlanBuilder {
 public:
  using Run = std::function<Status(const Frame&)>;

  // `threads` is what the plan may count on at run time. `custom_calls` may be null: there are
  // none.
  PlanBuilder(const program::Module& module, const Partitioning& partitioning, int threads,
              backend::CustomCalls* custom_calls = nullptr);

  // The plan of the module's main function, buffers assigned. UNIMPLEMENTED names the operation,
  // its types and its source location.
  Result<Plan> Build();

  // ---- For lowerings: values ----

  // Where the value's elements are.
  Result<View> ViewOf(const Value* value);
  // Dense memory with the value's elements, copied when they are not dense.
  Result<Place> Dense(const Value* value);
  // The view's elements in dense memory, copied when they are not dense.
  Place Dense(const View& view);
  // Fresh dense memory for a result.
  Place NewResult(const Value* value);
  BufferId NewTemp(size_t bytes);
  BufferId NewConstant(const std::byte* bytes, size_t size);
  // Says where a result's elements are.
  void Bind(const Value* value, View view);
  // How often the program uses the value.
  int UsesOf(const Value* value) const;

  // ---- For lowerings: steps ----

  void Emit(const Op& op, Uses uses, Run run);
  void Emit(const Op& op, std::string text, Uses uses, Run run);
  // Part of the operation that is being lowered.
  void Emit(std::string text, Uses uses, Run run);
  // A step that runs `nested` sequences; they are shown in the dump.
  void EmitControl(const Op& op, Uses uses, std::vector<std::shared_ptr<const Sequence>> nested,
                   Run run);
  // A step that copies one view onto another of the same dimensions.
  void EmitCopy(const View& from, const View& to);
  // An estimate for the cost analysis.
  void AddFlops(double flops) { plan_.flops += flops; }

  // ---- For lowerings: regions ----

  // Steps emitted until EndRegion go into a sequence of their own; views that are bound meanwhile
  // are forgotten. A loop's steps may run any number of times.
  Status BeginRegion(bool loop);
  Status LowerOps(const Block& block);
  Result<Sequence> EndRegion();
  // The position of the next step.
  int position() const { return position_; }
  // Makes `from` the memory of `into`, for ever; the caller knows that their lives do not cross.
  void Merge(BufferId from, BufferId into);
  const Buffer& buffer(BufferId id) const { return plan_.buffers[size_t(plan_.Root(id))]; }
  BufferId Root(BufferId id) const { return plan_.Root(id); }
  // Whether the step at `position` may make `result` in the memory of `operand`.
  bool IsInPlace(BufferId operand, BufferId result, int position) const;

  // ---- For lowerings: devices ----

  const program::Module& module() const { return module_; }
  const Partitioning& partitioning() const { return partitioning_; }
  int threads() const { return threads_; }
  backend::CustomCalls* custom_calls() const { return custom_calls_; }
  // A number for the next collective of the program.
  int NextCollective() {
    plan_.has_collectives = true;
    return num_collectives_++;
  }
  // The program waits for the host while it runs.
  void UseHost() { plan_.has_host_transfers = true; }
  // The part of a sharded value that this device holds, where it is known; see partition.h.
  struct Shard {
    Split split;
    View local;
  };
  std::unordered_map<const Value*, Shard>& shards() { return shards_; }

  // ---- Messages ----

  // "while planning stablehlo.dot_general (tensor<..>, tensor<..>) -> tensor<..> at model.py:3:1"
  static std::string Describe(const Op& op);
  static Status Unsupported(const Op& op, std::string_view what);

 private:
  struct Region {
    Sequence sequence;
    bool loop = false;
    int start = 0;
    std::vector<BufferId> touched;
    std::vector<std::pair<const Value*, std::optional<View>>> undo;
  };

  BufferId NewBuffer(BufferKind kind, size_t bytes);
  void AddStep(const Op* op, std::string text, Uses uses, Run run);
  void Touch(BufferId id);
  void CountUses(const Block& block);
  void HintOutputs(const program::Function& main);
  Status BindArguments(const program::Function& main);
  Status BindOutputs(const program::Function& main);
  void MatchDonations(const program::Function& main);

  const program::Module& module_;
  const Partitioning partitioning_;
  const int threads_;
  backend::CustomCalls* const custom_calls_;
  Plan plan_;
  std::vector<Region> regions_;
  int position_ = 0;
  const Op* lowering_ = nullptr;  // the innermost one, null between operations
  int num_collectives_ = 0;
  std::unordered_map<const Value*, View> views_;
  std::unordered_map<const Value*, int> uses_;
  std::unordered_map<const Value*, int> output_of_;  // the output that a value is made in
  std::unordered_map<const Value*, Shard> shards_;
  Fusion fusion_;
};

// Makes the steps of one operation.
using Lowering = Status (*)(PlanBuilder&, const Op&);
// Null when the operation is not supported.
Lowering FindLowering(program::OpCode code);

}  // namespace PJRT_PLUGIN_NS::reference

#endif  // REFERENCE_PLAN_BUILDER_H_
