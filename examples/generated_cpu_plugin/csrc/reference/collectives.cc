#include "reference/collectives.h"

#include <algorithm>

namespace PJRT_PLUGIN_NS::reference {

Status Collectives::Wait(std::unique_lock<std::mutex>& lock, Point& point, size_t size) {
  if (++point.arrived == size) {
    point.arrived = 0;
    ++point.turn;
    changed_.notify_all();
    return broken_;
  }
  const int64_t turn = point.turn;
  changed_.wait(lock, [&] { return point.turn != turn || !broken_.ok(); });
  return broken_;
}

Status Collectives::Meet(std::pair<int, int> key, size_t size, size_t position, const Brought& mine,
                         std::vector<Brought>& all) {
  std::unique_lock lock(mutex_);
  if (!broken_.ok()) return broken_;
  Point& point = points_[key];
  point.brought.resize(size);
  point.brought[position] = mine;
  PJRT_PLUGIN_RETURN_IF_ERROR(Wait(lock, point, size));
  all = point.brought;
  return Status();
}

Status Collectives::Part(std::pair<int, int> key, size_t size) {
  std::unique_lock lock(mutex_);
  if (!broken_.ok()) return broken_;
  return Wait(lock, points_[key], size);
}

void Collectives::Break(Status status) {
  std::lock_guard lock(mutex_);
  if (!broken_.ok()) return;
  broken_ = std::move(status);
  changed_.notify_all();
}

Groups AllPartitions(const Partitioning& partitioning) {
  return GroupsOf(GroupMode::kPartitions, {}, partitioning);
}

Groups GroupsOf(GroupMode mode, const std::vector<Dims>& rows, const Partitioning& partitioning) {
  const int replicas = partitioning.num_replicas, partitions = partitioning.num_partitions;
  auto device = [&](int64_t replica, int64_t partition) {
    return int(replica * partitions + partition);
  };
  std::vector<Dims> ids = rows;
  if (ids.empty()) {
    int count = mode == GroupMode::kPartitions ? partitions
                : mode == GroupMode::kDevices  ? replicas * partitions
                                               : replicas;
    ids.emplace_back();
    for (int i = 0; i < count; ++i) ids[0].push_back(i);
  }
  std::vector<std::vector<int>> groups;
  for (const Dims& row : ids) {
    switch (mode) {
      case GroupMode::kReplicas:
        for (int p = 0; p < partitions; ++p) {
          groups.emplace_back();
          for (int64_t r : row)
            if (r >= 0) groups.back().push_back(device(r, p));
        }
        break;
      case GroupMode::kPartitions:
        for (int r = 0; r < replicas; ++r) {
          groups.emplace_back();
          for (int64_t p : row)
            if (p >= 0) groups.back().push_back(device(r, p));
        }
        break;
      case GroupMode::kReplicasOnAllPartitions:
        groups.emplace_back();
        for (int p = 0; p < partitions; ++p)
          for (int64_t r : row)
            if (r >= 0) groups.back().push_back(device(r, p));
        break;
      case GroupMode::kDevices:
        groups.emplace_back();
        for (int64_t d : row)
          if (d >= 0) groups.back().push_back(int(d));
        break;
    }
  }
  Groups by_device(size_t(replicas) * size_t(partitions));
  for (const std::vector<int>& group : groups)
    for (int d : group)
      if (d < int(by_device.size())) by_device[size_t(d)] = group;
  return by_device;
}

void EmitExchange(PlanBuilder& b, std::string text, std::vector<Place> operands,
                  std::vector<Place> results, Groups groups,
                  std::function<Status(const Frame&, const Meeting&)> make,
                  std::vector<BufferId> more_writes) {
  Uses uses;
  for (const Place& place : operands) uses.reads.push_back(place.buffer);
  for (const Place& place : results) uses.writes.push_back(place.buffer);
  uses.writes.insert(uses.writes.end(), more_writes.begin(), more_writes.end());
  const int number = b.NextCollective();
  const int partitions = b.partitioning().num_partitions;
  b.Emit(std::move(text), std::move(uses),
         [=, operands = std::move(operands), groups = std::move(groups),
          make = std::move(make)](const Frame& frame) {
           const int me = frame.replica * partitions + frame.partition;
           static const std::vector<int> kAlone = {0};
           const std::vector<int>& own = groups[size_t(me)];
           // A device in no group works on its own operand.
           const bool alone = own.size() <= 1 || frame.collectives == nullptr;
           std::span<const int> group = alone ? std::span<const int>(kAlone) : own;
           const size_t position =
               alone ? 0 : size_t(std::find(group.begin(), group.end(), me) - group.begin());
           Collectives::Brought mine;
           for (const Place& place : operands) mine.push_back(place.At(frame));
           std::vector<Collectives::Brought> all;
           const std::pair<int, int> key = {number, alone ? me : own.front()};
           if (alone) {
             all.push_back(std::move(mine));
           } else {
             PJRT_PLUGIN_RETURN_IF_ERROR(
                 frame.collectives->Meet(key, group.size(), position, mine, all));
           }
           PJRT_PLUGIN_RETURN_IF_ERROR(make(frame, Meeting{&all, group, position}));
           return alone ? Status() : frame.collectives->Part(key, group.size());
         });
}

}  // namespace PJRT_PLUGIN_NS::reference
