#ifndef PROGRAM_TEXT_OPS_H_
#define PROGRAM_TEXT_OPS_H_

// The operations of a function in MLIR's text: in generic form here, in the form that each has of
// its own in text_assembly.h. Both may stand beside each other.
//
//   %1 = "stablehlo.add"(%0, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
//   %1 = stablehlo.add %0, %0 : tensor<4xf32>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "generated/config.h"
#include "program/bytecode_types.h"
#include "program/ir.h"
#include "program/text_cursor.h"
#include "program/text_locations.h"
#include "program/text_values.h"

namespace PJRT_PLUGIN_NS::program {

// An op as far as it has been read: what is written of it, beside the operands and regions that
// `op` has already.
struct TextOp {
  Op& op;
  TextCursor start;           // at its name: where errors of the whole op are
  std::string name;           // "stablehlo.add"
  AttributeList inherent;     // the op's own, under the names that they are written with
  AttributeList attributes;   // of either sort, from {name = value}
  std::vector<Type> results;  // types
};

class TextOps {
 public:
  // All outlive this.
  TextOps(TextCursor& in, TextLocations& locations, Budget& budget)
      : in_(in), locations_(locations), budget_(budget) {}

  // Names of a region's arguments, with their types.
  using Arguments = std::vector<std::pair<std::string, Type>>;

  // {^bb0(%0: tensor<f32>): ops}, as regions are written whose arguments are not before them.
  void ReadRegion(Block& block);
  // {ops}, of a region with these arguments.
  void ReadRegion(Block& block, Arguments arguments);
  // %0: tensor<f32> loc(...)
  std::pair<std::string, Type> ReadArgument();
  // (%0: tensor<f32>, ...)
  Arguments ReadArguments();

  // : (tensor<f32>) -> tensor<f32>
  void ReadFunctionType(TextOp& op);
  // An operand, all of its operands.
  void ReadOperand(TextOp& op) { op.op.operands.push_back(values_.Read(in_)); }
  void ReadOperands(TextOp& op) { op.op.operands = values_.ReadList(in_); }
  // Holds the types that the op is written with against its operands.
  void CheckOperands(const TextOp& op, const std::vector<Type>& types);
  // {name = value}, when there is one.
  void ReadAttributes(TextOp& op);
  Block& AddRegion(TextOp& op);

  TextCursor& in() { return in_; }

 private:
  void Define(Block& block, Arguments arguments);
  void ReadBody(Block& block);
  void ReadOp(Block& block);
  void ReadGeneric(TextOp& op);
  void ReadCast(bool generic, const std::vector<std::pair<std::string, size_t>>& names);
  void DefineResults(TextOp& op, const std::vector<std::pair<std::string, size_t>>& names);
  void SetLocation(Op& op);

  TextCursor& in_;
  TextLocations& locations_;
  Budget& budget_;
  TextValues values_;
  int depth_ = 0;
};

}  // namespace PJRT_PLUGIN_NS::program

#endif  // PROGRAM_TEXT_OPS_H_
