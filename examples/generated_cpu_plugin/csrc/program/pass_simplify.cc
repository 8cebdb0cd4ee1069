#include "program/pass_simplify.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "program/fold_constants.h"
#include "program/op_table.h"
#include "program/rewrite.h"
#include "program/simplify_op.h"

namespace PJRT_PLUGIN_NS::program {
namespace {

class Simplifier {
 public:
  void Run(Block& block) {
    std::vector<std::unique_ptr<Op>> ops = std::exchange(block.ops, {});
    block.ops.reserve(ops.size());
    RunInto(std::move(ops), block);
  }

 private:
  void RunInto(std::vector<std::unique_ptr<Op>> ops, Block& block) {
    for (auto& op : ops) {
      replacements_.UpdateOperands(*op);
      if (Block* branch = TakenBranch(*op)) {
        TakeOver(*branch, *op, block);
        replacements_.Drop(std::move(op));
        continue;
      }
      for (const auto& region : op->regions) Run(*region);
      if (Value* equal = Simplify(*op)) {
        replacements_.Replace(op->result(), equal);
        replacements_.Drop(std::move(op));
      } else {
        block.ops.push_back(std::move(op));
        ReplaceEmptyResults(block);
      }
    }
  }

  // Results without elements of the block's last op are constants, whatever makes them: a function
  // that a custom_call names may not be made for them.
  void ReplaceEmptyResults(Block& block) {
    const Op& op = *block.ops.back();
    if (op.code == OpCode::kConstant || HasSideEffect(op)) return;
    for (const auto& result : op.results) {
      const Type& type = result->type;
      if (!type.is_tensor() || !type.is_static() || type.num_elements() != 0) continue;
      auto constant = std::make_unique<Op>();
      constant->location = op.location;
      constant->results.push_back(std::make_unique<Value>(Value{type, constant.get(), nullptr, 0}));
      BecomeConstant(*constant, Splat(type, nullptr, 0));
      replacements_.Replace(result.get(), constant->result());
      block.ops.push_back(std::move(constant));
    }
  }

  static Value* Simplify(Op& op) {
    if (op.results.size() != 1 || !op.discardable.empty()) return nullptr;
    if (auto folded = FoldConstants(op)) {
      BecomeConstant(op, *std::move(folded));
      return nullptr;
    }
    if (Value* equal = SimplifyArithmetic(op)) return equal;
    // What one step leaves may be simple still: a broadcast that is a reshape of a reshape.
    for (OpCode before = op.code;; before = op.code) {
      if (Value* equal = SimplifyMove(op)) return equal;
      if (op.code == before) return nullptr;
    }
  }

  // The branch of a case or if whose index is constant.
  static Block* TakenBranch(const Op& op) {
    if (op.code != OpCode::kCase && op.code != OpCode::kIf) return nullptr;
    const Literal* index = ConstantOf(op.operands[0]);
    if (index == nullptr) return nullptr;
    const int64_t value = index->IntAt(0);
    if (op.code == OpCode::kIf) return op.regions[value != 0 ? 0 : 1].get();
    // An index out of range takes the last branch.
    const int64_t last = int64_t(op.regions.size()) - 1;
    return op.regions[size_t(value < 0 || value > last ? last : value)].get();
  }

  // The branch's ops in place of the op.
  void TakeOver(Block& branch, const Op& op, Block& block) {
    std::unique_ptr<Op> end = std::move(branch.ops.back());
    branch.ops.pop_back();
    RunInto(std::move(branch.ops), block);
    for (size_t i = 0; i < op.results.size(); ++i)
      replacements_.Replace(op.result(i), replacements_.Of(end->operands[i]));
  }

  Replacements replacements_;
};

}  // namespace

void SimplifyPass(Module& module) {
  for (const auto& function : module.functions) Simplifier().Run(function->body);
}

}  // namespace PJRT_PLUGIN_NS::program
