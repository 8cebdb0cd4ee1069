#ifndef REFERENCE_PARTITION_H_
#define REFERENCE_PARTITION_H_

// How one program runs on several partitions. Every device runs the same plan; outside of manual
// computations each computes the whole (global) values, inside of them its own part. A sharded
// argument is gathered from all devices only when something other than a manual computation of the
// same sharding wants it, and each device keeps its part of a sharded result. So shard_map runs at
// full speed, and automatic partitioning is right though not fast.

#include "backend/status.h"
#include "generated/config.h"
#include "reference/plan_builder.h"

namespace PJRT_PLUGIN_NS::reference {

// The whole of a value of which the devices hold parts; emits a gather over all of them.
Result<View> Unshard(PlanBuilder& b, const Value* value, const PlanBuilder::Shard& shard);
// This device's part of a value.
Result<View> LocalView(PlanBuilder& b, const Value* value, const Split& split);

}  // namespace PJRT_PLUGIN_NS::reference

#endif  // REFERENCE_PARTITION_H_
