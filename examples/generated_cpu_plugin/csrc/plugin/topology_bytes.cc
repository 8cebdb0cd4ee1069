#include "plugin/topology_bytes.h"

#include <limits>
#include <utility>
#include <variant>

#include "plugin/attributes.h"
#include "plugin/client.h"
#include "plugin/proto.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

// PjRtTopologyDescriptionProto: platform_name 2, platform_version 3, platform_specific_topology 9,
// which is a google.protobuf.Any of type_url 1 and value 2. The value is a message of ours:
//   devices 1: id 1, process 2, kind 3, debug_string 4, to_string 5, attributes 6:
//     name 1, and one of string 2, integer 3, integers 4
constexpr char kTypeUrl[] = "pjrt-scaffold/Topology";

std::string WriteAttribute(const backend::Attribute& attribute) {
  std::string out;
  PutBytes(1, attribute.name, &out);
  if (const auto* text = std::get_if<std::string>(&attribute.value)) PutBytes(2, *text, &out);
  if (const auto* number = std::get_if<int64_t>(&attribute.value)) PutVarint(3, *number, &out);
  if (const auto* list = std::get_if<std::vector<int64_t>>(&attribute.value)) {
    PutPacked(4, *list, &out);
  }
  return out;
}

std::string WriteDevice(const backend::DeviceInfo& info) {
  std::string out;
  PutVarint(1, info.id, &out);
  PutVarint(2, info.process_index, &out);
  PutBytes(3, info.kind, &out);
  PutBytes(4, info.debug_string, &out);
  PutBytes(5, info.to_string, &out);
  for (const backend::Attribute& attribute : DeviceAttributes(info.attributes)) {
    PutBytes(6, WriteAttribute(attribute), &out);
  }
  return out;
}

bool ReadAttribute(std::string_view bytes, std::vector<backend::Attribute>* attributes) {
  backend::Attribute attribute;
  ProtoReader reader(bytes);
  while (reader.Next()) {
    if (reader.field() == 1 && reader.is_bytes()) attribute.name = reader.bytes();
    if (reader.field() == 2 && reader.is_bytes()) attribute.value = std::string(reader.bytes());
    if (reader.field() == 3 && reader.is_varint()) attribute.value = int64_t(reader.varint());
    if (reader.field() == 4 && reader.is_bytes()) {
      std::vector<int64_t> list;
      reader.AppendTo(&list);
      attribute.value = std::move(list);
    }
  }
  attributes->push_back(std::move(attribute));
  return reader.ok();
}

bool ReadInt(const ProtoReader& reader, int* value) {
  if (!reader.is_varint() || reader.varint() > uint64_t(std::numeric_limits<int>::max())) {
    return false;
  }
  *value = int(reader.varint());
  return true;
}

bool ReadDevice(std::string_view bytes, std::vector<backend::DeviceInfo>* devices) {
  backend::DeviceInfo info;
  info.id = -1;
  info.local_hardware_id = -1;
  bool good = true;
  ProtoReader reader(bytes);
  while (good && reader.Next()) {
    switch (reader.field()) {
      case 1:
        good = ReadInt(reader, &info.id);
        break;
      case 2:
        good = ReadInt(reader, &info.process_index);
        break;
      case 3:
        info.kind = reader.bytes();
        break;
      case 4:
        info.debug_string = reader.bytes();
        break;
      case 5:
        info.to_string = reader.bytes();
        break;
      case 6:
        good = ReadAttribute(reader.bytes(), &info.attributes);
        break;
    }
  }
  const int last = devices->empty() ? -1 : devices->back().id;
  good = good && reader.ok() && info.id > last;
  devices->push_back(std::move(info));
  return good;
}

}  // namespace

std::string WriteTopology(const Client& client) {
  std::string devices;
  for (const Device* device : client.devices) {
    PutBytes(1, WriteDevice(device->impl->info()), &devices);
  }
  std::string any;
  PutBytes(1, kTypeUrl, &any);
  PutBytes(2, devices, &any);
  std::string out;
  PutBytes(2, kPlatformName, &out);
  PutBytes(3, client.platform_version, &out);
  PutBytes(9, any, &out);
  return out;
}

Result<std::vector<backend::DeviceInfo>> ReadTopology(std::string_view bytes,
                                                      const char* function) {
  std::string_view platform, any, type_url, value;
  ProtoReader outer(bytes);
  while (outer.Next()) {
    if (outer.field() == 2) platform = outer.bytes();
    if (outer.field() == 9) any = outer.bytes();
  }
  if (!outer.ok() || platform != kPlatformName) {
    return InvalidArgument(std::string(function) + ": the bytes are no topology of platform " +
                           kPlatformName +
                           (outer.ok() ? ", but of \"" + std::string(platform) + "\"" : ""));
  }
  ProtoReader middle(any);
  while (middle.Next()) {
    if (middle.field() == 1) type_url = middle.bytes();
    if (middle.field() == 2) value = middle.bytes();
  }
  std::vector<backend::DeviceInfo> devices;
  bool good = middle.ok() && type_url == kTypeUrl;
  ProtoReader inner(value);
  while (good && inner.Next()) {
    if (inner.field() == 1) good = ReadDevice(inner.bytes(), &devices);
  }
  if (!good || !inner.ok() || devices.empty()) {
    return InvalidArgument(std::string(function) +
                           ": the topology is damaged, or of another version of this plugin; "
                           "serialize it anew");
  }
  return devices;
}

}  // namespace PJRT_PLUGIN_NS::plugin
