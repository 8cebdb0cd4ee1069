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

constexpr size_t kMaxOps = size_t{4} << 20;
constexpr int kMaxDepth = 400;

class Inliner {
 public:
  Inliner(Module& module, const std::set<std::string, std::less<>>& kept)
      : module_(module), kept_(kept) {
    for (const auto& function : module.functions)
      functions_[function->name].function = function.get();
  }

  backend::Status Run() {
    for (Function* function : CalleesFirst(module_)) {
      Size& size = functions_[function->name];
      Replacements replacements;
      size.ops = InlineInto(function->body, replacements, 1, size.depth);
      if (size.ops > kMaxOps || size.depth > kMaxDepth) {
        return backend::ResourceExhausted(
            "function " + function->name + " has " + std::to_string(size.ops) + " ops in up to " +
            std::to_string(size.depth) +
            " nested regions when calls are replaced by what they "
            "run; up to " +
            std::to_string(kMaxOps) + " and " + std::to_string(kMaxDepth) + " are taken");
      }
    }
    RemoveUnused();
    return {};
  }

 private:
  struct Size {
    Function* function = nullptr;
    size_t ops = 0;
    int depth = 0;  // of regions
  };

  // Gives the number of ops; `deepest` becomes the depth of the regions, `depth` being that of
  // `block`.
  size_t InlineInto(Block& block, Replacements& replacements, int depth, int& deepest) {
    deepest = std::max(deepest, depth);
    std::vector<std::unique_ptr<Op>> ops = std::exchange(block.ops, {});
    block.ops.reserve(ops.size());
    size_t count = 0;
    for (auto& op : ops) {
      replacements.UpdateOperands(*op);
      const bool inlined = op->code == OpCode::kCall ||
                           (op->code == OpCode::kComposite && !kept_.contains(op->String("name")));
      if (!inlined) {
        ++count;
        for (const auto& region : op->regions)
          count += InlineInto(*region, replacements, depth + 1, deepest);
        block.ops.push_back(std::move(op));
        continue;
      }
      const Size& callee = functions_[CalleeOf(*op)];
      deepest = std::max(deepest, depth + callee.depth);
      count += callee.ops;
      if (count > kMaxOps || deepest > kMaxDepth) return count;  // Run refuses it
      Splice(callee.function->body, *op, block, replacements);
      dead_.push_back(std::move(op));
    }
    return count;
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
    std::vector<Function*> order = CalleesFirst(module_);
    std::unordered_set<std::string_view> used = {"main"};
    for (size_t i = order.size(); i-- > 0;)
      if (used.contains(order[i]->name)) Mark(order[i]->body, used);
    std::erase_if(module_.functions,
                  [&](const auto& function) { return !used.contains(function->name); });
  }
  static void Mark(const Block& block, std::unordered_set<std::string_view>& used) {
    for (const auto& op : block.ops) {
      if (op->code == OpCode::kComposite) used.insert(CalleeOf(*op));
      if (op->code == OpCode::kCustomCall)
        for (const Attribute& one : *op->Find("called_computations")->As<std::vector<Attribute>>())
          used.insert(*one.As<std::string>());
      for (const auto& region : op->regions) Mark(*region, used);
    }
  }

  Module& module_;
  const std::set<std::string, std::less<>>& kept_;
  std::unordered_map<std::string_view, Size> functions_;
  // Inlined calls, kept so that no new value gets the address of one whose replacement is noted.
  std::vector<std::unique_ptr<Op>> dead_;
};

}  // namespace

backend::Status InlinePass(Module& module, const std::set<std::string, std::less<>>& kept) {
  return Inliner(module, kept).Run();
}

}  // namespace PJRT_PLUGIN_NS::program
