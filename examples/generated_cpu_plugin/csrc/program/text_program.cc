#include "program/text_program.h"

#include <string>
#include <utility>
#include <vector>

#include "program/text_attributes.h"
#include "program/text_cursor.h"
#include "program/text_locations.h"
#include "program/text_ops.h"
#include "program/text_sdy.h"

namespace PJRT_PLUGIN_NS::program {
namespace {

using backend::Status;

class TextReader {
 public:
  explicit TextReader(std::string_view text)
      : aliases_(text),
        in_(text, &status_, &aliases_),
        budget_(text.size()),
        ops_(in_, locations_, budget_) {}

  backend::Result<std::unique_ptr<Module>> Read() {
    SkipAliases();
    if (in_.Accept("\"builtin.module\"")) {
      ReadGenericModule();
    } else if (in_.Accept("module") || in_.Accept("builtin.module")) {
      ReadModule();
    } else {
      // A module need not be written when its name is of no interest.
      while (in_.Peek() != 0) {
        ReadTopLevel();
        SkipAliases();
      }
    }
    SkipAliases();
    if (in_.Peek() != 0) in_.Fail("there is more after the end of the program");
    if (!status_.ok()) return std::move(status_);
    return std::move(module_);
  }

 private:
  // #name = ..., which is read again where it is used.
  void SkipAliases() {
    for (char first = in_.Peek(); first == '#' || first == '!'; first = in_.Peek()) {
      in_.Expect(first == '#' ? "#" : "!");
      in_.Word();
      in_.Expect("=");
      if (first == '!') {
        ParseType(in_);
      } else if (in_.Accept("loc")) {
        in_.SkipBrackets('(', ')');
      } else {
        ParseAttribute(in_);
      }
    }
  }

  void ReadGenericModule() {
    AttributeList attributes = ReadGenericStart();
    in_.Expect("(");
    ReadModuleBody();
    in_.Expect(")");
    for (NamedAttribute& one : attributes)
      if (auto* name = std::get_if<std::string>(&one.value.value);
          name != nullptr && one.name == "sym_name")
        module_->name = std::move(*name);
    ReadModuleAttributes();
    ReadGenericEnd();
  }

  void ReadModule() {
    if (in_.Accept("@")) module_->name = ReadSymbol();
    if (in_.Accept("attributes")) ReadModuleAttributes();
    ReadModuleBody();
    locations_.Read(in_);
  }

  void ReadModuleAttributes() {
    if (in_.Peek() != '{') return;
    for (NamedAttribute& one : ParseDictionary(in_)) {
      const auto* number = one.value.As<int64_t>();
      if (one.name == "mhlo.num_partitions" && number != nullptr) {
        module_->num_partitions = *number;
      } else if (one.name == "mhlo.num_replicas" && number != nullptr) {
        module_->num_replicas = *number;
      } else if (!std::holds_alternative<std::monostate>(one.value.value)) {
        module_->attributes.push_back(std::move(one));
      }
    }
  }

  void ReadModuleBody() {
    in_.Expect("{");
    while (in_.ok() && !in_.Accept("}")) ReadTopLevel();
  }

  void ReadTopLevel() {
    const bool is_generic = in_.Peek() == '"';
    const std::string name = is_generic ? in_.Quoted() : in_.Word();
    if (name == "func.func") {
      is_generic ? ReadGenericFunction() : ReadFunction();
    } else if (name == "sdy.mesh") {
      is_generic ? ReadGenericMesh() : ReadMesh();
    } else if (in_.ok()) {
      in_.Fail("op " + name + " at the top of the program, where func.func and sdy.mesh may stand");
    }
  }

  // () <{...}>
  AttributeList ReadGenericStart() {
    AttributeList attributes;
    in_.Expect("(");
    in_.Expect(")");
    if (in_.Accept("<")) {
      attributes = ParseDictionary(in_);
      in_.Expect(">");
    }
    return attributes;
  }

  // {...} : () -> () loc(...), of an op of whose other attributes none is of interest
  void ReadGenericEnd() {
    if (in_.Peek() == '{') ParseDictionary(in_);
    in_.Expect(":");
    ParseType(in_);
    locations_.Read(in_);
  }

