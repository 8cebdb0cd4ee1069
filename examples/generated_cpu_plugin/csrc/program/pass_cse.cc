#include "program/pass_cse.h"

#include <functional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "program/op_table.h"
#include "program/rewrite.h"

namespace PJRT_PLUGIN_NS::program {
namespace {

void Mix(size_t& hash, size_t value) {
  hash ^= value + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
}

// Of the frequent kinds; what it leaves out only costs comparisons.
size_t Hash(const Attribute& attribute) {
  size_t hash = attribute.value.index();
  if (const auto* value = attribute.As<int64_t>()) Mix(hash, size_t(*value));
  if (const auto* value = attribute.As<std::string>()) Mix(hash, std::hash<std::string>()(*value));
  if (const auto* value = attribute.As<Ints>())
    for (int64_t one : *value) Mix(hash, size_t(one));
  if (const auto* value = attribute.As<Literal>()) {
    const auto* bytes = reinterpret_cast<const char*>(value->bytes());
    Mix(hash, std::hash<std::string_view>()({bytes, value->data->size()}));
  }
  return hash;
}

size_t Hash(const Type& type) {
  size_t hash = size_t(type.kind) << 8 | size_t(type.dtype);
  for (int64_t dim : type.dims) Mix(hash, size_t(dim));
  return hash;
}

size_t Hash(const Op& op) {
  size_t hash = size_t(op.code);
  for (const Value* operand : op.operands) Mix(hash, std::hash<const Value*>()(operand));
  for (const NamedAttribute& attribute : op.attributes) Mix(hash, Hash(attribute.value));
  for (const auto& result : op.results) Mix(hash, Hash(result->type));
  return hash;
}

bool AreEqual(const Op& a, const Op& b) {
  if (a.code != b.code || a.operands != b.operands || a.results.size() != b.results.size())
    return false;
  for (size_t i = 0; i < a.results.size(); ++i)
    if (a.type(i) != b.type(i)) return false;
  return a.attributes == b.attributes && a.discardable == b.discardable;
}

bool MayMerge(const Op& op) {
  return op.regions.empty() && !op.results.empty() && op.code != OpCode::kOptimizationBarrier &&
         !HasSideEffect(op);
}

class Merger {
 public:
  void Run(Block& block) {
    const size_t scope = known_.size();
    for (auto& op : block.ops) {
      replacements_.UpdateOperands(*op);
      for (const auto& region : op->regions) RunRegion(*op, *region);
      if (MayMerge(*op) && Merge(*op, block)) op.reset();
    }
    std::erase(block.ops, nullptr);
    // What the block defines is not to be seen outside of it.
    for (; known_.size() > scope; known_.pop_back()) table_.erase(known_.back());
  }

 private:
  using Table = std::unordered_multimap<size_t, Op*>;

  void RunRegion(const Op& op, Block& region) {
    if (op.code == OpCode::kWhile || op.code == OpCode::kCase || op.code == OpCode::kIf)
      return Run(region);
    Table around = std::exchange(table_, {});
    Run(region);
    table_ = std::move(around);
  }

  bool Merge(Op& op, const Block& block) {
    size_t hash = Hash(op);
    if (op.code == OpCode::kConstant) Mix(hash, std::hash<const Block*>()(&block));
    const auto [begin, end] = table_.equal_range(hash);
    for (auto candidate = begin; candidate != end; ++candidate) {
      if (!AreEqual(*candidate->second, op)) continue;
      for (size_t i = 0; i < op.results.size(); ++i)
        replacements_.Replace(op.result(i), candidate->second->result(i));
      return true;
    }
    known_.push_back(table_.emplace(hash, &op));
    return false;
  }

  Table table_;
  std::vector<Table::iterator> known_;
  Replacements replacements_;
};

}  // namespace

void CsePass(Module& module) {
  for (const auto& function : module.functions) Merger().Run(function->body);
}

}  // namespace PJRT_PLUGIN_NS::program
