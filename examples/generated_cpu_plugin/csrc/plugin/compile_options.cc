#include "plugin/compile_options.h"

#include <bit>
#include <cstdint>
#include <limits>
#include <utility>

#include "plugin/proto.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

using backend::CompileOptions;
using backend::InvalidArgument;
using backend::Result;
using backend::Status;

// Field numbers of the messages; fields that are not named here are the compiler's to read from
// `serialized`.
namespace compile_options {
constexpr uint32_t kTupledArguments = 2;
constexpr uint32_t kBuildOptions = 3;
constexpr uint32_t kPortable = 4;
constexpr uint32_t kOverrides = 7;
}  // namespace compile_options
namespace build_options {
constexpr uint32_t kNumReplicas = 4;
constexpr uint32_t kNumPartitions = 5;
constexpr uint32_t kUseSpmd = 6;
constexpr uint32_t kDeviceAssignment = 9;
constexpr uint32_t kUseShardy = 19;
}  // namespace build_options
namespace assignment {
constexpr uint32_t kReplicas = 1;
constexpr uint32_t kComputations = 2;
constexpr uint32_t kComputation = 3;
constexpr uint32_t kReplicaIds = 1;
}  // namespace assignment

// More devices than any client has: what is above it is no option but garbage.
constexpr int64_t kMaxDevices = 1 << 20;

Status Malformed(std::string_view message) {
  return InvalidArgument("the compile options are no CompileOptionsProto: " + std::string(message) +
                         " is cut off or malformed");
}

// An option that overrides one of the compiler's, from a map entry: name 1, and value 2 with a
// field a type.
Result<backend::Attribute> ReadOverride(std::string_view bytes) {
  backend::Attribute attribute;
  ProtoReader entry(bytes);
  while (entry.Next()) {
    if (entry.field() == 1 && entry.is_bytes()) {
      attribute.name = entry.bytes();
    } else if (entry.field() == 2 && entry.is_bytes()) {
      ProtoReader value(entry.bytes());
      while (value.Next()) {
        if (value.field() == 1 && value.is_bytes()) attribute.value = std::string(value.bytes());
        if (value.field() == 2 && value.is_varint()) attribute.value = value.varint() != 0;
        if (value.field() == 3 && value.is_varint()) attribute.value = int64_t(value.varint());
        if (value.field() == 4 && value.is_fixed64()) {
          attribute.value = float(std::bit_cast<double>(value.varint()));
        }
      }
      if (!value.ok()) return Malformed("an option override");
    }
  }
  if (!entry.ok()) return Malformed("an option override");
  return attribute;
}

// The message lists computations (partitions), each with the ids of its replicas.
Result<std::vector<std::vector<int>>> ReadAssignment(std::string_view bytes) {
  int64_t replicas = 0;
  int64_t computations = 0;
  std::vector<std::vector<int64_t>> ids;
  ProtoReader reader(bytes);
  while (reader.Next()) {
    if (reader.field() == assignment::kReplicas) replicas = int64_t(reader.varint());
    if (reader.field() == assignment::kComputations) computations = int64_t(reader.varint());
    if (reader.field() == assignment::kComputation && reader.is_bytes()) {
      std::vector<int64_t>& column = ids.emplace_back();
      ProtoReader computation(reader.bytes());
      while (computation.Next()) {
        if (computation.field() == assignment::kReplicaIds) computation.AppendTo(&column);
      }
      if (!computation.ok()) return Malformed("the device assignment");
    }
  }
  if (!reader.ok()) return Malformed("the device assignment");
  if (int64_t(ids.size()) != computations) {
    return InvalidArgument("the device assignment says " + std::to_string(computations) +
                           " computations but lists " + std::to_string(ids.size()));
  }
  if (ids.empty()) return std::vector<std::vector<int>>();
  // Before any memory is taken: the sizes then are those of a list that was there in the bytes.
  for (const std::vector<int64_t>& column : ids) {
    if (int64_t(column.size()) != replicas) {
      return InvalidArgument("the device assignment says " + std::to_string(replicas) +
                             " replicas but lists " + std::to_string(column.size()) +
                             " devices for a computation");
    }
  }
  std::vector<std::vector<int>> assignment(replicas, std::vector<int>(ids.size()));
  for (size_t partition = 0; partition < ids.size(); ++partition) {
    for (int64_t replica = 0; replica < replicas; ++replica) {
      const int64_t id = ids[partition][replica];
      if (id < 0 || id > std::numeric_limits<int>::max()) {
        return InvalidArgument("the device assignment names device " + std::to_string(id) +
                               "; ids are not negative");
      }
      assignment[replica][partition] = int(id);
    }
  }
  return assignment;
}

