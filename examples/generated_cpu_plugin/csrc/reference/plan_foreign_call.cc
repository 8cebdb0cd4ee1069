// Custom calls of functions that the framework has registered, typed ones: what the program says
// about a call becomes a backend::CallSignature, and a step calls the function with the addresses
// of its arrays.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "backend/custom_call.h"
#include "program/float_bits.h"
#include "program/op_table.h"
#include "reference/lowerings.h"

namespace PJRT_PLUGIN_NS::reference {
namespace {

using program::AttributeList;
using program::Ints;

// ---- Attributes ----

void AppendBits(uint64_t bits, DType dtype, std::vector<std::byte>& bytes) {
  const auto* at = reinterpret_cast<const std::byte*>(&bits);  // little-endian
  bytes.insert(bytes.end(), at, at + backend::DTypeBytes(dtype));
}

Result<backend::CallAttributes> CallAttributesOf(const AttributeList& list);

Result<backend::CallAttribute> CallAttributeOf(const program::Attribute& attribute) {
  backend::CallNumbers numbers;
  numbers.dtype = attribute.dtype.value_or(DType::kS64);
  numbers.is_scalar = true;
  if (const auto* yes = attribute.As<bool>()) {
    numbers.dtype = DType::kPred;
    AppendBits(*yes, numbers.dtype, numbers.bytes);
  } else if (const auto* integer = attribute.As<int64_t>()) {
    AppendBits(uint64_t(*integer), numbers.dtype, numbers.bytes);
  } else if (const auto* real = attribute.As<double>()) {
    numbers.dtype = attribute.dtype.value_or(DType::kF64);
    AppendBits(program::FloatToBits(numbers.dtype, *real), numbers.dtype, numbers.bytes);
  } else if (const auto* ints = attribute.As<Ints>()) {
    numbers.is_scalar = false;
    for (int64_t one : *ints) AppendBits(uint64_t(one), numbers.dtype, numbers.bytes);
  } else if (const auto* literal = attribute.As<program::Literal>()) {
    numbers.is_scalar = false;
    numbers.dtype = literal->type.dtype;
    numbers.bytes = literal->Dense();
  } else if (const auto* text = attribute.As<std::string>()) {
    return backend::CallAttribute{*text};
  } else if (const auto* dictionary = attribute.As<AttributeList>()) {
    PJRT_PLUGIN_ASSIGN_OR_RETURN(backend::CallAttributes inner, CallAttributesOf(*dictionary));
    return backend::CallAttribute{std::move(inner)};
  } else {
    return backend::InvalidArgument(
        "is neither a number, nor an array of numbers of one type, nor a string, nor a dictionary; "
        "give lists as numpy arrays");
  }
  return backend::CallAttribute{std::move(numbers)};
}

Result<backend::CallAttributes> CallAttributesOf(const AttributeList& list) {
  backend::CallAttributes attributes;
  for (const program::NamedAttribute& one : list) {
    Result<backend::CallAttribute> value = CallAttributeOf(one.value);
    if (!value.ok()) {
      return Status(value.status().code(),
                    "the attribute " + one.name + " " + std::string(value.status().message()));
    }
    attributes.push_back({one.name, *std::move(value)});
  }
  return attributes;
}

program::CustomCallApiVersion ApiVersionOf(const Op& op) {
  const program::Attribute* version = op.Find("api_version");
  const auto* number = version == nullptr ? nullptr : version->As<int64_t>();
  return number == nullptr ? program::CustomCallApiVersion::kOriginal
                           : program::CustomCallApiVersion(*number);
}

// The dictionary with which a typed call comes: as a property, or, from JAX, as a hint beside an
// empty property. Null for a call of another kind.
const AttributeList* TypedConfig(const Op& op) {
  static const AttributeList kNone;
  for (const program::NamedAttribute& one : op.discardable)
    if (one.name == "mhlo.backend_config") return one.value.As<AttributeList>();
  const program::Attribute* config = op.Find("backend_config");
  if (config != nullptr && config->As<AttributeList>() != nullptr)
    return config->As<AttributeList>();
  return ApiVersionOf(op) == program::CustomCallApiVersion::kTypedFfi ? &kNone : nullptr;
}

// A call to a function that takes bare pointers. Its signature is not in the program and differs
// from platform to platform, and it reports failures through an object of one framework's, so
// nothing can call it safely.
Status RefuseUntyped(const Op& op, const std::string& target) {
  const int64_t version = int64_t(ApiVersionOf(op));
  const std::string_view name =
      program::EnumName(program::AttrKind::kCustomCallApiVersion, version);
  return PlanBuilder::Unsupported(
      op, "the custom call target '" + target + "' is none of the backend's own, and api_version " +
              std::to_string(version) + (name.empty() ? "" : " (" + std::string(name) + ")") +
              " is that of functions without types, which it does not call. Write the function as "
              "a handler of the typed FFI (XLA_FFI_DEFINE_HANDLER), register it with "
              "jax.ffi.register_ffi_target, and call it with api_version 4, as jax.ffi.ffi_call "
              "does by default");
}

// Functions take arrays and tokens only.
Status CheckTypes(const Op& op, const std::string& target) {
  const auto good = [](const Type& type) {
    return type.is_tensor() || type.kind == program::TypeKind::kToken;
  };
  for (size_t i = 0; i < op.operands.size(); ++i)
    if (!good(op.operand_type(i)))
      return PlanBuilder::Unsupported(op, "operand " + std::to_string(i) + " of '" + target +
                                              "' is neither an array nor a token; pass the "
                                              "elements of a tuple one by one");
  for (size_t i = 0; i < op.results.size(); ++i)
    if (!good(op.type(i)))
      return PlanBuilder::Unsupported(op, "result " + std::to_string(i) + " of '" + target +
                                              "' is neither an array nor a token; give a call "
                                              "several results instead of a tuple");
  return Status();
}

// ---- Layouts ----

// The dimensions of an array in memory, from the slowest to the fastest, for the value `i` of those
// that `name` ("operand_layouts") speaks of.
Result<Dims> MajorToMinor(const Op& op, std::string_view name, size_t i, size_t rank) {
  const auto& layouts = std::get<std::vector<program::Attribute>>(op.Find(name)->value);
  Dims order(rank);
  std::iota(order.begin(), order.end(), 0);
  if (layouts.empty()) return order;
  Dims said;  // minor to major
  if (const auto* ints = layouts[i].As<Ints>()) said = *ints;
  if (const auto* literal = layouts[i].As<program::Literal>())
    for (int64_t k = 0; k < literal->type.num_elements(); ++k) said.push_back(literal->IntAt(k));
  std::ranges::reverse(said);
  if (std::ranges::is_permutation(said, order)) return said;
  return PlanBuilder::Unsupported(op, std::string(name) + " " + std::to_string(i) +
                                          " is no order of " + std::to_string(rank) +
                                          " dimensions");
}

Dims Permuted(const Dims& values, const Dims& order) {
  Dims permuted;
  for (int64_t at : order) permuted.push_back(values[size_t(at)]);
  return permuted;
}

// Strides of an array of these dimensions that lies dense in the order.
Dims StridesIn(const Dims& dims, const Dims& order) {
  const Dims dense = DenseStrides(Permuted(dims, order));
  Dims strides(dims.size());
  for (size_t i = 0; i < order.size(); ++i) strides[size_t(order[i])] = dense[i];
  return strides;
}

// ---- Aliases ----

// For each result the operand whose memory it takes over, or -1.
Result<std::vector<int>> AliasesOf(const Op& op) {
  std::vector<int> operand_of(op.results.size(), -1);
  const auto& list =
      std::get<std::vector<program::Attribute>>(op.Find("output_operand_aliases")->value);
  for (const program::Attribute& one : list) {
    const auto* alias = one.As<AttributeList>();
    if (alias == nullptr) return PlanBuilder::Unsupported(op, "an alias is malformed");
    Ints output;
    int64_t operand = -1;
    for (const program::NamedAttribute& part : *alias) {
      if (part.name == "output_tuple_indices")
        if (const auto* ints = part.value.As<Ints>()) output = *ints;
      if (part.name == "operand_index")
        if (const auto* index = part.value.As<int64_t>()) operand = *index;
    }
    const int64_t result = output.empty() ? 0 : output[0];
    const bool exist = operand >= 0 && size_t(operand) < op.operands.size() && result >= 0 &&
                       size_t(result) < op.results.size();
    if (!exist || op.operand_type(size_t(operand)) != op.type(size_t(result)))
      return PlanBuilder::Unsupported(op, "operand " + std::to_string(operand) +
                                              " cannot become result " + std::to_string(result) +
                                              ": they are not of one type");
    operand_of[size_t(result)] = int(operand);
  }
  return operand_of;
}

// ---- Running ----

// What the function may ask for: the memory of the simulated device, and this thread.
class ForeignCallContext final : public backend::CallContext {
 public:
  explicit ForeignCallContext(const Frame& frame) : frame_(frame) {}

