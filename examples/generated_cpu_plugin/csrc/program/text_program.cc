#include "program/text_program.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "program/bytecode_normalize.h"
#include "program/op_table.h"
#include "program/text_attributes.h"
#include "program/text_cursor.h"

namespace PJRT_PLUGIN_NS::program {
namespace {

using backend::Status;

class TextReader {
 public:
  explicit TextReader(std::string_view text) : in_(text, &status_), budget_(text.size()) {}

  backend::Result<std::unique_ptr<Module>> Read() {
    while (in_.Peek() == '#') in_.SkipLine();  // aliases of locations
    Written module = ReadUpToRegions();
    if (in_.ok() && module.name != "builtin.module") in_.Fail("a program is one builtin.module");
    for (NamedAttribute& one : module.properties)
      if (const auto* name = one.value.As<std::string>(); name && one.name == "sym_name")
        module_->name = *name;
    ReadModuleBody();
    AttributeList hints = ReadRest(nullptr, module);
    for (NamedAttribute& one : hints) {
      const auto* number = one.value.As<int64_t>();
      if (one.name == "mhlo.num_partitions" && number != nullptr) {
        module_->num_partitions = *number;
      } else if (one.name == "mhlo.num_replicas" && number != nullptr) {
        module_->num_replicas = *number;
      } else {
        module_->attributes.push_back(std::move(one));
      }
    }
    while (in_.Peek() == '#') in_.SkipLine();
    if (in_.Peek() != 0) in_.Fail("there is more after the end of the program");
    if (!status_.ok()) return std::move(status_);
    return std::move(module_);
  }

 private:
  // An op as it is written, up to its regions.
  struct Written {
    std::vector<std::pair<std::string, size_t>> results;  // names, and how many values each has
    std::string name;
    std::vector<Value*> operands;
    AttributeList properties;
  };

  Written ReadUpToRegions() {
    Written op;
    while (in_.Accept("%")) {
      std::string name = in_.Name();
      const int64_t count = in_.Accept(":") ? in_.Integer() : 1;
      if (count < 1 || count > 1 << 20) in_.Fail("a number of results is out of range");
      op.results.emplace_back(std::move(name), size_t(count));
      if (!in_.Accept(",")) in_.Expect("=");
    }
    op.name = in_.Quoted();
    in_.Expect("(");
    while (in_.Accept("%")) {
      op.operands.push_back(Find(in_.Name()));
      if (!in_.Accept(",")) break;
    }
    in_.Expect(")");
    if (in_.Peek() == '[') in_.Fail("an op with successors; StableHLO has no branches");
    if (in_.Accept("<")) {
      op.properties = ParseDictionary(in_);
      in_.Expect(">");
    }
    return op;
  }

  // Hints, types and location, after the regions. `op` null: it has no results to define.
  AttributeList ReadRest(Op* op, const Written& written) {
    AttributeList hints;
    if (in_.Peek() == '{') hints = ParseDictionary(in_);
    in_.Expect(":");
    if (!in_.ok()) return {};
    const Type type = ParseType(in_);
    if (in_.Accept("loc")) in_.SkipBrackets('(', ')');
    if (!in_.ok() || op == nullptr) return hints;
    const size_t num_results = type.elements.size() - type.num_inputs;
    size_t named = 0;
    for (const auto& [name, count] : written.results) named += count;
    if (type.num_inputs != op->operands.size() || (named != 0 && named != num_results)) {
      in_.Fail("the type does not have as many operands and results as the op");
      return hints;
    }
    for (size_t i = 0; i < op->operands.size(); ++i)
      if (op->operand_type(i) != type.elements[i]) in_.Fail("an operand is of another type");
    for (size_t i = 0; i < num_results; ++i)
      op->results.push_back(
          std::make_unique<Value>(Value{type.elements[type.num_inputs + i], op, nullptr, i}));
    size_t next = 0;
    for (const auto& [name, count] : written.results)
      for (size_t i = 0; i < count; ++i) {
        Define(i == 0 ? name : name + "#" + std::to_string(i), op->result(next));
        ++next;
      }
    return hints;
  }

  void ReadModuleBody() {
    in_.Expect("(");
    in_.Expect("{");
    while (in_.ok() && !in_.Accept("}")) {
      Written op = ReadUpToRegions();
      if (op.name == "func.func") {
        ReadFunction(op);
      } else if (op.name == "sdy.mesh") {
        ReadMesh(op);
      } else {
        in_.Fail("op " + op.name + " at the top of the program");
      }
    }
    in_.Expect(")");
  }

