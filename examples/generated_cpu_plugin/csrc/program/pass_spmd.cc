#include "program/pass_spmd.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "program/gspmd.h"
#include "program/op_table.h"
#include "program/rewrite.h"
#include "program/text_attributes.h"
#include "program/text_cursor.h"

namespace PJRT_PLUGIN_NS::program {
namespace {

using backend::Status;

constexpr char kSdySharding[] = "sdy.sharding";

// ---- What the first frameworks with Shardy send ----

// The attribute whose text is in the list's mhlo.frontend_attributes; monostate when there is none.
Attribute FindText(const AttributeList& attributes, std::string_view name) {
  for (const NamedAttribute& list : attributes) {
    const auto* members = list.value.As<AttributeList>();
    if (list.name != "mhlo.frontend_attributes" || members == nullptr) continue;
    for (const NamedAttribute& member : *members) {
      const auto* escaped = member.value.As<std::string>();
      if (member.name != name || escaped == nullptr) continue;
      std::string text = *escaped;
      std::erase(text, '\\');  // before quotes
      Status status;
      TextCursor in(text, &status);
      Attribute attribute = in.Peek() == '{' ? Attribute{ParseDictionary(in)} : ParseAttribute(in);
      if (status.ok()) return attribute;
    }
  }
  return {};
}

void ReadMeshes(Module& module) {
  const Attribute meshes = FindText(module.attributes, "xla.sdy.meshes");
  const auto* list = meshes.As<AttributeList>();
  if (list == nullptr) return;
  for (const NamedAttribute& one : *list) {
    const auto* holder = one.value.As<Sharding>();
    if (holder == nullptr) continue;
    module.meshes.push_back(holder->inlined_mesh);
    module.meshes.back().name = one.name;
  }
}

// ---- GSPMD ----

const std::string* FindGspmd(const AttributeList& attributes) {
  for (const NamedAttribute& one : attributes)
    if (one.name == "mhlo.sharding") return one.value.As<std::string>();
  return nullptr;
}

// Gives the attributes of one value Shardy's form of what they say in GSPMD's.
Status Translate(AttributeList& attributes, const Type& type) {
  const std::string* text = FindGspmd(attributes);
  if (text == nullptr || FindSharding(attributes) != nullptr || !type.is_tensor()) return {};
  PJRT_PLUGIN_ASSIGN_OR_RETURN(Sharding sharding, ParseGspmdSharding(*text, type.dims.size()));
  attributes.push_back({kSdySharding, {std::move(sharding)}});
  return {};
}

// As ops have it: a list with a sharding for each result.
Attribute OfResults(Sharding sharding) { return {std::vector<Attribute>{{std::move(sharding)}}}; }

bool Calls(const Op& op, std::string_view target) {
  return op.code == OpCode::kCustomCall && op.operands.size() == op.results.size() &&
         op.String("call_target_name") == target;
}
bool CallsWithOne(const Op& op, std::string_view target) {
  return Calls(op, target) && op.operands.size() == 1;
}
// A custom call may have any types; one that gives its operand on has the same before and after.
bool PassesOn(const Op& op, std::string_view target) {
  return CallsWithOne(op, target) && op.operand_type(0) == op.type();
}

// Of the sharding of a manual computation the part that it splits by hand.
Sharding ManualPart(Sharding sharding, const std::vector<Attribute>& manual_axes) {
  for (DimSharding& dim : sharding.dims) {
    std::erase_if(dim.axes, [&](const AxisRef& axis) {
      return std::none_of(manual_axes.begin(), manual_axes.end(), [&](const Attribute& name) {
        const auto* text = name.As<std::string>();
        return text != nullptr && *text == axis.name;
      });
    });
  }
  return sharding;
}

std::unique_ptr<Op> MakeCall(std::string target, Value* operand, Type type, Sharding sharding,
                             const Op& origin) {
  auto op = std::make_unique<Op>();
  op->code = OpCode::kCustomCall;
  op->operands = {operand};
  op->results.push_back(std::make_unique<Value>(Value{std::move(type), op.get(), nullptr, 0}));
  op->attributes = {{"api_version", {int64_t(CustomCallApiVersion::kOriginal)}},
                    {"backend_config", {std::string()}},
                    {"call_target_name", {std::move(target)}},
                    {"called_computations", {std::vector<Attribute>()}},
                    {"has_side_effect", {false}},
                    {"operand_layouts", {std::vector<Attribute>()}},
                    {"output_operand_aliases", {std::vector<Attribute>()}},
                    {"result_layouts", {std::vector<Attribute>()}},
                    {"result_tilings", {std::vector<Attribute>()}}};
  op->discardable = {{kSdySharding, OfResults(std::move(sharding))}};
  op->location = origin.location;
  return op;
}

class Flattener {
 public:
  Status Run(Block& block) {
    std::vector<std::unique_ptr<Op>> ops = std::exchange(block.ops, {});
    block.ops.reserve(ops.size());
    for (auto& op : ops) PJRT_PLUGIN_RETURN_IF_ERROR(Visit(std::move(op), block));
    return {};
  }