  int device() const override { return frame_.device->info().local_hardware_id; }
  int64_t run_id() const override { return frame_.launch->launch_id; }
  const backend::UserData* user_data() const override { return frame_.launch->user_data.get(); }

  Result<void*> Allocate(size_t bytes, size_t alignment) override {
    constexpr size_t kMost = PTRDIFF_MAX;
    if (alignment > kMost || bytes > kMost - alignment) {
      return Status(backend::Code::kResourceExhausted,
                    std::to_string(bytes) + " bytes are more than memory can hold");
    }
    PJRT_PLUGIN_ASSIGN_OR_RETURN(std::shared_ptr<backend::Allocation> block,
                                 frame_.device->memories()[0]->Allocate(bytes + alignment));
    const auto begin = reinterpret_cast<uintptr_t>(block->address());
    auto* const address = reinterpret_cast<void*>((begin + alignment - 1) & ~(alignment - 1));
    std::lock_guard lock(mutex_);
    blocks_.emplace(address, std::move(block));
    return address;
  }
  Status Free(void* address) override {
    std::lock_guard lock(mutex_);
    if (blocks_.erase(address) != 0) return Status();
    return backend::InvalidArgument("the address to be freed was not allocated by this call");
  }

  // The cores belong to the loops of the program, which may well run now on other devices; a
  // function that wants threads of its own starts them.
  Status Schedule(std::function<void()> task) override {
    task();
    return Status();
  }
  Result<int64_t> num_threads() override { return int64_t{1}; }

