#include "reference/split.h"

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "testing/test.h"

namespace PJRT_PLUGIN_NS::reference {
namespace {

using program::AxisRef;
using program::Mesh;
using program::Sharding;

constexpr Partitioning kFour = {.num_replicas = 1, .num_partitions = 4};

Mesh MeshOf(std::vector<std::pair<std::string, int64_t>> axes,
            std::vector<int64_t> device_ids = {}) {
  return {"m", std::move(axes), std::move(device_ids)};
}

// Of an 8x8 tensor whose rows and columns are split by these.
Result<std::optional<Split>> SplitBy(Mesh mesh, std::vector<AxisRef> rows,
                                     std::vector<AxisRef> columns) {
  program::Module module;
  module.meshes.push_back(std::move(mesh));
  Sharding sharding;
  sharding.mesh = "m";
  sharding.dims.resize(2);
  sharding.dims[0].axes = std::move(rows);
  sharding.dims[1].axes = std::move(columns);
  return SplitOf(module, kFour, sharding, {8, 8});
}

TEST(Split, PartsOfAnAxisSplitTwoDimensions) {
  auto split = SplitBy(MeshOf({{"x", 4}}), {{"x", 1, 2}}, {{"x", 2, 2}});
  ASSERT_TRUE(split.ok() && split->has_value());
  EXPECT_EQ((*split)->tiles, (Dims{2, 2}));
  EXPECT_EQ((*split)->local_dims, (Dims{4, 4}));
  EXPECT_EQ((*split)->starts, (std::vector<Dims>{{0, 0}, {0, 4}, {4, 0}, {4, 4}}));
}

TEST(Split, DevicesInAnotherOrder) {
  auto split = SplitBy(MeshOf({{"x", 2}, {"y", 2}}, {3, 2, 1, 0}), {{"x"}}, {});
  ASSERT_TRUE(split.ok() && split->has_value());
  EXPECT_EQ((*split)->starts, (std::vector<Dims>{{4, 0}, {4, 0}, {0, 0}, {0, 0}}));
}

// What a program says is not to be trusted: starts outside of a tensor would be read there.
TEST(Split, RefusesWhatTheMeshDoesNotHave) {
  constexpr int64_t kHuge = int64_t{1} << 32;
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  const Mesh x = MeshOf({{"x", 4}});
  const AxisRef strange[] = {{"y"},          {"y", 1, 2},   {"x", 0, 2},  {"x", 4, 2},
                             {"x", 1, 3},    {"x", -1, -2}, {"x", 1, -2}, {"x", 1, kHuge},
                             {"x", kMax, 2}, {"x", 1, kMax}};
  for (const AxisRef& axis : strange) {
    auto split = SplitBy(x, {axis}, {});
    EXPECT_TRUE(split.status().code() == backend::Code::kInvalidArgument);
    EXPECT_CONTAINS(split.status().message(), "'" + axis.name + "'");
  }
  const Mesh meshes[] = {MeshOf({{"x", -2}, {"y", -2}}), MeshOf({{"x", 0}}),
                         MeshOf({{"x", kHuge}, {"y", kHuge}, {"z", 4}})};
  for (const Mesh& mesh : meshes) {
    auto split = SplitBy(mesh, {}, {{"x"}});
    EXPECT_TRUE(split.status().code() == backend::Code::kInvalidArgument);
  }
}

// Some parts would be nobody's, and the whole have holes.
TEST(Split, RefusesAnAxisOrADeviceTwice) {
  const Mesh xy = MeshOf({{"x", 2}, {"y", 2}});
  const Mesh one_device = MeshOf({{"x", 2}, {"y", 2}}, {7, -1, 0, 0});
  const Result<std::optional<Split>> splits[] = {SplitBy(xy, {{"x"}}, {{"x"}}),
                                                 SplitBy(xy, {{"x"}, {"x"}, {"y"}}, {}),
                                                 SplitBy(one_device, {{"x"}}, {{"y"}})};
  for (const auto& split : splits) {
    EXPECT_TRUE(split.status().code() == backend::Code::kInvalidArgument);
    EXPECT_CONTAINS(split.status().message(), "twice");
  }
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::reference