 private:
  Status Visit(std::unique_ptr<Op> op, Block& block) {
    if (op->code == OpCode::kCall) PJRT_PLUGIN_RETURN_IF_ERROR(EnterAtCall(*op, block));
    PJRT_PLUGIN_RETURN_IF_ERROR(CheckOperands(*op));
    if (PassesOn(*op, "Sharding")) {
      // Where its value becomes one device's, this says how the whole is split.
      if (const std::string* text = FindGspmd(op->discardable)) said_[op->result()] = *text;
      return Forward(std::move(op));
    }
    if (op->code == OpCode::kSdyShardingConstraint) return Forward(std::move(op));
    if (op->code == OpCode::kSdyShardingGroup) return {};  // shardings are taken as sent
    if (op->code == OpCode::kSdyManualComputation) return Open(std::move(op), block);
    if (PassesOn(*op, "xla.sdy.FuncResultSharding")) return Forward(std::move(op));
    if (Calls(*op, "xla.sdy.GlobalToLocalShape")) return Enter(std::move(op));
    if (Calls(*op, "xla.sdy.LocalToGlobalShape")) return Leave(std::move(op), block);
    if (CallsWithOne(*op, kFullToShard) || CallsWithOne(*op, kShardToFull)) {
      if (auto said = said_.find(op->operands[0]);
          CallsWithOne(*op, kFullToShard) && said != said_.end())
        op->discardable = {{"mhlo.sharding", {said->second}}};
      const Value* whole = CallsWithOne(*op, kFullToShard) ? op->operands[0] : op->result();
      PJRT_PLUGIN_RETURN_IF_ERROR(Translate(op->discardable, whole->type));
      for (NamedAttribute& one : op->discardable)
        if (const auto* sharding = one.value.As<Sharding>()) one.value = OfResults(*sharding);
    }
    replacements_.UpdateOperands(*op);
    for (const auto& region : op->regions) PJRT_PLUGIN_RETURN_IF_ERROR(Run(*region));
    block.ops.push_back(std::move(op));
    return {};
  }

  // The op's operand stands for its result.
  Status Forward(std::unique_ptr<Op> op) {
    replacements_.Replace(op->result(), replacements_.Of(op->operands[0]));
    replacements_.Drop(std::move(op));
    return {};
  }

  // The body of a manual computation comes to stand in `block`.
  Status Open(std::unique_ptr<Op> op, Block& block) {
    const auto list = [&](std::string_view name) -> const std::vector<Attribute>& {
      return *op->Find(name)->As<std::vector<Attribute>>();
    };
    const auto cross = [&](const char* target, Value* value, const Type& type,
                           const Attribute& sharding) {
      value = replacements_.Of(value);
      if (!type.is_tensor()) return value;
      block.ops.push_back(MakeCall(target, value, type,
                                   ManualPart(*sharding.As<Sharding>(), list("manual_axes")), *op));
      return block.ops.back()->result();
    };
    Block& body = *op->regions[0];
    for (size_t i = 0; i < op->operands.size(); ++i) {
      const Value* argument = body.arguments[i].get();
      replacements_.Replace(
          argument, cross(kFullToShard, op->operands[i], argument->type, list("in_shardings")[i]));
    }
    for (auto& inner : body.ops)
      if (inner != body.ops.back()) PJRT_PLUGIN_RETURN_IF_ERROR(Visit(std::move(inner), block));
    PJRT_PLUGIN_RETURN_IF_ERROR(CheckOperands(*body.terminator()));
    const std::vector<Value*>& returned = body.terminator()->operands;
    for (size_t i = 0; i < returned.size(); ++i) {
      replacements_.Replace(
          op->result(i), cross(kShardToFull, returned[i], op->type(i), list("out_shardings")[i]));
    }
    replacements_.Drop(std::move(op));
    return {};
  }

  // The three parts of a manual computation as text: a custom call from whole values to parts, a
  // call with the parts, a custom call back. The call has the shardings, or each custom call its
  // own.
  Status Enter(std::unique_ptr<Op> op) {
    for (size_t i = 0; i < op->operands.size(); ++i)
      entered_[op->result(i)] = {replacements_.Of(op->operands[i]), op.get(), i};
    replacements_.Drop(std::move(op));
    return {};
  }

