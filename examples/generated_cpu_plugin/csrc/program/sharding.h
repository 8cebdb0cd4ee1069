#ifndef PROGRAM_SHARDING_H_
#define PROGRAM_SHARDING_H_

// Shardy's view of a tensor that lies on several devices: a mesh of named axes, and for each
// dimension of the tensor the axes that split it.
//
//   mesh @m = <["x"=2, "y"=4]>,  sharding<@m, [{"x"}, {}]>: rows split in two, all columns
//   everywhere

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "generated/config.h"

namespace PJRT_PLUGIN_NS::program {

struct Mesh {
  std::string name;
  std::vector<std::pair<std::string, int64_t>> axes;  // major to minor
  std::vector<int64_t> device_ids;                    // empty: 0, 1, 2, ...

  friend bool operator==(const Mesh&, const Mesh&) = default;
};

// An axis of a mesh, or the part of it of size `size` that follows `pre_size` (size 0: all of the
// axis).
struct AxisRef {
  std::string name;
  int64_t pre_size = 1;
  int64_t size = 0;

  friend bool operator==(const AxisRef&, const AxisRef&) = default;
};

struct DimSharding {
  std::vector<AxisRef> axes;  // major to minor; empty: not split
  bool closed = true;         // an open one may be split further by a partitioner
  int64_t priority = -1;      // -1: none

  friend bool operator==(const DimSharding&, const DimSharding&) = default;
};

struct Sharding {
  std::string mesh;  // the name of one of the module's meshes; empty: see inlined_mesh
  Mesh inlined_mesh;
  std::vector<DimSharding> dims;
  std::vector<AxisRef> replicated;
  std::vector<AxisRef> unreduced;

  friend bool operator==(const Sharding&, const Sharding&) = default;
};

}  // namespace PJRT_PLUGIN_NS::program

#endif  // PROGRAM_SHARDING_H_
