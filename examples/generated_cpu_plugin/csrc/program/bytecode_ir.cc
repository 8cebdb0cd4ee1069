#include "program/bytecode_ir.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "program/bytecode_attributes.h"
#include "program/bytecode_container.h"
#include "program/bytecode_normalize.h"
#include "program/bytecode_types.h"
#include "program/op_table.h"

namespace PJRT_PLUGIN_NS::program {
namespace {

using backend::Status;

// What an op has, one bit each; read in another order than that of the bits.
enum OpMask : uint8_t {
  kHasAttributes = 0x01,
  kHasResults = 0x02,
  kHasOperands = 0x04,
  kHasSuccessors = 0x08,
  kHasRegions = 0x10,
  kHasUseLists = 0x20,
  kHasProperties = 0x40,
};

class IrReader {
 public:
  explicit IrReader(std::string_view code)
      : file_(ReadContainer(code, &status_)),
        budget_(code.size()),
        types_(file_, &budget_, &status_),
        attributes_(file_, &types_, &budget_),
        op_kinds_(file_.op_names.size()) {}

  backend::Result<std::unique_ptr<Module>> Read() {
    if (status_.ok()) ReadTop();
    if (!status_.ok()) return std::move(status_);
    return std::move(module_);
  }

 private:
  // An op name of the file, found in the table when first met.
  struct OpKind {
    const OpInfo* info = nullptr;
    int version = 1;
  };
  // All of an op up to its regions.
  struct Header {
    size_t name = 0;  // index of the op name
    std::shared_ptr<const Location> location;
    AttributeList discardable;
    std::optional<Cursor> properties;
    std::vector<uint64_t> result_types;
    std::vector<Value*> operands;
    size_t num_regions = 0;
    bool isolated = false;
  };
  // Values are numbered through all open regions, anew below an isolated op.
  struct Region {
    size_t next;  // number of the next value defined in it
    size_t end;
    bool numbered;  // a region may declare no values; its results then have no numbers
  };
  struct Scope {
    std::vector<Value*> values;
    std::vector<Region> regions;
  };

  void ReadTop();
  void ReadModuleBodyOp(Cursor& in);
  void ReadFunction(Cursor& in, Header header);
  void ReadMesh(const Header& header);
  void ReadOp(Cursor& in, Block* block);
  void ReadCast(const Header& header);
  Header ReadHeader(Cursor& in);
  const OpKind& FindKind(size_t name);
  void ReadProperties(Op& op, const OpKind& kind, std::optional<Cursor> properties, Cursor& in);
  // `block` null: the module's body.
  void ReadRegion(Cursor& in, Block* block);
  template <typename ReadOne>
  void ReadRegions(Cursor& in, const Header& header, ReadOne read_one);
  void ReadBlockArguments(Cursor& in, Block* block);
  void SkipUseLists(Cursor& in, size_t num_values);
  void Define(Value* value, Cursor& in);
  void Annotate(const Header& header);

  std::string FullName(size_t name) const {
    return std::string(file_.op_names[name].dialect) + "." + std::string(file_.op_names[name].name);
  }

