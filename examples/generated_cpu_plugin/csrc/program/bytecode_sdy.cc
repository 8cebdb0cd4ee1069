// Shardy's attributes: meshes and shardings. They refer to their parts by entry, except names,
// which are strings of the file.

#include <utility>

#include "program/bytecode_attributes.h"

namespace PJRT_PLUGIN_NS::program {
namespace {

enum SdyCode : uint64_t {
  kManualAxes = 0,
  kMeshAxis = 1,
  kMesh = 2,
  kSubAxis = 3,
  kAxisRef = 4,
  kDimSharding = 5,
  kSharding = 6,
  kShardings = 7,
  kShardingUnreduced = 15,
  kShardingsUnreduced = 16,
  kShardingReduction = 17,
};

}  // namespace

Attribute AttributeDecoder::DecodeSdy(Cursor& in) {
  const uint64_t code = in.Varint();
  switch (code) {
    case kManualAxes:
    case kShardings:
    case kShardingsUnreduced:
      return DecodeArray(in);
    case kSharding:
    case kShardingUnreduced:
    case kShardingReduction:
      return {DecodeSharding(code, in)};
    default:
      in.Bytes(in.left());  // parts of the above, and rules for partitioners
      return {};
  }
}

// The data of attribute `index` after its code, which has to be `code`.
Cursor AttributeDecoder::SdyEntry(uint64_t index, uint64_t code, Cursor& in) {
  const size_t i = in.CheckedIndex(index, file_.attributes.size(), "attributes");
  if (!in.ok()) return in;
  const Container::Entry& entry = file_.attributes[i];
  Cursor data = entry.data;
  if (entry.dialect != "sdy" || !entry.custom || data.Varint() != code)
    in.Fail("attribute " + std::to_string(i) + " is not the part of a sharding that it should be");
  return data;
}

std::string AttributeDecoder::SdyString(Cursor& in) {
  const size_t i = in.Index(file_.strings.size(), "strings");
  if (!in.ok()) return {};
  budget_.Charge(sizeof(AxisRef) + file_.strings[i].size(), in);
  return std::string(file_.strings[i]);
}

AxisRef AttributeDecoder::GetAxisRef(uint64_t index, Cursor& in) {
  AxisRef axis;
  Cursor data = SdyEntry(index, kAxisRef, in);
  axis.name = SdyString(data);
  const auto [part, has_part] = data.FlaggedVarint();
  if (has_part && data.ok()) {
    Cursor sub = SdyEntry(part, kSubAxis, data);
    axis.pre_size = sub.SignedVarint();
    axis.size = sub.SignedVarint();
    sub.ExpectDone("a part of an axis");
  }
  data.ExpectDone("an axis");
  return axis;
}

std::vector<AxisRef> AttributeDecoder::GetAxisRefs(Cursor& in) {
  std::vector<AxisRef> axes;
  for (size_t n = in.Count(); n > 0 && in.ok(); --n) axes.push_back(GetAxisRef(in.Varint(), in));
  return axes;
}

DimSharding AttributeDecoder::GetDimSharding(uint64_t index, Cursor& in) {
  DimSharding dim;
  Cursor data = SdyEntry(index, kDimSharding, in);
  budget_.Charge(sizeof(DimSharding), data);
  dim.axes = GetAxisRefs(data);
  dim.closed = data.Byte() != 0;
  const auto [priority, has_priority] = data.FlaggedVarint();
  if (has_priority) dim.priority = int64_t(priority);
  data.ExpectDone("the sharding of a dimension");
  return dim;
}

Sharding AttributeDecoder::DecodeSharding(uint64_t code, Cursor& in) {
  Sharding sharding;
  const uint64_t mesh = in.Varint();
  const size_t i = in.CheckedIndex(mesh, file_.attributes.size(), "attributes");
  if (!in.ok()) return sharding;
  if (file_.attributes[i].dialect == "sdy") {
    sharding.inlined_mesh = GetMesh(mesh, in);
  } else {
    sharding.mesh = String(mesh, in);
  }
  for (size_t n = in.Count(); n > 0 && in.ok(); --n)
    sharding.dims.push_back(GetDimSharding(in.Varint(), in));
  sharding.replicated = GetAxisRefs(in);
  if (code != kSharding) sharding.unreduced = GetAxisRefs(in);
  if (code == kShardingReduction) in.SignedVarint();  // how the unreduced axes are to be reduced
  return sharding;
}

Mesh AttributeDecoder::GetMesh(uint64_t index, Cursor& in) {
  Mesh mesh;
  Cursor data = SdyEntry(index, kMesh, in);
  for (size_t n = data.Count(); n > 0 && data.ok(); --n) {
    Cursor axis = SdyEntry(data.Varint(), kMeshAxis, data);
    std::string name = SdyString(axis);
    mesh.axes.emplace_back(std::move(name), axis.SignedVarint());
    axis.ExpectDone("an axis of a mesh");
  }
  mesh.device_ids = DecodeInts(data);
  data.ExpectDone("a mesh");
  return mesh;
}

}  // namespace PJRT_PLUGIN_NS::program
