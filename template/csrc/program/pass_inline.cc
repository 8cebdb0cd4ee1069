#include "program/pass_inline.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "program/call_graph.h"
#include "program/rewrite.h"

namespace PJRT_PLUGIN_NS::program {
namespace {

constexpr size_t kMaxOps = size_t{1} << 20;
constexpr int kMaxInlinedDepth = 400;

class Inliner {
 public:
  Inliner(Module& module, const std::set<std::string, std::less<>>& kept)
      : module_(module), kept_(kept), order_(CalleesFirst(module)) {
    for (const auto& function : module.functions) functions_[function->name].body = &function->body;
  }

  backend::Status Run() {
    PJRT_PLUGIN_RETURN_IF_ERROR(CheckSizes());
    for (Function* function : order_) {
      Replacements replacements;
      InlineInto(function->body, replacements);
    }
    RemoveUnused();
    return {};
  }

 private:
  // A function when all its calls are inlined.
  struct Inlined {
    const Block* body = nullptr;
    size_t ops = 0;
    int depth = 0;  // of regions
  };

  bool IsInlined(const Op& op) const {
    return op.code == OpCode::kCall ||
           (op.code == OpCode::kComposite && !kept_.contains(op.String("name")));
  }

  backend::Status CheckSizes() {
    size_t ops = 0;
    for (const Function* function : order_) {
      Inlined& inlined = functions_[function->name];
      Measure(function->body, 1, inlined);
      ops += inlined.ops;
      if (ops > kMaxOps || inlined.depth > kMaxInlinedDepth) {
        return backend::ResourceExhausted(
            "replacing calls by what they run makes over " + std::to_string(kMaxOps) +
            " ops or over " + std::to_string(kMaxInlinedDepth) +
            " regions in one another, in function " + function->name +
            "; a loop instead of repeated calls keeps a program small");
      }
    }
    return {};
  }

  void Measure(const Block& block, int depth, Inlined& size) {
    size.depth = std::max(size.depth, depth);
    for (const auto& op : block.ops) {
      if (IsInlined(*op)) {
        const Inlined& callee = functions_[CalleeOf(*op)];
        size.ops += callee.ops;
        size.depth = std::max(size.depth, depth + callee.depth);
      } else {
        ++size.ops;
      }
      for (const auto& region : op->regions) Measure(*region, depth + 1, size);
    }
  }

  void InlineInto(Block& block, Replacements& replacements) {
    std::vector<std::unique_ptr<Op>> ops = std::exchange(block.ops, {});
    block.ops.reserve(ops.size());
    for (auto& op : ops) {
      replacements.UpdateOperands(*op);
      if (IsInlined(*op)) {
        Splice(*functions_[CalleeOf(*op)].body, *op, block, replacements);
        replacements.Drop(std::move(op));
      } else {
        for (const auto& region : op->regions) InlineInto(*region, replacements);
        block.ops.push_back(std::move(op));
      }
    }
  }

  // Appends a copy of `body` to `block`, its results in place of those of `call`.
  static void Splice(const Block& body, const Op& call, Block& block, Replacements& replacements) {
    Replacements local;
    for (size_t i = 0; i < body.arguments.size(); ++i)
      local.Replace(body.arguments[i].get(), call.operands[i]);
    for (const auto& op : body.ops)
      if (op != body.ops.back()) block.ops.push_back(Clone(*op, local));
    const std::vector<Value*>& returned = body.terminator()->operands;
    for (size_t i = 0; i < returned.size(); ++i)
      replacements.Replace(call.results[i].get(), local.Of(returned[i]));
  }

  // Keeps what main, kept composites and custom calls run.
  void RemoveUnused() {
    std::unordered_set<std::string> used = {"main"};
    for (size_t i = order_.size(); i-- > 0;)
      if (used.contains(order_[i]->name)) Mark(order_[i]->body, used);
    std::erase_if(module_.functions,
                  [&](const auto& function) { return !used.contains(function->name); });
  }
  static void Mark(const Block& block, std::unordered_set<std::string>& used) {
    for (const auto& op : block.ops) {
      if (op->code == OpCode::kComposite) used.emplace(CalleeOf(*op));
      if (op->code == OpCode::kCustomCall)
        for (const Attribute& one : *op->Find("called_computations")->As<std::vector<Attribute>>())
          used.insert(*one.As<std::string>());
      for (const auto& region : op->regions) Mark(*region, used);
    }
  }

  Module& module_;
  const std::set<std::string, std::less<>>& kept_;
  const std::vector<Function*> order_;
  std::unordered_map<std::string_view, Inlined> functions_;
};

}  // namespace

backend::Status InlinePass(Module& module, const std::set<std::string, std::less<>>& kept) {
  return Inliner(module, kept).Run();
}

}  // namespace PJRT_PLUGIN_NS::program