  void ReadMesh(const Written& op) {
    Mesh mesh;
    std::string name;
    for (const NamedAttribute& one : op.properties) {
      if (const auto* holder = one.value.As<Sharding>()) mesh = holder->inlined_mesh;
      if (const auto* text = one.value.As<std::string>()) name = *text;
    }
    mesh.name = std::move(name);
    module_->meshes.push_back(std::move(mesh));
    ReadRest(nullptr, op);
  }

  void ReadFunction(const Written& op) {
    auto function = std::make_unique<Function>();
    for (const NamedAttribute& one : op.properties) {
      const auto* text = one.value.As<std::string>();
      const auto* type = one.value.As<Type>();
      if (one.name == "sym_name" && text != nullptr) function->name = *text;
      if (one.name == "function_type" && type != nullptr) function->type = *type;
      const auto* lists = one.value.As<std::vector<Attribute>>();
      if (lists == nullptr) continue;
      for (const Attribute& list : *lists) {
        const auto* attributes = list.As<AttributeList>();
        (one.name == "arg_attrs" ? function->argument_attributes : function->result_attributes)
            .push_back(attributes == nullptr ? AttributeList() : *attributes);
      }
    }
    const size_t num_inputs = function->type.num_inputs;
    if (function->argument_attributes.empty()) function->argument_attributes.resize(num_inputs);
    if (function->result_attributes.empty())
      function->result_attributes.resize(function->type.elements.size() - num_inputs);
    in_.Expect("(");
    ReadRegion(function->body);
    in_.Expect(")");
    ReadRest(nullptr, op);
    module_->functions.push_back(std::move(function));
  }

  void ReadRegion(Block& block) {
    const size_t outer = defined_.size();
    in_.Expect("{");
    if (in_.Accept("^")) {
      in_.Name();
      if (in_.Accept("(")) {
        while (in_.Accept("%")) {
          std::string name = in_.Name();
          in_.Expect(":");
          block.arguments.push_back(std::make_unique<Value>(
              Value{ParseType(in_), nullptr, &block, block.arguments.size()}));
          Define(std::move(name), block.arguments.back().get());
          if (in_.Accept("loc")) in_.SkipBrackets('(', ')');
          if (!in_.Accept(",")) break;
        }
        in_.Expect(")");
      }
      in_.Expect(":");
    }
    while (in_.ok() && !in_.Accept("}")) ReadOp(block);
    for (; defined_.size() > outer; defined_.pop_back()) {
      auto& [name, hidden] = defined_.back();
      if (hidden == nullptr) {
        values_.erase(name);
      } else {
        values_[name] = hidden;
      }
    }
  }

  void ReadOp(Block& block) {
    if (++depth_ > kMaxRegionDepth) in_.Fail("over 200 regions in one another");
    Written written = ReadUpToRegions();
    const OpInfo* info = InfoOf(written.name);
    if (in_.ok() && info == nullptr) {
      status_ = backend::Unimplemented("op " + written.name +
                                       " is unknown here; known are the ops of StableHLO");
    }
    if (!in_.ok()) return;
    auto owned = std::make_unique<Op>();
    Op& op = *owned;
    op.code = info->code;
    op.location = std::make_shared<const Location>();
    op.operands = std::move(written.operands);
    block.ops.push_back(std::move(owned));
    if (in_.Accept("(")) {
      do {
        op.regions.push_back(std::make_unique<Block>());
        ReadRegion(*op.regions.back());
      } while (in_.ok() && in_.Accept(","));
      in_.Expect(")");
    }
    op.discardable = ReadRest(&op, written);
    SetAttributes(op, *info, std::move(written.properties));
    if (in_.ok()) NormalizeOp(op);
    --depth_;
  }

  static const OpInfo* InfoOf(std::string_view name) {
    if (name == "func.return" || name == "sdy.return") return FindOp("return");
    if (name == "func.call") return FindOp("call");
    if (name.starts_with("stablehlo.")) return FindOp(name.substr(10));
    return name.starts_with("sdy.") ? FindOp(name) : nullptr;
  }

