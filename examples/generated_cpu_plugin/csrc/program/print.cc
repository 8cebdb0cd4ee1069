// ToString of the IR: MLIR's generic form, which MLIR reads back.

#include <string>
#include <string_view>
#include <unordered_map>

#include "program/ir.h"
#include "program/op_table.h"
#include "program/print_attributes.h"

namespace PJRT_PLUGIN_NS::program {
namespace {

std::string TypeList(const std::vector<Type>& types, size_t begin, size_t end) {
  std::string out;
  for (size_t i = begin; i < end; ++i) out += (i > begin ? ", " : "") + ToString(types[i]);
  return out;
}

std::string OperandTypesText(const Op& op) {
  return Join(op.operands, [](const Value* value) { return ToString(value->type); });
}

std::string ResultTypesText(const Op& op) {
  const std::string types =
      Join(op.results, [](const auto& value) { return ToString(value->type); });
  return op.results.size() == 1 ? types : "(" + types + ")";
}

class Printer {
 public:
  std::string Print(const Module& module) {
    out_ = "\"builtin.module\"() ";
    if (!module.name.empty()) out_ += "<{sym_name = " + Quoted(module.name) + "}> ";
    out_ += "({\n";
    for (const Mesh& mesh : module.meshes)
      out_ += "  \"sdy.mesh\"() <{mesh = #sdy.mesh" + ToString(mesh) +
              ", sym_name = " + Quoted(mesh.name) + "}> : () -> ()\n";
    for (const auto& function : module.functions) PrintFunction(*function);
    out_ += "}) {";
    for (const NamedAttribute& one : module.attributes)
      out_ += one.name + " = " + ToString(one.value) + ", ";
    out_ += "mhlo.num_partitions = " + std::to_string(module.num_partitions) +
            " : i32, mhlo.num_replicas = " + std::to_string(module.num_replicas) +
            " : i32} : () -> ()\n";
    return std::move(out_);
  }

 private:
  static std::string AttributeLists(const std::vector<AttributeList>& lists) {
    return "[" + Join(lists, [](const AttributeList& one) { return ToString(one); }) + "]";
  }
  static bool AnyIn(const std::vector<AttributeList>& lists) {
    for (const AttributeList& one : lists)
      if (!one.empty()) return true;
    return false;
  }

  void PrintFunction(const Function& function) {
    names_.clear();
    next_name_ = 0;
    out_ += "  \"func.func\"() <{";
    if (AnyIn(function.argument_attributes))
      out_ += "arg_attrs = " + AttributeLists(function.argument_attributes) + ", ";
    out_ += "function_type = " + ToString(function.type) + ", ";
    if (AnyIn(function.result_attributes))
      out_ += "res_attrs = " + AttributeLists(function.result_attributes) + ", ";
    out_ += "sym_name = " + Quoted(function.name) +
            ", sym_visibility = " + (function.name == "main" ? "\"public\"" : "\"private\"") +
            "}> ({\n";
    PrintBlock(function.body, 2, "func.return");
    out_ += "  }) : () -> ()\n";
  }

  void PrintBlock(const Block& block, int depth, std::string_view return_name) {
    const std::string indent(size_t(depth) * 2, ' ');
    if (!block.arguments.empty()) {
      out_ += indent.substr(2) + "^bb0(" +
              Join(block.arguments,
                   [this](const auto& argument) {
                     return Define(*argument) + ": " + ToString(argument->type);
                   }) +
              "):\n";
    }
    for (const auto& op : block.ops) PrintOp(*op, indent, depth, return_name);
  }

  void PrintOp(const Op& op, const std::string& indent, int depth, std::string_view return_name) {
    out_ += indent;
    if (!op.results.empty()) {
      out_ += Define(*op.results[0]);
      if (op.results.size() > 1) out_ += ":" + std::to_string(op.results.size());
      out_ += " = ";
    }
    out_ += "\"" + FullName(op, return_name) + "\"(" +
            Join(op.operands, [this](const Value* value) { return Use(*value); }) + ")";
    if (const std::string attributes = AttributesToString(op); !attributes.empty())
      out_ += " <{" + attributes + "}>";
    if (!op.regions.empty()) {
      const std::string_view inner =
          op.code == OpCode::kSdyManualComputation ? "sdy.return" : "stablehlo.return";
      out_ += " (";
      for (size_t i = 0; i < op.regions.size(); ++i) {
        out_ += i == 0 ? "{\n" : ", {\n";
        PrintBlock(*op.regions[i], depth + 1, inner);
        out_ += indent + "}";
      }
      out_ += ")";
    }
    if (!op.discardable.empty()) out_ += " " + ToString(op.discardable);
    out_ += " : (" + OperandTypesText(op) + ") -> " + ResultTypesText(op) + "\n";
  }

  static std::string FullName(const Op& op, std::string_view return_name) {
    if (op.code == OpCode::kReturn) return std::string(return_name);
    if (op.code == OpCode::kCall) return "func.call";
    const std::string name(OpName(op.code));
    return name.find('.') == name.npos ? "stablehlo." + name : name;
  }

  std::string Define(const Value& value) {
    return names_[&value] = "%" + std::to_string(next_name_++);
  }

  std::string Use(const Value& value) {
    if (value.op == nullptr || value.op->results.size() < 2) return names_[&value];
    return names_[value.op->results[0].get()] + "#" + std::to_string(value.index);
  }

  std::string out_;
  std::unordered_map<const Value*, std::string> names_;
  size_t next_name_ = 0;
};

}  // namespace

std::string ToString(const Type& type) {
  switch (type.kind) {
    case TypeKind::kTensor: {
      std::string out = "tensor<";
      for (int64_t dim : type.dims) out += (dim == kDynamic ? "?" : std::to_string(dim)) + "x";
      return out + std::string(backend::DTypeName(type.dtype)) + ">";
    }
    case TypeKind::kToken:
      return "!stablehlo.token";
    case TypeKind::kTuple:
      return "tuple<" + TypeList(type.elements, 0, type.elements.size()) + ">";
    case TypeKind::kFunction: {
      const size_t num_results = type.elements.size() - type.num_inputs;
      const std::string results = TypeList(type.elements, type.num_inputs, type.elements.size());
      return "(" + TypeList(type.elements, 0, type.num_inputs) + ") -> " +
             (num_results == 1 ? results : "(" + results + ")");
    }
    case TypeKind::kNone:
      return "none";
  }
  return "none";
}

std::string ToString(const Location& location) {
  std::string out = location.name;
  if (location.file.empty()) return out;
  if (!out.empty()) out += " at ";
  return out + location.file + ":" + std::to_string(location.line) + ":" +
         std::to_string(location.column);
}

std::string Signature(const Op& op) {
  return "\"" + std::string(OpName(op.code)) + "\"(" + OperandTypesText(op) + ") -> " +
         ResultTypesText(op);
}

std::string ToString(const Module& module) { return Printer().Print(module); }

}  // namespace PJRT_PLUGIN_NS::program
