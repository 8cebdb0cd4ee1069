#ifndef PROGRAM_OP_TABLE_H_
#define PROGRAM_OP_TABLE_H_

// What the specification says of each operation, as data: operands, results, regions and
// attributes. Built from ops.inc; reader, verifier and printer all go by it.
//
//   const OpInfo& info = InfoOf(OpCode::kReduce);
//   info.operands[1].name            -> "init_values", variadic
//   Operands(op, 0), Operands(op, 1) -> the inputs and the initial values of this reduce

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "generated/config.h"
#include "program/ir.h"

namespace PJRT_PLUGIN_NS::program {

// ---- Enumerations of the specification; attributes hold their values ----

enum class ComparisonDirection : int64_t { kEq, kNe, kGe, kGt, kLe, kLt };
// The reader replaces an absent type (kNone) by the one that the element type implies.
enum class ComparisonType : int64_t { kNone, kFloat, kTotalOrder, kSigned, kUnsigned };
enum class CustomCallApiVersion : int64_t {
  kUnspecified,
  kOriginal,
  kStatusReturning,
  kStatusReturningUnified,
  kTypedFfi,
};
enum class FftType : int64_t { kFft, kIfft, kRfft, kIrfft };
enum class Precision : int64_t { kDefault, kHigh, kHighest };
enum class ResultAccuracyMode : int64_t { kDefault, kHighest, kTolerance };
enum class RngAlgorithm : int64_t { kDefault, kThreeFry, kPhilox };
enum class RngDistribution : int64_t { kUniform = 1, kNormal = 2 };
enum class Transpose : int64_t { kInvalid, kNoTranspose, kTranspose, kAdjoint };

// ---- The table ----

// How an attribute is held in Attribute::value.
enum class AttrKind : uint8_t {
  kAny,       // anything
  kBool,      // bool
  kInt,       // int64_t
  kFloat,     // double
  kString,    // std::string
  kInts,      // Ints
  kRows,      // std::vector<Attribute>, each an Ints
  kList,      // std::vector<Attribute>
  kDict,      // AttributeList
  kLiteral,   // Literal
  kSharding,  // Sharding
  kAccuracy,  // AttributeList: atol, rtol, ulps, mode; never the default one, which is absent
  // Enumerations: int64_t.
  kComparisonDirection,
  kComparisonType,
  kCustomCallApiVersion,
  kFftType,
  kRngAlgorithm,
  kRngDistribution,
  kTranspose,
  kPrecisions,  // Ints, each a Precision
};

// "integer", "list of integers", ...: for messages.
std::string_view AttrKindName(AttrKind kind);
// The spelling of an enumeration's value ("EQ"); empty when the kind is none or the value is not of
// it.
std::string_view EnumName(AttrKind kind, int64_t value);
// The value of that spelling.
std::optional<int64_t> EnumValue(AttrKind kind, std::string_view name);

struct AttrInfo {
  std::string_view name;
  AttrKind kind = AttrKind::kAny;
  bool optional = false;
  int first_version = 1;  // VHLO versions of the op that store it
  int last_version = 1;
};

// An operand, result or region of an op, or a list of them.
struct SlotInfo {
  std::string_view name;
  bool variadic = false;
};

struct OpInfo {
  OpCode code = OpCode::kAbs;
  std::string_view name;
  int versions = 1;
  std::vector<SlotInfo> operands;
  std::vector<SlotInfo> results;
  std::vector<SlotInfo> regions;
  std::vector<AttrInfo> attributes;  // alphabetical
};

const OpInfo& InfoOf(OpCode code);
// By the name without dialect and version ("dot_general", "sdy.manual_computation"); null when
// there is none.
const OpInfo* FindOp(std::string_view name);
std::span<const OpInfo> AllOps();

// Whether `count` operands (results, regions) can be dealt out to the slots.
bool Fits(std::span<const SlotInfo> slots, size_t count);
// The operands of slot `slot` of InfoOf(op.code).operands: one, or the list when variadic. Only for
// verified ops.
std::span<Value* const> Operands(const Op& op, size_t slot);

// Whether the op does something beyond computing its results, so that it may be neither removed nor
// merged.
bool HasSideEffect(const Op& op);

}  // namespace PJRT_PLUGIN_NS::program

#endif  // PROGRAM_OP_TABLE_H_
