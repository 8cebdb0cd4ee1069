#include "program/op_table.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <unordered_map>
#include <utility>

namespace PJRT_PLUGIN_NS::program {
namespace {

struct KindInfo {
  std::string_view spelling;     // in ops.inc
  std::string_view description;  // in messages
  std::vector<std::pair<std::string_view, int64_t>> values;
};

// In the order of AttrKind.
const std::array<KindInfo, size_t(AttrKind::kPrecisions) + 1>& Kinds() {
  static const auto kinds = std::array<KindInfo, size_t(AttrKind::kPrecisions) + 1>{{
      {"Any", "attribute", {}},
      {"Bool", "boolean", {}},
      {"Int", "integer", {}},
      {"Float", "number", {}},
      {"String", "string", {}},
      {"Ints", "list of integers", {}},
      {"Rows", "list of lists of integers", {}},
      {"List", "list", {}},
      {"Dict", "dictionary", {}},
      {"Literal", "constant tensor", {}},
      {"Sharding", "sharding", {}},
      {"Accuracy", "result accuracy", {}},
      {"ComparisonDirection",
       "comparison direction",
       {{"EQ", 0}, {"NE", 1}, {"GE", 2}, {"GT", 3}, {"LE", 4}, {"LT", 5}}},
      {"ComparisonType",
       "comparison type",
       {{"NOTYPE", 0}, {"FLOAT", 1}, {"TOTALORDER", 2}, {"SIGNED", 3}, {"UNSIGNED", 4}}},
      {"CustomCallApiVersion",
       "custom call API version",
       {{"API_VERSION_UNSPECIFIED", 0},
        {"API_VERSION_ORIGINAL", 1},
        {"API_VERSION_STATUS_RETURNING", 2},
        {"API_VERSION_STATUS_RETURNING_UNIFIED", 3},
        {"API_VERSION_TYPED_FFI", 4}}},
      {"FftType", "FFT type", {{"FFT", 0}, {"IFFT", 1}, {"RFFT", 2}, {"IRFFT", 3}}},
      {"RngAlgorithm", "RNG algorithm", {{"DEFAULT", 0}, {"THREE_FRY", 1}, {"PHILOX", 2}}},
      {"RngDistribution", "RNG distribution", {{"UNIFORM", 1}, {"NORMAL", 2}}},
      {"Transpose",
       "transpose",
       {{"TRANSPOSE_INVALID", 0}, {"NO_TRANSPOSE", 1}, {"TRANSPOSE", 2}, {"ADJOINT", 3}}},
      {"Precisions", "list of precisions", {{"DEFAULT", 0}, {"HIGH", 1}, {"HIGHEST", 2}}},
  }};
  return kinds;
}

// Cuts the next word off `text`; empty at the end.
std::string_view NextWord(std::string_view& text) {
  const size_t begin = std::min(text.find_first_not_of(' '), text.size());
  const size_t end = std::min(text.find(' ', begin), text.size());
  std::string_view word = text.substr(begin, end - begin);
  text.remove_prefix(end);
  return word;
}

std::vector<SlotInfo> ParseSlots(std::string_view text) {
  std::vector<SlotInfo> slots;
  for (std::string_view word; !(word = NextWord(text)).empty();) {
    const bool variadic = word.back() == '*';
    slots.push_back({word.substr(0, word.size() - variadic), variadic});
  }
  return slots;
}

AttrInfo ParseAttribute(std::string_view word, int versions) {
  AttrInfo info;
  info.last_version = versions;
  const size_t colon = word.find(':');
  info.name = word.substr(0, colon);
  std::string_view kind = word.substr(colon + 1);
  if (size_t at = kind.find('@'); at != kind.npos) {
    const int version = kind[at + 1] - '0';
    const bool onward = kind.back() == '+';
    info.first_version = onward ? version : 1;
    info.last_version = onward ? versions : version;
    kind = kind.substr(0, at);
  }
  info.optional = kind.back() == '?';
  kind.remove_suffix(info.optional);
  const auto& kinds = Kinds();
  const auto found = std::find_if(kinds.begin(), kinds.end(),
                                  [&](const KindInfo& one) { return one.spelling == kind; });
  assert(found != kinds.end() && "ops.inc names an unknown kind of attribute");
  info.kind = AttrKind(found - kinds.begin());
  return info;
}

OpInfo ParseOp(OpCode code, std::string_view name, int versions, std::string_view operands,
               std::string_view results, std::string_view regions, std::string_view attributes) {
  OpInfo info{code, name, versions, ParseSlots(operands), ParseSlots(results), ParseSlots(regions),
              {}};
  for (std::string_view word; !(word = NextWord(attributes)).empty();)
    info.attributes.push_back(ParseAttribute(word, versions));
  return info;
}

const std::vector<OpInfo>& Table() {
  static const std::vector<OpInfo> table = {
#define PJRT_PLUGIN_OP(code, name, versions, operands, results, regions, attributes) \
  ParseOp(OpCode::code, name, versions, operands, results, regions, attributes),
#include "program/ops.inc"
#undef PJRT_PLUGIN_OP
  };
  return table;
}

}  // namespace

std::string_view AttrKindName(AttrKind kind) { return Kinds()[size_t(kind)].description; }

std::string_view EnumName(AttrKind kind, int64_t value) {
  for (const auto& [name, number] : Kinds()[size_t(kind)].values)
    if (number == value) return name;
  return {};
}

std::optional<int64_t> EnumValue(AttrKind kind, std::string_view name) {
  for (const auto& [spelling, number] : Kinds()[size_t(kind)].values)
    if (spelling == name) return number;
  return std::nullopt;
}

const OpInfo& InfoOf(OpCode code) { return Table()[size_t(code)]; }

const OpInfo* FindOp(std::string_view name) {
  static const auto by_name = [] {
    std::unordered_map<std::string_view, const OpInfo*> map;
    for (const OpInfo& info : Table()) map.emplace(info.name, &info);
    return map;
  }();
  const auto found = by_name.find(name);
  return found == by_name.end() ? nullptr : found->second;
}

std::span<const OpInfo> AllOps() { return Table(); }

bool Fits(std::span<const SlotInfo> slots, size_t count) {
  const size_t lists = size_t(std::count_if(slots.begin(), slots.end(),
                                            [](const SlotInfo& slot) { return slot.variadic; }));
  const size_t single = slots.size() - lists;
  if (lists == 0) return count == single;
  return count >= single && (count - single) % lists == 0;
}

std::span<Value* const> Operands(const Op& op, size_t slot) {
  const std::vector<SlotInfo>& slots = InfoOf(op.code).operands;
  const size_t lists = size_t(
      std::count_if(slots.begin(), slots.end(), [](const SlotInfo& one) { return one.variadic; }));
  const size_t length = lists == 0 ? 0 : (op.operands.size() - (slots.size() - lists)) / lists;
  size_t begin = 0;
  for (size_t i = 0; i < slot; ++i) begin += slots[i].variadic ? length : 1;
  return std::span(op.operands).subspan(begin, slots[slot].variadic ? length : 1);
}

bool HasSideEffect(const Op& op) {
  switch (op.code) {
    case OpCode::kReturn:
    case OpCode::kCall:  // its function may hold such an op
    case OpCode::kComposite:
    case OpCode::kInfeed:
    case OpCode::kOutfeed:
    case OpCode::kSend:
    case OpCode::kRecv:
    case OpCode::kRng:  // draws from a hidden state
    case OpCode::kAsyncStart:
    case OpCode::kAsyncDone:
    // Collectives: every participant has to take part.
    case OpCode::kAllGather:
    case OpCode::kAllReduce:
    case OpCode::kAllToAll:
    case OpCode::kCollectiveBroadcast:
    case OpCode::kCollectivePermute:
    case OpCode::kCollectiveReduce:
    case OpCode::kCrossReplicaSum:
    case OpCode::kReduceScatter:
      return true;
    case OpCode::kCustomCall:
      return op.Bool("has_side_effect");
    default:
      break;
  }
  for (const auto& region : op.regions)
    for (const auto& inner : region->ops)
      if (inner->code != OpCode::kReturn && HasSideEffect(*inner)) return true;
  return false;
}

}  // namespace PJRT_PLUGIN_NS::program
