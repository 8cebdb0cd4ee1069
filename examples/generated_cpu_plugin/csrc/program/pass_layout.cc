#include "program/pass_layout.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/layout.h"
#include "program/pass_spmd.h"
#include "program/rewrite.h"

namespace PJRT_PLUGIN_NS::program {
namespace {

using backend::Result;
using backend::Status;

constexpr std::string_view kMode = "mhlo.layout_mode";
constexpr std::string_view kMinorToMajor = "mhlo.minor_to_major";
constexpr std::string_view kAccepted =
    R"("default", "auto" and the dimensions, the minor one first, like "{0,1}", are accepted)";

// "1,0" as numbers; false for anything else.
bool ReadInts(std::string_view text, Ints* ints) {
  while (!text.empty()) {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc()) return false;
    ints->push_back(value);
    text.remove_prefix(size_t(end - text.data()));
    if (text.empty()) return true;
    if (text.front() != ',' || text.size() == 1) return false;
    text.remove_prefix(1);
  }
  return true;
}

// The layout that a mode asks for; empty for row-major.
Result<Ints> ReadMode(std::string_view mode, const Type& type, const std::string& place) {
  if (mode == "default" || mode == "auto") return Ints();
  const std::string what = std::string(kMode) + " of " + place + ", a " + ToString(type) +
                           ", is \"" + std::string(mode) + "\"";
  if (mode.size() < 2 || mode.front() != '{' || mode.back() != '}')
    return backend::InvalidArgument(what + "; " + std::string(kAccepted));
  std::string_view order = mode.substr(1, mode.size() - 2);
  if (const size_t colon = order.find(':'); colon != order.npos) {
    // JAX names the width of narrow integers, which says nothing of how they are packed.
    const std::string width = "E(" + std::to_string(DTypeBits(type.dtype)) + ")";
    if (order.substr(colon + 1) != width)
      return backend::Unimplemented(what +
                                    ": arrays are dense, without tiles, and elements take "
                                    "whole bytes; " +
                                    std::string(kAccepted));
    order = order.substr(0, colon);
  }
  Ints minor_to_major;
  if (!type.is_tensor() || !ReadInts(order, &minor_to_major) ||
      !backend::IsLayout(minor_to_major, type.dims.size()))
    return backend::InvalidArgument(what + "; it must name each of the " +
                                    std::to_string(type.dims.size()) + " dimensions once");
  if (backend::IsRowMajor(minor_to_major)) minor_to_major.clear();
  return minor_to_major;
}

// Takes the mode out of the attributes, and what only this pass may say.
Result<Ints> TakeLayout(AttributeList& attributes, const Type& type, const std::string& place) {
  std::erase_if(attributes, [](const NamedAttribute& one) { return one.name == kMinorToMajor; });
  const auto found = std::ranges::find(attributes, kMode, &NamedAttribute::name);
  if (found == attributes.end()) return Ints();
  PJRT_PLUGIN_ASSIGN_OR_RETURN(Ints layout, ReadMode(*found->value.As<std::string>(), type, place));
  attributes.erase(found);
  return layout;
}

// Logical dimensions to those in memory, as the permutation of a transpose.
Ints ToMemory(const Ints& minor_to_major) {
  return Ints(minor_to_major.rbegin(), minor_to_major.rend());
}

Ints ToLogical(const Ints& minor_to_major) {
  const Ints to_memory = ToMemory(minor_to_major);
  Ints permutation(to_memory.size());
  for (size_t i = 0; i < to_memory.size(); ++i) permutation[size_t(to_memory[i])] = int64_t(i);
  return permutation;
}

template <typename List>
List Permute(const List& list, const Ints& permutation) {
  List result;
  for (int64_t from : permutation) result.push_back(list[size_t(from)]);
  return result;
}

void PermuteSharding(const Ints& permutation, Sharding* sharding) {
  sharding->dims.resize(permutation.size());  // it need not name the last ones
  sharding->dims = Permute(sharding->dims, permutation);
}

// The attributes of an argument or result that lies in memory in this way.
void MarkLayout(const Ints& minor_to_major, AttributeList& attributes) {
  for (NamedAttribute& one : attributes)
    if (auto* sharding = std::get_if<Sharding>(&one.value.value); sharding != nullptr)
      PermuteSharding(ToMemory(minor_to_major), sharding);
  attributes.push_back({std::string(kMinorToMajor), {minor_to_major}});
}

std::unique_ptr<Op> Transpose(Value* value, const Ints& permutation,
                              std::shared_ptr<const Location> location) {
  auto op = std::make_unique<Op>();
  op->code = OpCode::kTranspose;
  op->operands = {value};
  op->attributes = {{"permutation", {permutation}}};
  op->location = std::move(location);
  Type type = Type::Tensor(value->type.dtype, Permute(value->type.dims, permutation));
  op->results.push_back(std::make_unique<Value>(Value{std::move(type), op.get(), nullptr, 0}));
  return op;
}

void UpdateUses(const Block& block, const Replacements& replacements) {
  for (const auto& op : block.ops) {
    replacements.UpdateOperands(*op);
    for (const auto& region : op->regions) UpdateUses(*region, replacements);
  }
}

Status ChangeArguments(Function& main) {
  Replacements replacements;
  std::vector<std::unique_ptr<Op>> transposes;
  for (size_t i = 0; i < main.body.arguments.size(); ++i) {
    Value* argument = main.body.arguments[i].get();
    AttributeList& attributes = main.argument_attributes[i];
    PJRT_PLUGIN_ASSIGN_OR_RETURN(
        const Ints layout,
        TakeLayout(attributes, argument->type, "argument " + std::to_string(i) + " of main"));
    if (layout.empty()) continue;
    MarkLayout(layout, attributes);
    argument->type.dims = Permute(argument->type.dims, ToMemory(layout));
    main.type.elements[i] = argument->type;
    transposes.push_back(Transpose(argument, ToLogical(layout), main.body.terminator()->location));
    replacements.Replace(argument, transposes.back()->result());
  }
  if (transposes.empty()) return {};
  UpdateUses(main.body, replacements);
  main.body.ops.insert(main.body.ops.begin(), std::make_move_iterator(transposes.begin()),
                       std::make_move_iterator(transposes.end()));
  return {};
}

Status ChangeResults(Function& main) {
  Op& end = *main.body.terminator();
  std::vector<std::unique_ptr<Op>> transposes;
  for (size_t k = 0; k < end.operands.size(); ++k) {
    AttributeList& attributes = main.result_attributes[k];
    PJRT_PLUGIN_ASSIGN_OR_RETURN(
        const Ints layout,
        TakeLayout(attributes, end.operand_type(k), "result " + std::to_string(k) + " of main"));
    if (layout.empty()) continue;
    MarkLayout(layout, attributes);
    transposes.push_back(Transpose(end.operands[k], ToMemory(layout), end.location));
    end.operands[k] = transposes.back()->result();
    main.type.elements[main.type.num_inputs + k] = end.operand_type(k);
  }
  main.body.ops.insert(main.body.ops.end() - 1, std::make_move_iterator(transposes.begin()),
                       std::make_move_iterator(transposes.end()));
  return {};
}

}  // namespace

Status LayoutPass(Module& module) {
  Function* main = module.main();
  if (main == nullptr) return {};
  PJRT_PLUGIN_RETURN_IF_ERROR(ChangeArguments(*main));
  return ChangeResults(*main);
}

Logical LogicalOf(const AttributeList& attributes, const Type& type) {
  Logical logical = {type, std::nullopt, {}};
  if (const Sharding* sharding = FindSharding(attributes)) logical.sharding = *sharding;
  const auto found = std::ranges::find(attributes, kMinorToMajor, &NamedAttribute::name);
  if (found == attributes.end()) return logical;
  logical.minor_to_major = *found->value.As<Ints>();
  const Ints permutation = ToLogical(logical.minor_to_major);
  logical.type.dims = Permute(type.dims, permutation);
  if (logical.sharding.has_value()) PermuteSharding(permutation, &*logical.sharding);
  return logical;
}

}  // namespace PJRT_PLUGIN_NS::program