Status ReadBuildOptions(std::string_view bytes, CompileOptions* options, int64_t* replicas,
                        int64_t* partitions) {
  ProtoReader reader(bytes);
  while (reader.Next()) {
    switch (reader.field()) {
      case build_options::kNumReplicas:
        *replicas = int64_t(reader.varint());
        break;
      case build_options::kNumPartitions:
        *partitions = int64_t(reader.varint());
        break;
      case build_options::kUseSpmd:
        options->use_spmd_partitioning = reader.varint() != 0;
        break;
      case build_options::kUseShardy:
        options->use_shardy_partitioner = reader.varint() != 0;
        break;
      case build_options::kDeviceAssignment: {
        PJRT_PLUGIN_ASSIGN_OR_RETURN(options->device_assignment, ReadAssignment(reader.bytes()));
        break;
      }
      default:
        break;
    }
  }
  return reader.ok() ? Status() : Malformed("executable_build_options");
}

// A count that is absent, or 0 for "whatever the device assignment has".
Status SettleCount(std::string_view name, int64_t given, int64_t assigned, int* count) {
  if (given == 0) given = assigned != 0 ? assigned : 1;
  if (given < 1 || given > kMaxDevices) {
    return InvalidArgument(std::string(name) + " is " + std::to_string(given) +
                           "; it must be from 1 to " + std::to_string(kMaxDevices));
  }
  if (assigned != 0 && assigned != given) {
    return InvalidArgument(std::string(name) + " is " + std::to_string(given) +
                           " but the device assignment has " + std::to_string(assigned));
  }
  *count = int(given);
  return Status();
}

Result<CompileOptions> Read(std::string_view bytes) {
  CompileOptions options;
  options.serialized = bytes;
  options.use_spmd_partitioning = bytes.empty();
  int64_t replicas = 0;
  int64_t partitions = 0;
  ProtoReader reader(bytes);
  while (reader.Next()) {
    switch (reader.field()) {
      case compile_options::kTupledArguments:
        options.tupled_arguments = reader.varint() != 0;
        break;
      case compile_options::kBuildOptions:
        PJRT_PLUGIN_RETURN_IF_ERROR(
            ReadBuildOptions(reader.bytes(), &options, &replicas, &partitions));
        break;
      case compile_options::kPortable:
        options.portable = reader.varint() != 0;
        break;
      case compile_options::kOverrides: {
        PJRT_PLUGIN_ASSIGN_OR_RETURN(backend::Attribute override, ReadOverride(reader.bytes()));
        options.overrides.push_back(std::move(override));
        break;
      }
      default:
        break;
    }
  }
  if (!reader.ok()) return Malformed("the message");
  const auto& assigned = options.device_assignment;
  PJRT_PLUGIN_RETURN_IF_ERROR(
      SettleCount("num_replicas", replicas, int64_t(assigned.size()), &options.num_replicas));
  PJRT_PLUGIN_RETURN_IF_ERROR(SettleCount("num_partitions", partitions,
                                          assigned.empty() ? 0 : int64_t(assigned[0].size()),
                                          &options.num_partitions));
  const int64_t devices = int64_t(options.num_replicas) * options.num_partitions;
  if (devices > kMaxDevices) {
    return InvalidArgument("num_replicas times num_partitions is " + std::to_string(devices) +
                           "; it must be at most " + std::to_string(kMaxDevices));
  }
  return options;
}

}  // namespace

Result<CompileOptions> ReadCompileOptions(std::string_view bytes, const char* function) {
  Result<CompileOptions> options = Read(bytes);
  if (!options.ok()) return options.status().Annotated(function);
  return options;
}

std::string WriteDeviceAssignment(const std::vector<std::vector<int>>& ids) {
  std::string out;
  if (ids.empty()) return out;
  PutVarint(assignment::kReplicas, int64_t(ids.size()), &out);
  PutVarint(assignment::kComputations, int64_t(ids[0].size()), &out);
  for (size_t partition = 0; partition < ids[0].size(); ++partition) {
    std::vector<int64_t> column;
    for (const std::vector<int>& replica : ids) column.push_back(replica[partition]);
    std::string computation;
    PutPacked(assignment::kReplicaIds, column, &computation);
    PutBytes(assignment::kComputation, computation, &out);
  }
  return out;
}

}  // namespace PJRT_PLUGIN_NS::plugin