  Status EnterAtCall(Op& call, Block& block) {
    for (Value*& operand : call.operands) {
      auto found = entered_.find(operand);
      if (found == entered_.end()) continue;
      const auto& [whole, origin, i] = found->second;
      PJRT_PLUGIN_ASSIGN_OR_RETURN(Sharding sharding, SaidAt(*origin, call, "in", i));
      block.ops.push_back(MakeCall(kFullToShard, whole, operand->type, std::move(sharding), call));
      operand = block.ops.back()->result();
    }
    return {};
  }

  // The parts themselves are never made, so only the call that they are for may take them.
  Status CheckOperands(const Op& op) const {
    if (entered_.empty()) return {};
    for (Value* operand : op.operands)
      if (entered_.contains(replacements_.Of(operand)))
        return backend::InvalidArgument("the op " + Signature(op) +
                                        " takes a result of the custom call "
                                        "xla.sdy.GlobalToLocalShape; only a call may");
    return {};
  }

  Status Leave(std::unique_ptr<Op> op, Block& block) {
    for (size_t i = 0; i < op->operands.size(); ++i) {
      const Op* maker = op->operands[i]->op;
      PJRT_PLUGIN_ASSIGN_OR_RETURN(Sharding sharding,
                                   SaidAt(*op, maker == nullptr ? *op : *maker, "out", i));
      block.ops.push_back(MakeCall(kShardToFull, replacements_.Of(op->operands[i]), op->type(i),
                                   std::move(sharding), *op));
      replacements_.Replace(op->result(i), block.ops.back()->result());
    }
    replacements_.Drop(std::move(op));
    return {};
  }

  // The manual part of in_shardings[i] or out_shardings[i], at the one op or the other.
  static backend::Result<Sharding> SaidAt(const Op& op, const Op& other, const std::string& way,
                                          size_t i) {
    for (const Op* one : {&op, &other}) {
      const Attribute said = FindText(one->discardable, "xla.sdy." + way + "_shardings");
      const Attribute axes = FindText(one->discardable, "xla.sdy.manual_axes");
      const auto* shardings = said.As<std::vector<Attribute>>();
      const auto* manual_axes = axes.As<std::vector<Attribute>>();
      if (shardings == nullptr || manual_axes == nullptr || i >= shardings->size()) continue;
      if (const auto* sharding = (*shardings)[i].As<Sharding>())
        return ManualPart(*sharding, *manual_axes);
    }
    return backend::InvalidArgument("the custom call " + op.String("call_target_name") +
                                    " says no sharding of its value " + std::to_string(i));
  }

  struct Entered {
    Value* whole;
    const Op* origin;
    size_t index;
  };
  Replacements replacements_;
  std::unordered_map<const Value*, Entered> entered_;
  std::unordered_map<const Value*, std::string> said_;
};

void DropSdy(AttributeList& attributes) {
  std::erase_if(attributes, [](const NamedAttribute& one) {
    return one.name.starts_with("sdy.") || one.name == "mhlo.sharding";
  });
}

void DropSdy(Block& block) {
  for (const auto& op : block.ops) {
    DropSdy(op->discardable);
    for (const auto& region : op->regions) DropSdy(*region);
  }
}

}  // namespace

const Sharding* FindSharding(const AttributeList& attributes) {
  for (const NamedAttribute& one : attributes) {
    if (one.name != kSdySharding) continue;
    const auto* each = one.value.As<std::vector<Attribute>>();
    if (each == nullptr) return one.value.As<Sharding>();
    return each->size() == 1 ? each->front().As<Sharding>() : nullptr;
  }
  return nullptr;
}

Status SpmdPass(Module& module) {
  ReadMeshes(module);
  for (const auto& function : module.functions) {
    const size_t inputs = function->type.num_inputs;
    for (size_t i = 0; i < function->argument_attributes.size(); ++i) {
      PJRT_PLUGIN_RETURN_IF_ERROR(
          Translate(function->argument_attributes[i], function->type.elements[i]));
    }
    for (size_t i = 0; i < function->result_attributes.size(); ++i) {
      PJRT_PLUGIN_RETURN_IF_ERROR(
          Translate(function->result_attributes[i], function->type.elements[inputs + i]));
    }
    PJRT_PLUGIN_RETURN_IF_ERROR(Flattener().Run(function->body));
  }
  return {};
}

void DropShardings(Module& module) {
  module.meshes.clear();
  for (const auto& function : module.functions) {
    for (AttributeList& attributes : function->argument_attributes) DropSdy(attributes);
    for (AttributeList& attributes : function->result_attributes) DropSdy(attributes);
    DropSdy(function->body);
  }
}

}  // namespace PJRT_PLUGIN_NS::program
