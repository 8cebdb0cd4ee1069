#include "program/pass_dce.h"

#include <algorithm>
#include <unordered_set>

#include "program/op_table.h"

namespace PJRT_PLUGIN_NS::program {
namespace {

using Used = std::unordered_set<const Value*>;

// From the end, so that the uses of a value are met before its definition.
void RemoveDead(Block& block, Used& used) {
  for (size_t i = block.ops.size(); i-- > 0;) {
    Op& op = *block.ops[i];
    const bool is_used = std::any_of(op.results.begin(), op.results.end(), [&](const auto& result) {
      return used.contains(result.get());
    });
    if (!is_used && !HasSideEffect(op)) {
      block.ops[i].reset();
      continue;
    }
    used.insert(op.operands.begin(), op.operands.end());
    for (const auto& region : op.regions) RemoveDead(*region, used);
  }
  std::erase(block.ops, nullptr);
}

}  // namespace

void DcePass(Module& module) {
  for (const auto& function : module.functions) {
    Used used;
    RemoveDead(function->body, used);
  }
}

}  // namespace PJRT_PLUGIN_NS::program
