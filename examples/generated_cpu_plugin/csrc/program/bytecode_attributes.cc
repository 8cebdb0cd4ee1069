#include "program/bytecode_attributes.h"

#include <utility>

#include "program/bytecode_literal.h"
#include "program/float_bits.h"

namespace PJRT_PLUGIN_NS::program {
namespace {

constexpr int kMaxAttributeDepth = 64;

// MLIR's own attributes and VHLO's, by the numbers of their encodings.
struct BuiltinAttribute {
  enum : uint64_t {
    kArray = 0,
    kDictionary = 1,
    kString = 2,
    kStringWithType = 3,
    kSymbol = 4,
    kType = 6,
    kUnit = 7,
    kInteger = 8,
    kFloat = 9,
    kDenseArray = 17,
    kDense = 18,
  };
};

struct VhloAttribute {
  enum : uint64_t {
    kArray = 1,
    kBool = 2,
    kComparisonDirection = 3,
    kComparisonType = 4,
    kApiVersion = 5,
    kDictionary = 6,
    kFftType = 7,
    kFloat = 8,
    kInteger = 9,
    kAlias = 10,
    kPrecision = 11,
    kRngAlgorithm = 12,
    kRngDistribution = 13,
    kString = 14,
    kTensor = 15,
    kTranspose = 16,
    kType = 17,
    kTypeExtensions = 18,
    kAccuracyMode = 19,
    kAccuracy = 20,
    kSubAxis = 21,
    kAxisRef = 22,
    kMeshReplicaGroups = 23,
    kMeshAxis = 24,
    kMesh = 25,
  };
};

// An integer of `bits` bits: a byte, a signed varint, or a list of words of which the lowest is
// kept.
uint64_t ReadApInt(size_t bits, Cursor& in) {
  if (bits <= 8) return in.Byte();
  if (bits <= 64) return uint64_t(in.SignedVarint());
  uint64_t low = 0;
  for (size_t n = in.Count(), i = 0; i < n; ++i) {
    const uint64_t word = uint64_t(in.SignedVarint());
    if (i == 0) low = word;
  }
  return low;
}

Attribute Of(int64_t value) { return {value}; }

// What no consumer reads.
Attribute Skip(Cursor& in) {
  in.Bytes(in.left());
  return {};
}

size_t CopyBytes(const Type& type) {
  size_t bytes = sizeof(Type) + type.dims.size() * sizeof(int64_t);
  for (const Type& element : type.elements) bytes += CopyBytes(element);
  return bytes;
}

size_t CopyBytes(const Sharding& sharding) {
  size_t axes = sharding.replicated.size() + sharding.unreduced.size();
  for (const DimSharding& dim : sharding.dims) axes += 1 + dim.axes.size();
  return sizeof(Sharding) + (axes + sharding.inlined_mesh.axes.size()) * sizeof(DimSharding) +
         sharding.inlined_mesh.device_ids.size() * sizeof(int64_t);
}

// What a copy of the attribute takes in memory, children included.
size_t CopyBytes(const Attribute& attribute) {
  size_t bytes = sizeof(NamedAttribute);
  if (const auto* text = attribute.As<std::string>()) bytes += text->size();
  if (const auto* ints = attribute.As<Ints>()) bytes += ints->size() * sizeof(int64_t);
  if (const auto* type = attribute.As<Type>()) bytes += CopyBytes(*type);
  if (const auto* sharding = attribute.As<Sharding>()) bytes += CopyBytes(*sharding);
  if (const auto* list = attribute.As<std::vector<Attribute>>())
    for (const Attribute& one : *list) bytes += CopyBytes(one);
  if (const auto* list = attribute.As<AttributeList>())
    for (const NamedAttribute& one : *list) bytes += one.name.size() + CopyBytes(one.value);
  return bytes;
}

}  // namespace

const Attribute& AttributeDecoder::Get(uint64_t index, Cursor& in) {
  static const Attribute kFailed;
  const size_t i = in.CheckedIndex(index, entries_.size(), "attributes");
  if (!in.ok()) return kFailed;
  Entry& entry = entries_[i];
  if (entry.state == kRead) return entry.attribute;
  if (entry.state == kReading || depth_ >= kMaxAttributeDepth) {
    in.Fail("attribute " + std::to_string(i) + " contains itself, or too deep a nest");
    return kFailed;
  }
  entry.state = kReading;
  ++depth_;
  entry.attribute = Decode(file_.attributes[i]);
  --depth_;
  entry.state = kRead;
  entry.bytes = CopyBytes(entry.attribute);
  if (!in.ok()) return kFailed;
  return entry.attribute;
}

Attribute AttributeDecoder::Copy(uint64_t index, Cursor& in) {
  const Attribute& attribute = Get(index, in);
  if (!in.ok()) return {};
  budget_.Charge(entries_[size_t(index)].bytes, in);
  return attribute;
}

std::string AttributeDecoder::String(uint64_t index, Cursor& in) {
  const Attribute& attribute = Get(index, in);
  const auto* text = attribute.As<std::string>();
  if (text == nullptr) {
    in.Fail("attribute " + std::to_string(index) + " is no string");
    return {};
  }
  budget_.Charge(text->size(), in);
  return *text;
}

AttributeList AttributeDecoder::Dictionary(uint64_t index, Cursor& in) {
  Attribute attribute = Copy(index, in);
  auto* list = std::get_if<AttributeList>(&attribute.value);
  if (list != nullptr) return std::move(*list);
  in.Fail("attribute " + std::to_string(index) + " is no dictionary");
  return {};
}

Attribute AttributeDecoder::Decode(const Container::Entry& entry) {
  Cursor in = entry.data;
  if (!entry.custom) return {std::string(in.CString())};
  Attribute attribute;
  if (entry.dialect == "vhlo") {
    attribute = DecodeVhlo(in);
  } else if (entry.dialect == "builtin") {
    attribute = DecodeBuiltin(in);
  } else if (entry.dialect == "sdy") {
    attribute = DecodeSdy(in);
  } else {
    return {};
  }
  in.ExpectDone("an attribute");
  return attribute;
}

Attribute AttributeDecoder::DecodeBuiltin(Cursor& in) {
  switch (in.Varint()) {
    case BuiltinAttribute::kArray:
      return DecodeArray(in);
    case BuiltinAttribute::kDictionary:
      return DecodeDictionary(in);
    case BuiltinAttribute::kString:
      return DecodeString(in);
    case BuiltinAttribute::kStringWithType: {
      Attribute text = DecodeString(in);
      in.Varint();
      return text;
    }
    case BuiltinAttribute::kSymbol:
      return {String(in.Varint(), in)};
    case BuiltinAttribute::kType:
      return DecodeType(in);
    case BuiltinAttribute::kUnit:
      return {true};
    case BuiltinAttribute::kInteger:
      return DecodeInteger(in);
    case BuiltinAttribute::kFloat:
      return DecodeFloat(in);
    case BuiltinAttribute::kDenseArray:
      return DecodeDenseArray(in);
    case BuiltinAttribute::kDense:
      return DecodeTensor(in);
    default:
      return Skip(in);
  }
}

Attribute AttributeDecoder::DecodeVhlo(Cursor& in) {
  const uint64_t code = in.Varint();
  switch (code) {
    case VhloAttribute::kArray:
      return DecodeArray(in);
    case VhloAttribute::kBool:
      return {in.Varint() != 0};
    case VhloAttribute::kComparisonDirection:
    case VhloAttribute::kComparisonType:
    case VhloAttribute::kApiVersion:
    case VhloAttribute::kFftType:
    case VhloAttribute::kPrecision:
    case VhloAttribute::kRngAlgorithm:
    case VhloAttribute::kRngDistribution:
    case VhloAttribute::kTranspose:
    case VhloAttribute::kAccuracyMode:
      return Of(int64_t(in.Varint()));
    case VhloAttribute::kDictionary:
      return DecodeDictionary(in);
    case VhloAttribute::kFloat:
      return DecodeFloat(in);
    case VhloAttribute::kInteger:
      return DecodeInteger(in);
    case VhloAttribute::kAlias: {
      Ints output = DecodeInts(in);
      const int64_t operand = in.SignedVarint();
      return {AttributeList{{"output_tuple_indices", {std::move(output)}},
                            {"operand_index", {operand}},
                            {"operand_tuple_indices", {DecodeInts(in)}}}};
    }
    case VhloAttribute::kString:
      return DecodeString(in);
    case VhloAttribute::kTensor:
      return DecodeTensor(in);
    case VhloAttribute::kType:
      return DecodeType(in);
    case VhloAttribute::kTypeExtensions:
      return {DecodeInts(in)};
    case VhloAttribute::kAccuracy: {
      const double atol = FloatFromBits(DType::kF64, uint64_t(in.SignedVarint()));
      const double rtol = FloatFromBits(DType::kF64, uint64_t(in.SignedVarint()));
      const int64_t ulps = in.SignedVarint();
      return {AttributeList{
          {"atol", {atol}}, {"rtol", {rtol}}, {"ulps", {ulps}}, {"mode", Copy(in.Varint(), in)}}};
    }
    case VhloAttribute::kMeshReplicaGroups:
      return {AttributeList{{"mesh", Copy(in.Varint(), in)}, {"axes", Copy(in.Varint(), in)}}};
    case VhloAttribute::kSubAxis:
    case VhloAttribute::kAxisRef:
    case VhloAttribute::kMeshAxis:
    case VhloAttribute::kMesh:
      return Skip(in);  // parts of mesh replica groups
    default:
      in.Fail("VHLO's attribute number " + std::to_string(code) + " is unknown");
      return {};
  }
}

Attribute AttributeDecoder::DecodeString(Cursor& in) {
  const size_t i = in.Index(file_.strings.size(), "strings");
  return in.ok() ? Attribute{std::string(file_.strings[i])} : Attribute{};
}

Attribute AttributeDecoder::DecodeArray(Cursor& in) {
  std::vector<Attribute> list;
  for (size_t n = in.Count(); n > 0 && in.ok(); --n) list.push_back(Copy(in.Varint(), in));
  return {std::move(list)};
}

Attribute AttributeDecoder::DecodeDictionary(Cursor& in) {
  AttributeList list;
  for (size_t n = in.Count(2); n > 0 && in.ok(); --n) {
    std::string name = String(in.Varint(), in);
    list.push_back({std::move(name), Copy(in.Varint(), in)});
  }
  return {std::move(list)};
}

Attribute AttributeDecoder::DecodeInteger(Cursor& in) {
  const TypeDecoder::Decoded& type = types_.Get(in.Varint(), in);
  const size_t bits = TypeDecoder::ElementBits(type);
  const uint64_t value = ReadApInt(bits, in);
  if (bits == 1 && type.dtype == DType::kPred) return {(value & 1) != 0};
  if (bits == 0 || bits >= 64) return {int64_t(value), type.dtype};
  const int unused = 64 - int(bits);
  const bool is_unsigned = type.dtype && backend::IsUnsignedInt(*type.dtype);
  return {is_unsigned ? int64_t(value << unused >> unused) : int64_t(value << unused) >> unused,
          type.dtype};
}

Attribute AttributeDecoder::DecodeFloat(Cursor& in) {
  const TypeDecoder::Decoded& type = types_.Get(in.Varint(), in);
  const uint64_t bits = ReadApInt(TypeDecoder::ElementBits(type), in);
  if (!in.ok() || !type.dtype || !backend::IsFloat(*type.dtype)) return {};
  return {FloatFromBits(*type.dtype, bits), type.dtype};
}

// Numbers that are no tensor: element type, count, little-endian bytes.
Attribute AttributeDecoder::DecodeDenseArray(Cursor& in) {
  const TypeDecoder::Decoded& element = types_.Get(in.Varint(), in);
  const uint64_t count = in.Varint();
  const std::string_view raw = in.Blob();
  if (!in.ok() || !element.dtype) return {};
  const size_t width = backend::DTypeBytes(*element.dtype);
  if (raw.size() % width != 0 || raw.size() / width != count) {
    in.Fail(std::to_string(raw.size()) + " bytes for " + std::to_string(count) + " numbers");
    return {};
  }
  Literal literal;
  literal.type = Type::Tensor(*element.dtype, {int64_t(count)});
  const auto* bytes = reinterpret_cast<const std::byte*>(raw.data());
  literal.data = std::make_shared<const std::vector<std::byte>>(bytes, bytes + raw.size());
  if (!backend::IsInt(*element.dtype) && *element.dtype != DType::kPred)
    return {std::move(literal)};
  Ints ints(count);
  for (size_t i = 0; i < count; ++i) ints[i] = literal.IntAt(int64_t(i));
  return {std::move(ints), element.dtype};
}

Attribute AttributeDecoder::DecodeTensor(Cursor& in) {
  const Type& type = types_.ValueType(in.Varint(), in);
  const std::string_view raw = in.Blob();
  Literal literal = DecodeLiteral(type, raw, in);
  if (!in.ok()) return {};
  return {std::move(literal)};
}

// An element type is held as its spelling, since not all have a DType: tf32.
Attribute AttributeDecoder::DecodeType(Cursor& in) {
  const uint64_t index = in.Varint();
  const TypeDecoder::Decoded& decoded = types_.Get(index, in);
  if (decoded.is_element) return {decoded.spelling};
  return {types_.ValueType(index, in)};
}

Ints AttributeDecoder::DecodeInts(Cursor& in) {
  Ints ints(in.Count());
  for (int64_t& value : ints) value = in.SignedVarint();
  return ints;
}

}  // namespace PJRT_PLUGIN_NS::program
