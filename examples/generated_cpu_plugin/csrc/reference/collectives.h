#ifndef REFERENCE_COLLECTIVES_H_
#define REFERENCE_COLLECTIVES_H_

// Collectives: how the devices of one execution meet. Each runs on a thread of its own; at a
// collective operation the members of a group wait for each other, look at what each has brought,
// make their results, and wait once more before anyone changes what the others still read.
//
// A device that fails breaks all meetings, present and future, so nobody waits for it.

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backend/status.h"
#include "generated/config.h"
#include "reference/plan_builder.h"

namespace PJRT_PLUGIN_NS::reference {

class Collectives {
 public:
  // What one member brings: addresses, one an operand. They stay valid until it leaves.
  using Brought = std::vector<const std::byte*>;

  // Waits until all `size` members of the group have called with the same `key`; `all` then has
  // what each brought, by position in the group. The first failure of any device is returned to
  // all.
  Status Meet(std::pair<int, int> key, size_t size, size_t position, const Brought& mine,
              std::vector<Brought>& all);
  // Waits until all members of the group have called it.
  Status Part(std::pair<int, int> key, size_t size);
  // Ends all waiting with `status`.
  void Break(Status status);

 private:
  struct Point {
    size_t arrived = 0;
    int64_t turn = 0;
    std::vector<Brought> brought;
  };
  Status Wait(std::unique_lock<std::mutex>& lock, Point& point, size_t size);

  std::mutex mutex_;
  std::condition_variable changed_;
  Status broken_;
  std::map<std::pair<int, int>, Point> points_;
};

// ---- For lowerings ----

// For each device (replica * num_partitions + partition), the devices of its group in order; empty
// when it is in none.
using Groups = std::vector<std::vector<int>>;

Groups AllPartitions(const Partitioning& partitioning);

// Which numbers replica_groups and source_target_pairs hold.
enum class GroupMode : uint8_t { kReplicas, kPartitions, kReplicasOnAllPartitions, kDevices };
// `rows` as in replica_groups; no rows: all in one group.
Groups GroupsOf(GroupMode mode, const std::vector<Dims>& rows, const Partitioning& partitioning);

// A meeting, as the code that makes the results sees it.
struct Meeting {
  const std::vector<Collectives::Brought>* all = nullptr;
  std::span<const int> group;
  size_t position = 0;  // of this device in the group

  size_t size() const { return all->size(); }
  const std::byte* Of(size_t member, size_t operand) const { return (*all)[member][operand]; }
};

// A step in which the members of a group look at each other's operands and make their results.
void EmitExchange(PlanBuilder& b, std::string text, std::vector<Place> operands,
                  std::vector<Place> results, Groups groups,
                  std::function<Status(const Frame&, const Meeting&)> make,
                  std::vector<BufferId> more_writes = {});

}  // namespace PJRT_PLUGIN_NS::reference

#endif  // REFERENCE_COLLECTIVES_H_
