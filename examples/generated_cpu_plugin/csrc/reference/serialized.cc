#include "reference/serialized.h"

#include <cstdint>
#include <cstdio>
#include <cstring>

namespace PJRT_PLUGIN_NS::reference {
namespace {

// Raised whenever the same program may get another plan or other results.
constexpr char kPlanVersion[] = "2";
constexpr std::string_view kMagic = "reference executable\n";

void AppendNumber(std::string& out, uint32_t number) {
  for (int shift = 0; shift < 32; shift += 8) out.push_back(char((number >> shift) & 0xff));
}

bool TakeNumber(std::string_view& in, uint32_t& number) {
  if (in.size() < 4) return false;
  number = 0;
  for (size_t i = 0; i < 4; ++i) number |= uint32_t(uint8_t(in[i])) << (8 * i);
  in.remove_prefix(4);
  return true;
}

uint64_t Hash(std::string_view bytes, uint64_t seed) {
  // FNV-1a, with the bits spread at the end.
  uint64_t hash = 0xcbf29ce484222325u ^ seed;
  for (char c : bytes) hash = (hash ^ uint8_t(c)) * 0x100000001b3u;
  hash ^= hash >> 32;
  hash *= 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 29);
}

}  // namespace

std::string_view BuildId() {
  static const std::string id =
      std::string(kPluginName) + " " + kPluginVersion + " plan " + kPlanVersion;
  return id;
}

std::string Serialize(const Partitioning& partitioning, std::string_view code) {
  std::string out(kMagic);
  AppendNumber(out, uint32_t(BuildId().size()));
  out += BuildId();
  AppendNumber(out, uint32_t(partitioning.num_replicas));
  AppendNumber(out, uint32_t(partitioning.num_partitions));
  out += code;
  return out;
}

backend::Result<SerializedProgram> Deserialize(std::string_view bytes) {
  const backend::Status foreign = backend::InvalidArgument(
      "the " + std::to_string(bytes.size()) + " bytes are no serialized executable of " +
      kPluginName + ", or they are cut off; compile the program again");
  if (!bytes.starts_with(kMagic)) return foreign;
  bytes.remove_prefix(kMagic.size());
  uint32_t length = 0, replicas = 0, partitions = 0;
  if (!TakeNumber(bytes, length) || bytes.size() < length) return foreign;
  std::string_view build = bytes.substr(0, length);
  bytes.remove_prefix(length);
  if (build != BuildId())
    return backend::FailedPrecondition("the executable was serialized by the build '" +
                                       std::string(build) + "', this is '" +
                                       std::string(BuildId()) + "'; compile the program again");
  if (!TakeNumber(bytes, replicas) || !TakeNumber(bytes, partitions) || replicas == 0 ||
      partitions == 0 || replicas > 1u << 16 || partitions > 1u << 16)
    return foreign;
  return SerializedProgram{{int(replicas), int(partitions)}, std::string(bytes)};
}

std::string FingerprintOf(std::string_view serialized) {
  char text[33];
  std::snprintf(text, sizeof(text), "%016llx%016llx",
                static_cast<unsigned long long>(Hash(serialized, 0)),
                static_cast<unsigned long long>(Hash(serialized, 0x5bd1e995)));
  return text;
}

}  // namespace PJRT_PLUGIN_NS::reference
