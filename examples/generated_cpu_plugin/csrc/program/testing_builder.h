#ifndef PROGRAM_TESTING_BUILDER_H_
#define PROGRAM_TESTING_BUILDER_H_

// Builds small modules in tests.
//
//   Builder b({F32({2, 3})});
//   Value* t = b.Add(OpCode::kTranspose, {b.argument(0)}, {F32({3, 2})}, {{"permutation", {Ints{1,
//   0}}}}); b.Return({t}); Verify(b.module());

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "generated/config.h"
#include "program/ir.h"

namespace PJRT_PLUGIN_NS::program {

inline Type F32(Dims dims) { return Type::Tensor(DType::kF32, std::move(dims)); }
inline Type I32(Dims dims) { return Type::Tensor(DType::kS32, std::move(dims)); }
inline Type Bool(Dims dims) { return Type::Tensor(DType::kPred, std::move(dims)); }

// A constant of `values`; one of them for a type of more elements makes a splat.
template <typename T>
Literal MakeLiteral(Type type, std::vector<T> values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return {std::move(type), values.size() == 1,
          std::make_shared<const std::vector<std::byte>>(std::move(bytes))};
}

class Builder {
 public:
  // A module with a function of these arguments.
  explicit Builder(std::vector<Type> arguments, std::string name = "main") {
    AddFunction(std::move(arguments), std::move(name));
  }

  // From now on ops go into this new function.
  void AddFunction(std::vector<Type> arguments, std::string name) {
    module_.functions.push_back(std::make_unique<Function>());
    function_ = module_.functions.back().get();
    function_->name = std::move(name);
    block_ = &function_->body;
    function_->type.kind = TypeKind::kFunction;
    function_->type.num_inputs = arguments.size();
    function_->type.elements = arguments;
    function_->argument_attributes.resize(arguments.size());
    AddArguments(std::move(arguments));
  }

  Module& module() { return module_; }
  Function& function() { return *function_; }
  Value* argument(size_t i) { return block_->arguments[i].get(); }
  const std::vector<std::unique_ptr<Op>>& ops() const { return function_->body.ops; }

  Op* AddOp(OpCode code, std::vector<Value*> operands, std::vector<Type> results,
            AttributeList attributes = {}) {
    auto op = std::make_unique<Op>();
    op->code = code;
    op->operands = std::move(operands);
    op->attributes = std::move(attributes);
    op->location = std::make_shared<const Location>(Location{"model.py", 7, 3, "jit(f)/op"});
    for (size_t i = 0; i < results.size(); ++i)
      op->results.push_back(
          std::make_unique<Value>(Value{std::move(results[i]), op.get(), nullptr, i}));
    block_->ops.push_back(std::move(op));
    return block_->ops.back().get();
  }
  Value* Add(OpCode code, std::vector<Value*> operands, Type result,
             AttributeList attributes = {}) {
    return AddOp(code, std::move(operands), {std::move(result)}, std::move(attributes))->result();
  }
  Value* Constant(Literal literal) {
    Type type = literal.type;
    return Add(OpCode::kConstant, {}, std::move(type), {{"value", {std::move(literal)}}});
  }

  // Ops go into a new region of `op`, until Return.
  void BeginRegion(Op* op, std::vector<Type> arguments) {
    op->regions.push_back(std::make_unique<Block>());
    outer_.push_back(block_);
    block_ = op->regions.back().get();
    AddArguments(std::move(arguments));
  }

  // Ends the region or the function.
  void Return(std::vector<Value*> values) {
    if (outer_.empty()) {
      function_->type.elements.resize(function_->type.num_inputs);
      for (const Value* value : values) function_->type.elements.push_back(value->type);
      function_->result_attributes.resize(values.size());
    }
    AddOp(OpCode::kReturn, std::move(values), {});
    if (outer_.empty()) return;
    block_ = outer_.back();
    outer_.pop_back();
  }

 private:
  void AddArguments(std::vector<Type> types) {
    for (size_t i = 0; i < types.size(); ++i)
      block_->arguments.push_back(
          std::make_unique<Value>(Value{std::move(types[i]), nullptr, block_, i}));
  }

  Module module_;
  Function* function_ = nullptr;
  Block* block_ = nullptr;
  std::vector<Block*> outer_;
};

}  // namespace PJRT_PLUGIN_NS::program

#endif  // PROGRAM_TESTING_BUILDER_H_
