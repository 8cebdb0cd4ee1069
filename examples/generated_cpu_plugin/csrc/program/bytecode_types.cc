#include "program/bytecode_types.h"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace PJRT_PLUGIN_NS::program {
namespace {

constexpr int kMaxTypeDepth = 64;

// Element types by VHLO's type code; empty: none.
constexpr std::string_view kVhloElements[] = {
    "i1",       "",         "bf16",     "f16",        "f32",        "f64",
    "f8E4M3FN", "f8E5M2",   "",         "index",      "i4",         "i8",
    "i16",      "i32",      "i64",      "ui4",        "ui8",        "ui16",
    "ui32",     "ui64",     "",         "",           "",           "",
    "",         "",         "",         "f8E4M3FNUZ", "f8E5M2FNUZ", "f8E4M3B11FNUZ",
    "",         "i2",       "ui2",      "",           "tf32",       "f8E4M3",
    "f8E3M4",   "f4E2M1FN", "f6E2M3FN", "f6E3M2FN",   "f8E8M0FNU",
};

// By builtin's type code.
constexpr std::string_view kBuiltinElements[] = {
    "",       "index",    "",         "bf16",     "f16",        "f32",        "f64",
    "f80",    "f128",     "",         "",         "",           "",           "",
    "",       "",         "",         "",         "",           "",           "",
    "tf32",   "f8E5M2",   "f8E4M3",   "f8E4M3FN", "f8E5M2FNUZ", "f8E4M3FNUZ", "f8E4M3B11FNUZ",
    "f8E3M4", "f4E2M1FN", "f6E2M3FN", "f6E3M2FN", "f8E8M0FNU",
};

// VHLO's types and MLIR's own, by the numbers of their encodings.
struct VhloType {
  enum : uint64_t {
    kComplex = 1,
    kFunction = 8,
    kTensor = 20,
    kTensorWithEncoding = 21,
    kToken = 22,
    kTuple = 23,
    kQuantized = 24,
    kUnranked = 25,
    kQuantizedPerAxis = 30,
    kNone = 33,
  };
};

struct BuiltinType {
  enum : uint64_t {
    kInteger = 0,
    kFunction = 2,
    kComplex = 9,
    kNone = 12,
    kTensor = 13,
    kTensorWithEncoding = 14,
    kTuple = 15,
  };
};

template <size_t N>
std::string_view At(const std::string_view (&names)[N], uint64_t i) {
  return i < N ? names[i] : std::string_view();
}

}  // namespace

const TypeDecoder::Decoded& TypeDecoder::Get(uint64_t index, Cursor& in) {
  static const Decoded kFailed;
  const size_t i = in.CheckedIndex(index, entries_.size(), "types");
  if (!in.ok()) return kFailed;
  Decoded& entry = entries_[i];
  if (entry.state == Decoded::kRead) return entry;
  if (entry.state == Decoded::kReading || depth_ >= kMaxTypeDepth) {
    in.Fail("type " + std::to_string(i) + " contains itself, or too deep a nest");
    return kFailed;
  }
  entry.state = Decoded::kReading;
  ++depth_;
  Decode(entry, file_.types[i]);
  --depth_;
  entry.state = Decoded::kRead;
  return in.ok() ? entry : kFailed;
}

const Type& TypeDecoder::ValueType(uint64_t index, Cursor& in) {
  const Decoded& entry = Get(index, in);
  if (entry.is_element) in.Fail("type " + entry.spelling + " where a tensor's is needed");
  budget_.Charge(entry.bytes, in);
  return entry.type;
}

size_t TypeDecoder::ElementBits(const Decoded& element) {
  if (element.dtype) return backend::DTypeBits(*element.dtype);
  if (element.spelling == "index") return 64;
  if (element.spelling == "tf32") return 19;
  const std::string_view digits =
      std::string_view(element.spelling)
          .substr(std::min(element.spelling.find_first_of("0123456789"), element.spelling.size()));
  size_t bits = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), bits);
  return element.is_element ? bits : 0;
}

void TypeDecoder::Decode(Decoded& out, const Container::Entry& entry) {
  Cursor in = entry.data;
  if (!entry.custom) {
    // Assembly text: older producers write the small floats of MLIR's own types so.
    SetElement(out, std::string(in.CString()));
  } else if (entry.dialect == "vhlo") {
    DecodeVhlo(out, in);
  } else if (entry.dialect == "builtin") {
    DecodeBuiltin(out, in);
  } else if (entry.dialect == "stablehlo" && in.Varint() == 0) {
    out.type = Type::Token();
  } else {
    return Unsupported("a type of dialect " + std::string(entry.dialect));
  }
  in.ExpectDone("a type");
  out.bytes += sizeof(Type);
}

