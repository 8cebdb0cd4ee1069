#ifndef REFERENCE_SPLIT_H_
#define REFERENCE_SPLIT_H_

// Split: which part of a tensor each partition of a program holds, worked out from Shardy's mesh
// and sharding.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/executable.h"
#include "backend/status.h"
#include "generated/config.h"
#include "program/ir.h"
#include "reference/view.h"

namespace PJRT_PLUGIN_NS::reference {

// How a program is spread over devices.
struct Partitioning {
  int num_replicas = 1;
  int num_partitions = 1;
};

struct Split {
  Dims local_dims;           // of every part
  Dims tiles;                // parts along each dimension
  std::vector<Dims> starts;  // by partition: the index of the first element of its part

  // Two splits are the same when every partition holds the same part.
  friend bool operator==(const Split&, const Split&) = default;
};

// The split of a tensor of `dims` by `sharding`; nothing when every partition holds all of it.
// INVALID_ARGUMENT when the mesh is unknown or a dimension does not divide evenly.
Result<std::optional<Split>> SplitOf(const program::Module& module,
                                     const Partitioning& partitioning,
                                     const program::Sharding& sharding, const Dims& dims);
// The split by attribute sdy.sharding of argument or result `index` of a function.
Result<std::optional<Split>> SplitOf(const program::Module& module,
                                     const Partitioning& partitioning,
                                     const std::vector<program::AttributeList>& attributes,
                                     size_t index, const program::Type& type);

// The same for frameworks.
backend::Sharding ShardingOf(const std::optional<Split>& split, const Partitioning& partitioning);

}  // namespace PJRT_PLUGIN_NS::reference

#endif  // REFERENCE_SPLIT_H_
