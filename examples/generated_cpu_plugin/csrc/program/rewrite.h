#ifndef PROGRAM_REWRITE_H_
#define PROGRAM_REWRITE_H_

// What passes share: copies of ops, values that take the place of others, constants.
//
// A pass walks a block from its beginning and so meets every value's definition before its uses. It
// notes in Replacements which value now stands for which, and brings each op's operands up to date
// when it comes to it.

#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "generated/config.h"
#include "program/ir.h"

namespace PJRT_PLUGIN_NS::program {

class Replacements {
 public:
  // Uses of `from` that are still to be met become uses of `to`.
  void Replace(const Value* from, Value* to) { map_[from] = to; }
  // Takes an op whose results are replaced. It lives on here, for a new value must not get the
  // address of one that is noted.
  void Drop(std::unique_ptr<Op> op) { dropped_.push_back(std::move(op)); }
  // What stands for `value` now.
  Value* Of(Value* value) const {
    if (map_.empty()) return value;
    for (auto found = map_.find(value); found != map_.end(); found = map_.find(value))
      value = found->second;
    return value;
  }
  void UpdateOperands(Op& op) const {
    if (map_.empty()) return;
    for (Value*& operand : op.operands) operand = Of(operand);
  }

 private:
  std::unordered_map<const Value*, Value*> map_;
  std::vector<std::unique_ptr<Op>> dropped_;
};

// A copy of the op and its regions, with operands as `replacements` has them; what the copy defines
// stands for what the original defines from then on.
std::unique_ptr<Op> Clone(const Op& op, Replacements& replacements);

// The constant that defines the value; null when it is no constant.
const Literal* ConstantOf(const Value* value);

// Makes the op, in its place and with its result, one of another kind. Regions go.
void Become(Op& op, OpCode code, std::vector<Value*> operands, AttributeList attributes);
void BecomeConstant(Op& op, Literal value);

// A new op at the end of the block.
Op* AppendOp(Block& block, std::shared_ptr<const Location> location, OpCode code,
             std::vector<Value*> operands, std::vector<Type> results, AttributeList attributes);

// A constant whose elements are all the `width` bytes at `element`.
Literal Splat(Type type, const std::byte* element, size_t width);
// All elements `value`; only for i1 and integers.
Literal IntSplat(Type type, int64_t value);

}  // namespace PJRT_PLUGIN_NS::program

#endif  // PROGRAM_REWRITE_H_