  Status status_;
  Container file_;
  Budget budget_;
  TypeDecoder types_;
  AttributeDecoder attributes_;
  std::vector<OpKind> op_kinds_;
  std::vector<Scope> scopes_;
  std::unique_ptr<Module> module_ = std::make_unique<Module>();
  int depth_ = 0;
  bool annotated_ = false;  // the failure says in which op it happened
};

void IrReader::ReadTop() {
  Cursor in = file_.ir;
  scopes_.push_back({{}, {{0, 0, false}}});
  const auto [num_ops, has_arguments] = in.FlaggedVarint();
  if (num_ops != 1 || has_arguments) in.Fail("a program is one builtin.module");
  Header header = ReadHeader(in);
  if (in.ok() && FullName(header.name) != "builtin.module")
    in.Fail("a program is one builtin.module, this is a " + FullName(header.name));
  if (!in.ok()) return;
  if (header.properties) {
    Cursor properties = *header.properties;
    for (int i = 0; i < 2; ++i) {  // name, visibility
      const auto [index, present] = properties.FlaggedVarint();
      if (present && i == 0) module_->name = attributes_.String(index, properties);
    }
    properties.ExpectDone("the properties of builtin.module");
  }
  for (NamedAttribute& attribute : header.discardable) {
    const auto* number = attribute.value.As<int64_t>();
    if (attribute.name == "mhlo.num_partitions" && number != nullptr) {
      module_->num_partitions = *number;
    } else if (attribute.name == "mhlo.num_replicas" && number != nullptr) {
      module_->num_replicas = *number;
    } else {
      module_->attributes.push_back(std::move(attribute));
    }
  }
  if (header.num_regions != 1) in.Fail("builtin.module with other than one region");
  ReadRegions(in, header, [&](Cursor& body) { ReadRegion(body, nullptr); });
  in.ExpectDone("the IR section");
}

void IrReader::ReadModuleBodyOp(Cursor& in) {
  Header header = ReadHeader(in);
  if (!in.ok()) return;
  const std::string name = FullName(header.name);
  if (name == "vhlo.func_v1") {
    ReadFunction(in, std::move(header));
  } else if (name == "sdy.mesh") {
    ReadMesh(header);
  } else {
    status_ = backend::Unimplemented(
        "op " + name +
        " at the top of the program; a StableHLO portable artifact has vhlo.func_v1 "
        "and sdy.mesh there" +
        std::string(name.starts_with("func.")
                        ? ". This is StableHLO of no fixed version; serialize a portable artifact"
                        : ""));
  }
}

void IrReader::ReadFunction(Cursor& in, Header header) {
  auto function = std::make_unique<Function>();
  if (!header.properties || header.num_regions != 1) in.Fail("a vhlo.func_v1 without its parts");
  if (!in.ok()) return;
  Cursor properties = *header.properties;
  auto lists = [&](Attribute attribute) {
    std::vector<AttributeList> result;
    const auto* list = attribute.As<std::vector<Attribute>>();
    if (list == nullptr) properties.Fail("the arguments' attributes are no list");
    for (size_t i = 0; list != nullptr && i < list->size(); ++i) {
      const auto* one = (*list)[i].As<AttributeList>();
      if (one == nullptr) properties.Fail("an argument's attributes are no dictionary");
      result.push_back(one == nullptr ? AttributeList() : *one);
    }
    return result;
  };
  // In alphabetical order: arg_attrs, function_type, res_attrs, sym_name, sym_visibility.
  function->argument_attributes = lists(attributes_.Copy(properties.Varint(), properties));
  const Attribute type = attributes_.Copy(properties.Varint(), properties);
  function->result_attributes = lists(attributes_.Copy(properties.Varint(), properties));
  function->name = attributes_.String(properties.Varint(), properties);
  attributes_.String(properties.Varint(), properties);
  properties.ExpectDone("the properties of vhlo.func_v1");
  if (const auto* function_type = type.As<Type>()) {
    function->type = *function_type;
  } else {
    properties.Fail("the type of function " + function->name + " is no type");
  }
  ReadRegions(in, header, [&](Cursor& body) { ReadRegion(body, &function->body); });
  // An empty list stands for no attributes at all.
  const size_t num_inputs = function->type.num_inputs;
  if (function->argument_attributes.empty()) function->argument_attributes.resize(num_inputs);
  if (function->result_attributes.empty())
    function->result_attributes.resize(function->type.elements.size() - num_inputs);
  module_->functions.push_back(std::move(function));
}

void IrReader::ReadMesh(const Header& header) {
  if (!header.properties || header.num_regions != 0) return;
  Cursor properties = *header.properties;
  Mesh mesh = attributes_.GetMesh(properties.Varint(), properties);
  mesh.name = attributes_.String(properties.Varint(), properties);
  properties.ExpectDone("the properties of sdy.mesh");
  module_->meshes.push_back(std::move(mesh));
}

void IrReader::ReadOp(Cursor& in, Block* block) {
  Header header = ReadHeader(in);
  if (!in.ok()) return;
  const Container::OpName& name = file_.op_names[header.name];
  if (name.dialect == "builtin" && name.name == "unrealized_conversion_cast") {
    ReadCast(header);
    return Annotate(header);
  }
  const OpKind& kind = FindKind(header.name);
  if (kind.info == nullptr) return Annotate(header);
  auto owned = std::make_unique<Op>();
  Op& op = *owned;
  op.code = kind.info->code;
  op.location = header.location;
  op.operands = std::move(header.operands);
  op.discardable = std::move(header.discardable);
  for (size_t i = 0; i < header.result_types.size() && in.ok(); ++i) {
    auto value = std::make_unique<Value>();
    value->type = types_.ValueType(header.result_types[i], in);
    value->op = &op;
    value->index = i;
    Define(value.get(), in);
    op.results.push_back(std::move(value));
  }
  ReadProperties(op, kind, header.properties, in);
  block->ops.push_back(std::move(owned));
  ReadRegions(in, header, [&](Cursor& body) {
    op.regions.push_back(std::make_unique<Block>());
    ReadRegion(body, op.regions.back().get());
  });
  if (in.ok()) NormalizeOp(op);
  Annotate(header);
}

// Casts join VHLO's types and MLIR's, which are one here: the result is the operand.
void IrReader::ReadCast(const Header& header) {
  Cursor in = file_.ir;
  if (header.operands.size() != header.result_types.size() || header.num_regions != 0)
    in.Fail("a cast of other than one value to one value");
  for (size_t i = 0; i < header.operands.size() && in.ok(); ++i) {
    if (types_.ValueType(header.result_types[i], in) != header.operands[i]->type)
      in.Fail("a cast that changes the type " + ToString(header.operands[i]->type));
    Define(header.operands[i], in);
  }
}

IrReader::Header IrReader::ReadHeader(Cursor& in) {
  Header header;
  header.name = in.Index(file_.op_names.size(), "op names");
  const uint8_t mask = in.Byte();
  header.location = attributes_.GetLocation(in.Varint(), in);
  if (!in.ok()) return header;
  if (mask & kHasAttributes) {
    header.discardable = attributes_.Dictionary(in.Varint(), in);
    std::erase_if(header.discardable, [](const NamedAttribute& one) {
      return std::holds_alternative<std::monostate>(one.value.value);
    });
  }
  if (mask & kHasProperties) {
    const uint64_t index = in.Varint();
    const size_t i = in.CheckedIndex(index, file_.properties.size(), "properties");
    if (!in.ok()) return header;
    header.properties = file_.properties[i];
  }
  if (mask & kHasResults)
    for (size_t n = in.Count(); n > 0; --n) header.result_types.push_back(in.Varint());
  if (mask & kHasOperands) {
    const std::vector<Value*>& values = scopes_.back().values;
    for (size_t n = in.Count(); n > 0 && in.ok(); --n) {
      const size_t i = in.Index(values.size(), "values");
      if (in.ok() && values[i] == nullptr) in.Fail("a value used before it is defined");
      if (in.ok()) header.operands.push_back(values[i]);
    }
  }
  if (mask & kHasSuccessors) in.Fail("an op with successors; StableHLO has no branches");
  if (mask & kHasUseLists) SkipUseLists(in, header.result_types.size());
  if (mask & kHasRegions) {
    const auto [count, isolated] = in.FlaggedVarint();
    header.num_regions = in.Checked(count);
    header.isolated = isolated;
  }
  Annotate(header);
  return header;
}

const IrReader::OpKind& IrReader::FindKind(size_t name) {
  OpKind& kind = op_kinds_[name];
  if (kind.info != nullptr) return kind;
  const Container::OpName& op_name = file_.op_names[name];
  std::string_view base = op_name.name;
  const OpInfo* info = nullptr;
  if (op_name.dialect == "vhlo") {
    const size_t suffix = std::min(base.rfind("_v"), base.size());
    if (base.size() == suffix + 3 && base.back() >= '1' && base.back() <= '9') {
      kind.version = base.back() - '0';
      info = FindOp(base.substr(0, suffix));
      if (info != nullptr && kind.version > info->versions) info = nullptr;
    }
  } else if (op_name.dialect == "sdy") {
    info = base == "return" ? &InfoOf(OpCode::kReturn) : FindOp(FullName(name));
  }
  if (info != nullptr && op_name.registered) {
    kind.info = info;
  } else {
    status_ = backend::Unimplemented(
        "the op is unknown here; known are the ops of StableHLO in a portable artifact, for which "
        "1.13.0 is the version to ask for, and Shardy's manual_computation, "
        "sharding_constraint and sharding_group");
  }
  return kind;
}

void IrReader::ReadProperties(Op& op, const OpKind& kind, std::optional<Cursor> properties,
                              Cursor& in) {
  Cursor props = properties.value_or(Cursor({}, in.offset(), &status_));
  op.attributes.reserve(kind.info->attributes.size());
  for (const AttrInfo& info : kind.info->attributes) {
    Attribute attribute;
    if (kind.version >= info.first_version && kind.version <= info.last_version) {
      attribute = attributes_.Copy(props.Varint(), props);
      if (!props.ok()) return;
      if (!NormalizeAttribute(info, attribute, budget_, props)) continue;
    } else if (info.optional) {
      continue;
    } else {
      attribute = DefaultAttribute(info.kind);
    }
    op.attributes.push_back({std::string(info.name), std::move(attribute)});
  }
  props.ExpectDone("the properties of the op");
}

template <typename ReadOne>
void IrReader::ReadRegions(Cursor& in, const Header& header, ReadOne read_one) {
  if (header.num_regions == 0 || !in.ok()) return;
  if (++depth_ > kMaxRegionDepth) in.Fail("over 200 regions in one another");
  if (header.isolated) {
    uint8_t id = 0;
    Cursor section = ReadSection(in, &id);
    if (id != 4) section.Fail("a nested section that holds no IR");
    scopes_.emplace_back();
    for (size_t i = 0; i < header.num_regions && in.ok(); ++i) read_one(section);
    scopes_.pop_back();
    section.ExpectDone("a nested IR section");
  } else {
    for (size_t i = 0; i < header.num_regions && in.ok(); ++i) read_one(in);
  }
  --depth_;
}

void IrReader::ReadRegion(Cursor& in, Block* block) {
  const size_t num_blocks = in.Count();
  if (num_blocks != 1) {
    in.Fail("a region of " + std::to_string(num_blocks) + " blocks; each has one in StableHLO");
    return;
  }
  const size_t num_values = in.Count();
  const size_t base = scopes_.back().values.size();
  budget_.Charge(num_values * sizeof(Value*), in);
  if (!in.ok()) return;
  scopes_.back().values.resize(base + num_values);
  scopes_.back().regions.push_back({base, base + num_values, num_values != 0});
  const auto [num_ops, has_arguments] = in.FlaggedVarint();
  const size_t ops = in.Checked(num_ops);
  if (has_arguments) ReadBlockArguments(in, block);
  for (size_t i = 0; i < ops && in.ok(); ++i) {
    if (block == nullptr) {
      ReadModuleBodyOp(in);
    } else {
      ReadOp(in, block);
    }
  }
  Scope& scope = scopes_.back();
  if (scope.regions.back().next != scope.regions.back().end)
    in.Fail("a region with fewer values than announced");
  scope.regions.pop_back();
  scope.values.resize(base);
}

void IrReader::ReadBlockArguments(Cursor& in, Block* block) {
  const size_t count = in.Count();
  if (block == nullptr) in.Fail("a module with arguments");
  for (size_t i = 0; i < count && in.ok(); ++i) {
    const auto [type, has_location] = in.FlaggedVarint();
    auto value = std::make_unique<Value>();
    value->type = types_.ValueType(type, in);
    value->block = block;
    value->index = i;
    if (has_location) in.Varint();
    Define(value.get(), in);
    block->arguments.push_back(std::move(value));
  }
  if (in.Byte() != 0) SkipUseLists(in, count);
}

// The order of use chains, of interest to MLIR alone.
void IrReader::SkipUseLists(Cursor& in, size_t num_values) {
  for (size_t n = num_values > 1 ? in.Count() : 1; n > 0 && in.ok(); --n) {
    if (num_values > 1) in.Varint();
    for (size_t m = in.Checked(in.FlaggedVarint().value); m > 0; --m) in.Varint();
  }
}

void IrReader::Define(Value* value, Cursor& in) {
  Scope& scope = scopes_.back();
  Region& region = scope.regions.back();
  if (!region.numbered) return;
  if (region.next == region.end) {
    in.Fail("a region with more values than announced");
  } else {
    scope.values[region.next++] = value;
  }
}

// Puts into a failure in which op it happened, the innermost one.
void IrReader::Annotate(const Header& header) {
  if (status_.ok() || annotated_) return;
  annotated_ = true;
  const std::string where = ToString(*header.location);
  status_ =
      status_.Annotated("op " + FullName(header.name) + (where.empty() ? "" : " (" + where + ")"));
}

}  // namespace

backend::Result<std::unique_ptr<Module>> ReadBytecode(std::string_view code) {
  return IrReader(code).Read();
}

}  // namespace PJRT_PLUGIN_NS::program