  void ReadGenericMesh() {
    Mesh mesh;
    std::string name;
    for (const NamedAttribute& one : ReadGenericStart()) {
      if (const auto* holder = one.value.As<Sharding>()) mesh = holder->inlined_mesh;
      if (const auto* text = one.value.As<std::string>()) name = *text;
    }
    ReadGenericEnd();
    AddMesh(std::move(mesh), std::move(name));
  }

  // @mesh = <["x"=4]> {...}
  void ReadMesh() {
    in_.Expect("@");
    std::string name = ReadSymbol();
    in_.Expect("=");
    Mesh mesh = ParseMesh(in_);
    if (in_.Peek() == '{') ParseDictionary(in_);
    locations_.Read(in_);
    AddMesh(std::move(mesh), std::move(name));
  }

  void AddMesh(Mesh mesh, std::string name) {
    mesh.name = std::move(name);
    module_->meshes.push_back(std::move(mesh));
  }

  void ReadGenericFunction() {
    auto function = std::make_unique<Function>();
    for (const NamedAttribute& one : ReadGenericStart()) {
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
    ops_.ReadRegion(function->body);
    in_.Expect(")");
    ReadGenericEnd();
    module_->functions.push_back(std::move(function));
  }

  // private @name(%0: type {...}) -> (type {...}) attributes {...} {...}
  void ReadFunction() {
    auto function = std::make_unique<Function>();
    function->type.kind = TypeKind::kFunction;
    if (!in_.Accept("public") && !in_.Accept("private")) in_.Accept("nested");
    in_.Expect("@");
    function->name = ReadSymbol();
    TextOps::Arguments arguments = ReadParameters(*function);
    if (in_.Accept("->")) ReadResults(*function);
    if (in_.Accept("attributes")) ParseDictionary(in_);
    if (in_.ok() && in_.Peek() != '{')
      return in_.Fail("function " + function->name + " has no body; one in braces has to follow");
    ops_.ReadRegion(function->body, std::move(arguments));
    locations_.Read(in_);
    module_->functions.push_back(std::move(function));
  }

  TextOps::Arguments ReadParameters(Function& function) {
    TextOps::Arguments arguments;
    in_.Expect("(");
    while (in_.Peek() == '%') {
      in_.Expect("%");
      std::string name = in_.Name();
      in_.Expect(":");
      function.type.elements.push_back(ParseType(in_));
      ++function.type.num_inputs;
      function.argument_attributes.push_back(ReadHints());
      arguments.emplace_back(std::move(name), function.type.elements.back());
      locations_.Read(in_);
      if (!in_.Accept(",")) break;
    }
    in_.Expect(")");
    return arguments;
  }

  // type, or (type {...}, type)
  void ReadResults(Function& function) {
    if (!in_.Accept("(")) {
      function.type.elements.push_back(ParseType(in_));
      function.result_attributes.emplace_back();
      return;
    }
    if (in_.Accept(")")) return;
    do {
      function.type.elements.push_back(ParseType(in_));
      function.result_attributes.push_back(ReadHints());
    } while (in_.ok() && in_.Accept(","));
    in_.Expect(")");
  }

  AttributeList ReadHints() { return in_.Peek() == '{' ? ParseDictionary(in_) : AttributeList(); }

  std::string ReadSymbol() { return in_.Peek() == '"' ? in_.Quoted() : in_.Name(); }

  Status status_;
  TextAliases aliases_;
  TextCursor in_;
  TextLocations locations_;
  Budget budget_;
  TextOps ops_;
  std::unique_ptr<Module> module_ = std::make_unique<Module>();
};

}  // namespace

bool IsProgramText(std::string_view text) {
  Status status;
  TextCursor in(text, &status);
  if (in.Peek() == '#' || in.Peek() == '!') return true;
  for (const char* start : {"module", "builtin.module", "\"builtin.module\"", "func.func",
                            "\"func.func\"", "sdy.mesh", "\"sdy.mesh\""})
    if (in.Accept(start)) return true;
  return false;
}

backend::Result<std::unique_ptr<Module>> ReadText(std::string_view text) {
  return TextReader(text).Read();
}

}  // namespace PJRT_PLUGIN_NS::program
