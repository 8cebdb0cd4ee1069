#include "plugin/sharding.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "plugin/proto.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

constexpr uint32_t kType = 1;
constexpr uint32_t kTileDimensions = 3;
constexpr uint32_t kTileDevices = 4;
constexpr uint32_t kReplicateOnLastTileDim = 6;

constexpr int64_t kReplicated = 0;
constexpr int64_t kOther = 3;  // tiled

}  // namespace

std::string WriteOpSharding(const backend::Sharding& sharding) {
  std::string out;
  int64_t parts = 1;
  for (int64_t tiles : sharding.tiles) parts *= tiles;
  if (parts <= 1) {
    PutVarint(kType, kReplicated, &out);
    return out;
  }
  const int64_t copies = std::max<int64_t>(int64_t(sharding.devices.size()) / parts, 1);
  std::vector<int64_t> dimensions = sharding.tiles;
  if (copies > 1) dimensions.push_back(copies);
  PutVarint(kType, kOther, &out);
  PutPacked(kTileDimensions, dimensions, &out);
  PutPacked(kTileDevices, sharding.devices, &out);
  if (copies > 1) PutVarint(kReplicateOnLastTileDim, 1, &out);
  return out;
}

}  // namespace PJRT_PLUGIN_NS::plugin