 private:
  const Frame& frame_;
  std::mutex mutex_;  // functions may ask on threads of their own
  std::map<void*, std::shared_ptr<backend::Allocation>> blocks_;
};

// One operand or result of the call.
struct Passed {
  bool is_token = false;
  Place place;
  int becomes = -1;  // of an operand: the result whose memory it shares
  size_t bytes = 0;
};

Status CallForeign(backend::CustomCall& call, const std::vector<Passed>& operands,
                   const std::vector<Passed>& results, const Frame& frame) {
  std::vector<void*> to(results.size());
  std::vector<void*> from(operands.size());
  for (size_t i = 0; i < results.size(); ++i)
    if (!results[i].is_token) to[i] = results[i].place.At(frame);
  for (size_t i = 0; i < operands.size(); ++i) {
    const Passed& operand = operands[i];
    if (operand.is_token) continue;
    from[i] = operand.place.At(frame);
    if (operand.becomes < 0) continue;
    void* const shared = to[size_t(operand.becomes)];
    if (shared != from[i] && operand.bytes != 0) std::memcpy(shared, from[i], operand.bytes);
    from[i] = shared;
  }
  ForeignCallContext context(frame);
  return call.Run(from, to, context).Await();
}

// With the operation in front, as PlanBuilder::Unsupported has it.
Status Explained(const Op& op, const Status& status) {
  return status.Annotated("the reference backend cannot run " + PlanBuilder::Describe(op));
}

std::optional<backend::Shape> ShapeOf(const Type& type) {
  if (!type.is_tensor()) return std::nullopt;
  return backend::Shape{type.dtype, type.dims};
}

}  // namespace

Status LowerForeignCall(PlanBuilder& b, const Op& op) {
  const std::string& target = op.String("call_target_name");
  const AttributeList* config = TypedConfig(op);
  if (config == nullptr) return RefuseUntyped(op, target);
  if (b.custom_calls() == nullptr)
    return PlanBuilder::Unsupported(op, "there is no custom call target '" + target + "'");
  PJRT_PLUGIN_RETURN_IF_ERROR(CheckTypes(op, target));
  backend::CallSignature signature;
  signature.target = target;
  PJRT_PLUGIN_ASSIGN_OR_RETURN(const std::vector<int> operand_of, AliasesOf(op));
  std::vector<Passed> operands(op.operands.size());
  std::vector<Passed> results(op.results.size());
  Uses uses;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Type& type = op.operand_type(i);
    signature.arguments.push_back(ShapeOf(type));
    operands[i].is_token = !type.is_tensor();
    if (operands[i].is_token) continue;
    PJRT_PLUGIN_ASSIGN_OR_RETURN(const Dims order,
                                 MajorToMinor(op, "operand_layouts", i, type.dims.size()));
    PJRT_PLUGIN_ASSIGN_OR_RETURN(View view, b.ViewOf(op.operands[i]));
    view.dims = Permuted(view.dims, order);
    view.strides = Permuted(view.strides, order);
    operands[i].place = b.Dense(view);
    operands[i].bytes = type.byte_size();
    uses.reads.push_back(operands[i].place.buffer);
  }
  for (size_t i = 0; i < results.size(); ++i) {
    const Type& type = op.type(i);
    signature.results.push_back(ShapeOf(type));
    results[i].is_token = !type.is_tensor();
    if (results[i].is_token) continue;
    PJRT_PLUGIN_ASSIGN_OR_RETURN(const Dims order,
                                 MajorToMinor(op, "result_layouts", i, type.dims.size()));
    if (std::ranges::is_sorted(order)) {
      results[i].place = b.NewResult(op.result(i));
    } else {
      results[i].place = {b.NewTemp(type.byte_size()), 0};
      b.Bind(op.result(i),
             View{results[i].place.buffer, type.dtype, 0, type.dims, StridesIn(type.dims, order)});
    }
    uses.writes.push_back(results[i].place.buffer);
    if (operand_of[i] < 0) continue;
    Passed& operand = operands[size_t(operand_of[i])];
    if (operand.becomes >= 0)
      return PlanBuilder::Unsupported(
          op, "operand " + std::to_string(operand_of[i]) + " cannot become two results");
    operand.becomes = int(i);
    // Not where the function sees the old value elsewhere.
    const auto is_there = [&](BufferId id) { return b.Root(id) == b.Root(operand.place.buffer); };
    if (operand.place.bytes == 0 && std::ranges::count_if(uses.reads, is_there) == 1)
      uses.in_place.emplace_back(operand.place.buffer, results[i].place.buffer);
  }
  Result<backend::CallAttributes> attributes = CallAttributesOf(*config);
  if (!attributes.ok()) return Explained(op, attributes.status());
  signature.attributes = *std::move(attributes);
  Result<std::unique_ptr<backend::CustomCall>> call = b.custom_calls()->Instantiate(signature);
  if (!call.ok()) return Explained(op, call.status());
  b.Emit(op, std::move(uses),
         [call = std::shared_ptr<backend::CustomCall>(*std::move(call)),
          operands = std::move(operands), results = std::move(results)](const Frame& frame) {
           return CallForeign(*call, operands, results, frame);
         });
  return Status();
}

}  // namespace PJRT_PLUGIN_NS::reference
