#include "reference/split.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "program/pass_spmd.h"

namespace PJRT_PLUGIN_NS::reference {
namespace {

using program::AxisRef;
using program::Mesh;

constexpr int64_t kMaxPlaces = int64_t{1} << 20;

// 0 when it is no number of devices.
int64_t PlacesOf(const Mesh& mesh) {
  int64_t places = 1;
  for (const auto& [name, size] : mesh.axes) {
    if (size < 1 || size > kMaxPlaces / places) return 0;
    places *= size;
  }
  return places;
}

// Of an axis, or a part of one, of a mesh that has places; 0 when the mesh does not have it.
int64_t SizeOf(const Mesh& mesh, const AxisRef& ref) {
  for (const auto& [name, size] : mesh.axes) {
    if (name != ref.name) continue;
    if (ref.size == 0) return size;
    const bool is_part = ref.size > 0 && ref.size <= size && ref.pre_size > 0 &&
                         ref.pre_size <= size && size % (ref.pre_size * ref.size) == 0;
    return is_part ? ref.size : 0;
  }
  return 0;
}

// The coordinate of place `place` (row-major) of the mesh along an axis or a part of one.
int64_t CoordinateOf(const Mesh& mesh, const AxisRef& ref, int64_t place) {
  int64_t inner = 1;
  for (size_t a = mesh.axes.size(); a-- > 0;) {
    const auto& [name, size] = mesh.axes[a];
    if (name == ref.name) {
      int64_t coordinate = place / inner % size;
      return ref.size == 0 ? coordinate
                           : coordinate / (size / (ref.pre_size * ref.size)) % ref.size;
    }
    inner *= size;
  }
  return 0;
}

Status UsedTwice(const Mesh& mesh) {
  return backend::InvalidArgument("a sharding uses an axis of the mesh @" + mesh.name +
                                  ", or a part of one, or a device twice");
}

}  // namespace

Result<std::optional<Split>> SplitOf(const program::Module& module,
                                     const Partitioning& partitioning,
                                     const program::Sharding& sharding, const Dims& dims) {
  if (partitioning.num_partitions == 1) return std::optional<Split>();
  const Mesh* mesh = &sharding.inlined_mesh;
  if (!sharding.mesh.empty()) {
    auto found = std::find_if(module.meshes.begin(), module.meshes.end(),
                              [&](const Mesh& one) { return one.name == sharding.mesh; });
    if (found == module.meshes.end())
      return backend::InvalidArgument("a sharding names the mesh @" + sharding.mesh +
                                      ", which the module does not have");
    mesh = &*found;
  }
  // A mesh without axes puts the whole tensor on one device; here every device has it.
  if (mesh->axes.empty()) return std::optional<Split>();
  const int64_t places = PlacesOf(*mesh);
  if (places != partitioning.num_partitions)
    return backend::InvalidArgument("the mesh @" + mesh->name + " has " + std::to_string(places) +
                                    " places but the program runs on " +
                                    std::to_string(partitioning.num_partitions) +
                                    " partitions; compile it for as many devices as its mesh has");
  Split split;
  split.local_dims = dims;
  split.tiles.assign(dims.size(), 1);
  const size_t num_dims = std::min(dims.size(), sharding.dims.size());
  int64_t parts = 1;
  for (size_t d = 0; d < num_dims; ++d) {
    for (const AxisRef& axis : sharding.dims[d].axes) {
      const int64_t size = SizeOf(*mesh, axis);
      if (size == 0)
        return backend::InvalidArgument("a sharding names the axis or part of an axis '" +
                                        axis.name + "', which the mesh @" + mesh->name +
                                        " does not have");
      parts *= size;
      if (parts > places) return UsedTwice(*mesh);
      split.tiles[d] *= size;
    }
    if (dims[d] % split.tiles[d] != 0)
      return backend::Unimplemented(
          "dimension " + std::to_string(d) + " of size " + std::to_string(dims[d]) +
          " is split in " + std::to_string(split.tiles[d]) + " parts: only even parts can be run");
    split.local_dims[d] = dims[d] / split.tiles[d];
  }
  if (parts == 1) return std::optional<Split>();
  std::set<Dims> held;
  for (int64_t p = 0; p < places; ++p) {
    int64_t place = p;
    for (size_t i = 0; i < mesh->device_ids.size(); ++i)
      if (mesh->device_ids[i] == p) place = int64_t(i);
    Dims tile(dims.size(), 0);
    Dims start(dims.size(), 0);
    for (size_t d = 0; d < num_dims; ++d) {
      for (const AxisRef& axis : sharding.dims[d].axes)
        tile[d] = tile[d] * SizeOf(*mesh, axis) + CoordinateOf(*mesh, axis, place);
      start[d] = tile[d] * split.local_dims[d];
    }
    held.insert(std::move(tile));
    split.starts.push_back(std::move(start));
  }
  // Then there are parts that nobody holds.
  if (int64_t(held.size()) != parts) return UsedTwice(*mesh);
  return std::optional<Split>(std::move(split));
}

Result<std::optional<Split>> SplitOf(const program::Module& module,
                                     const Partitioning& partitioning,
                                     const std::vector<program::AttributeList>& attributes,
                                     size_t index, const program::Type& type) {
  if (index >= attributes.size()) return std::optional<Split>();
  const program::Sharding* sharding = program::FindSharding(attributes[index]);
  if (sharding == nullptr) return std::optional<Split>();
  return SplitOf(module, partitioning, *sharding, type.dims);
}

backend::Sharding ShardingOf(const std::optional<Split>& split, const Partitioning& partitioning) {
  backend::Sharding sharding;
  if (!split) return sharding;
  sharding.tiles = split->tiles;
  // Parts row-major, all the holders of a part in a row.
  std::map<Dims, std::vector<int64_t>> holders;
  for (size_t p = 0; p < split->starts.size(); ++p) holders[split->starts[p]].push_back(int64_t(p));
  for (const auto& [start, partitions] : holders)
    sharding.devices.insert(sharding.devices.end(), partitions.begin(), partitions.end());
  (void)partitioning;
  return sharding;
}

}  // namespace PJRT_PLUGIN_NS::reference