void TypeDecoder::DecodeVhlo(Decoded& out, Cursor& in) {
  const uint64_t code = in.Varint();
  if (std::string_view element = At(kVhloElements, code); !element.empty())
    return SetElement(out, std::string(element));
  switch (code) {
    case VhloType::kComplex:
      return SetElement(out, "complex<" + Get(in.Varint(), in).spelling + ">");
    case VhloType::kFunction:
      return DecodeList(out, in, TypeKind::kFunction);
    case VhloType::kTensorWithEncoding:
      in.Varint();  // bounds of dynamic dimensions: a hint
      return DecodeTensor(out, in);
    case VhloType::kTensor:
      return DecodeTensor(out, in);
    case VhloType::kToken:
      out.type = Type::Token();
      return;
    case VhloType::kTuple:
      return DecodeList(out, in, TypeKind::kTuple);
    case VhloType::kNone:
      return;
    case VhloType::kQuantized:
    case VhloType::kQuantizedPerAxis:
      return Unsupported("a quantized type");
    case VhloType::kUnranked:
      return Unsupported("a tensor of unknown rank");
    default:
      return Unsupported("VHLO's type number " + std::to_string(code));
  }
}

void TypeDecoder::DecodeBuiltin(Decoded& out, Cursor& in) {
  const uint64_t code = in.Varint();
  if (std::string_view element = At(kBuiltinElements, code); !element.empty())
    return SetElement(out, std::string(element));
  switch (code) {
    case BuiltinType::kInteger: {
      const uint64_t width_and_sign = in.Varint();
      static constexpr std::string_view kSigns[] = {"i", "si", "ui", "?"};
      return SetElement(
          out, std::string(kSigns[width_and_sign & 3]) + std::to_string(width_and_sign >> 2));
    }
    case BuiltinType::kComplex:
      return SetElement(out, "complex<" + Get(in.Varint(), in).spelling + ">");
    case BuiltinType::kFunction:
      return DecodeList(out, in, TypeKind::kFunction);
    case BuiltinType::kTensorWithEncoding:
      in.Varint();
      return DecodeTensor(out, in);
    case BuiltinType::kTensor:
      return DecodeTensor(out, in);
    case BuiltinType::kTuple:
      return DecodeList(out, in, TypeKind::kTuple);
    case BuiltinType::kNone:
      return;
    default:
      return Unsupported("MLIR's type number " + std::to_string(code));
  }
}

void TypeDecoder::DecodeTensor(Decoded& out, Cursor& in) {
  const size_t rank = in.Count();
  out.type.kind = TypeKind::kTensor;
  out.type.dims.reserve(rank);
  int64_t elements = 1;
  for (size_t i = 0; i < rank && in.ok(); ++i) {
    const int64_t dim = in.SignedVarint();
    if (dim != kDynamic && dim < 0) in.Fail("a dimension of size " + std::to_string(dim));
    if (dim > 0 && dim > kMaxElements / elements) in.Fail("a tensor of over 2^56 elements");
    if (dim > 0 && in.ok()) elements *= dim;
    out.type.dims.push_back(dim);
  }
  const Decoded& element = Get(in.Varint(), in);
  if (!in.ok()) return;
  // MLIR's index occurs in attributes only (the layouts of a custom_call), where it has 64 bits.
  const bool is_index = element.spelling == "index";
  if (!element.dtype && !is_index) {
    return Unsupported(element.is_element ? "element type " + element.spelling
                                          : "a tensor of something other than numbers");
  }
  out.type.dtype = is_index ? backend::DType::kS64 : *element.dtype;
  out.bytes = rank * sizeof(int64_t);
}

// A tuple's types, or a function's inputs and results.
void TypeDecoder::DecodeList(Decoded& out, Cursor& in, TypeKind kind) {
  out.type.kind = kind;
  for (int list = 0; list < (kind == TypeKind::kFunction ? 2 : 1); ++list) {
    if (list == 1) out.type.num_inputs = out.type.elements.size();
    for (size_t n = in.Count(); n > 0 && in.ok(); --n) {
      const uint64_t index = in.Varint();
      const Type& type = ValueType(index, in);
      if (!in.ok()) return;
      out.type.elements.push_back(type);
      out.bytes += Get(index, in).bytes;
    }
  }
}

void TypeDecoder::SetElement(Decoded& out, std::string spelling) {
  out.is_element = true;
  out.dtype = DTypeByName(spelling);
  out.spelling = std::move(spelling);
}

void TypeDecoder::Unsupported(std::string_view what) {
  if (status_.ok())
    status_ = backend::Unimplemented(std::string(what) +
                                     " in the program; tensors, tokens and tuples of the element "
                                     "types that StableHLO shares with PJRT are read");
}

}  // namespace PJRT_PLUGIN_NS::program