  // Takes StableHLO's groups apart, and gives each attribute the form that the table declares.
  void SetAttributes(Op& op, const OpInfo& info, AttributeList properties) {
    AttributeList flat;
    for (NamedAttribute& one : properties) {
      auto* group = std::get_if<AttributeList>(&one.value.value);
      const bool is_group =
          group != nullptr && (one.name.ends_with("dimension_numbers") || one.name == "algorithm");
      if (is_group) {
        for (NamedAttribute& part : *group) flat.push_back(std::move(part));
      } else if (one.name == "channel_handle" && group != nullptr) {
        for (NamedAttribute& part : *group)
          flat.push_back({part.name == "handle" ? "channel_id" : "channel_type", part.value});
      } else {
        flat.push_back(std::move(one));
      }
    }
    for (const AttrInfo& declared : info.attributes) {
      const auto found = std::find_if(flat.begin(), flat.end(), [&](const NamedAttribute& one) {
        return one.name == declared.name;
      });
      if (found == flat.end()) {
        if (!declared.optional)
          op.attributes.push_back({std::string(declared.name), Absent(op, declared)});
        continue;
      }
      SpellingsToValues(declared.kind, found->value);
      Status problem;
      Cursor unused({}, 0, &problem);
      const bool keep = NormalizeAttribute(declared, found->value, budget_, unused);
      if (!problem.ok())
        in_.Fail("attribute " + found->name + " is no " + std::string(AttrKindName(declared.kind)));
      if (keep) op.attributes.push_back(std::move(*found));
    }
  }

  // Enumerations are written by name.
  static void SpellingsToValues(AttrKind kind, Attribute& attribute) {
    const auto value = [](AttrKind of, Attribute& one) {
      const auto* text = one.As<std::string>();
      if (text == nullptr) return;
      if (const auto number = EnumValue(of, *text)) one.value = *number;
    };
    if (kind >= AttrKind::kComparisonDirection && kind < AttrKind::kPrecisions)
      value(kind, attribute);
    if (kind == AttrKind::kPrecisions)
      if (auto* list = std::get_if<std::vector<Attribute>>(&attribute.value))
        for (Attribute& one : *list) value(kind, one);
    if (kind == AttrKind::kAccuracy)
      if (auto* list = std::get_if<AttributeList>(&attribute.value))
        for (NamedAttribute& one : *list)
          if (const auto* mode = one.value.As<std::string>())
            one.value.value = int64_t(*mode == "HIGHEST" ? 1 : *mode == "TOLERANCE" ? 2 : 0);
  }

  // What MLIR leaves out when it is the usual.
  static Attribute Absent(const Op& op, const AttrInfo& declared) {
    const std::string_view name = declared.name;
    const bool is_conv = op.code == OpCode::kConvolution || op.code == OpCode::kDynamicConv;
    const size_t rank = op.operands.empty() ? 0 : op.operand_type(0).dims.size();
    const size_t spatial = is_conv ? rank - std::min<size_t>(rank, 2) : rank;
    if (name.ends_with("strides") || name.ends_with("dilation") || name.ends_with("dilations"))
      return {Ints(spatial, 1)};
    if (name == "padding") return {Ints(2 * spatial, 0)};
    if (name == "window_reversal") return {Ints(spatial, 0)};
    switch (declared.kind) {
      case AttrKind::kPrecisions:
        return {Ints(2, 0)};
      case AttrKind::kInt:
        return {int64_t{name == "dimension" ? -1 : 0}};
      case AttrKind::kComparisonType:
        return {int64_t(ComparisonType::kNone)};
      case AttrKind::kCustomCallApiVersion:
        return {int64_t(CustomCallApiVersion::kOriginal)};
      case AttrKind::kAny:
      case AttrKind::kString:
        return {std::string()};
      case AttrKind::kDict:
        return {AttributeList()};
      default:
        return DefaultAttribute(declared.kind);
    }
  }

  void Define(std::string name, Value* value) {
    Value*& slot = values_[name];
    defined_.emplace_back(std::move(name), slot);
    slot = value;
  }

  Value* Find(std::string name) {
    if (in_.Accept("#"))
      if (const int64_t index = in_.Integer(); index != 0) name += "#" + std::to_string(index);
    const auto found = values_.find(name);
    if (found != values_.end()) return found->second;
    in_.Fail("%" + name + " is used before it is defined");
    static Value none;
    return &none;
  }

  Status status_;
  TextCursor in_;
  Budget budget_;
  std::unique_ptr<Module> module_ = std::make_unique<Module>();
  std::unordered_map<std::string, Value*> values_;
  std::vector<std::pair<std::string, Value*>> defined_;  // names, and what they hide
  int depth_ = 0;
};

}  // namespace

bool IsGenericText(std::string_view text) {
  Status status;
  TextCursor in(text, &status);
  while (in.Peek() == '#') in.SkipLine();
  return in.Accept("\"builtin.module\"");
}

backend::Result<std::unique_ptr<Module>> ReadText(std::string_view text) {
  return TextReader(text).Read();
}

}  // namespace PJRT_PLUGIN_NS::program
