#include "program/call_graph.h"

#include <unordered_map>

namespace PJRT_PLUGIN_NS::program {
namespace {

template <typename F>
void ForEachCallee(const Block& block, F& visit) {
  for (const auto& op : block.ops) {
    if (op->code == OpCode::kCall || op->code == OpCode::kComposite) visit(CalleeOf(*op));
    if (op->code == OpCode::kCustomCall)
      for (const Attribute& one : *op->Find("called_computations")->As<std::vector<Attribute>>())
        if (const auto* name = one.As<std::string>()) visit(std::string_view(*name));
    for (const auto& region : op->regions) ForEachCallee(*region, visit);
  }
}

}  // namespace

std::string_view CalleeOf(const Op& op) {
  return op.String(op.code == OpCode::kCall ? "callee" : "decomposition");
}

// Takes functions out that call none that is left, until nothing goes any more.
std::vector<Function*> CalleesFirst(const Module& module) {
  struct Node {
    size_t open_calls = 0;
    std::vector<Function*> callers;
  };
  std::unordered_map<std::string_view, Node> nodes;
  for (const auto& function : module.functions) {
    size_t calls = 0;
    auto visit = [&](std::string_view callee) {
      nodes[callee].callers.push_back(function.get());
      ++calls;
    };
    ForEachCallee(function->body, visit);
    nodes[function->name].open_calls = calls;
  }
  std::vector<Function*> order;
  for (const auto& function : module.functions)
    if (nodes[function->name].open_calls == 0) order.push_back(function.get());
  for (size_t done = 0; done < order.size(); ++done)
    for (Function* caller : nodes[order[done]->name].callers)
      if (--nodes[caller->name].open_calls == 0) order.push_back(caller);
  return order;
}

}  // namespace PJRT_PLUGIN_NS::program
