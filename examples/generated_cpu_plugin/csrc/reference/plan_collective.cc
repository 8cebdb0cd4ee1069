#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "reference/body.h"
#include "reference/collectives.h"
#include "reference/kernels/kernel_table.h"
#include "reference/lowerings.h"

namespace PJRT_PLUGIN_NS::reference {
namespace {

Groups ReductionGroups(PlanBuilder& b, const Op& op) {
  GroupMode mode = op.Int("channel_id") <= 0          ? GroupMode::kReplicas
                   : op.Bool("use_global_device_ids") ? GroupMode::kDevices
                                                      : GroupMode::kReplicasOnAllPartitions;
  return GroupsOf(mode, op.IntRows("replica_groups"), b.partitioning());
}

Groups ExchangeGroups(PlanBuilder& b, const Op& op) {
  GroupMode mode = op.Int("channel_id") <= 0 ? GroupMode::kReplicas : GroupMode::kPartitions;
  return GroupsOf(mode, op.IntRows("replica_groups"), b.partitioning());
}

// Folds an array into another: to[i] = body(to[i], from[i]).
class Folder {
 public:
  static Result<Folder> Of(PlanBuilder& b, const Op& op, DType type) {
    Folder folder;
    folder.bytes_ = int64_t(backend::DTypeBytes(type));
    if (auto single = SingleOpOf(*op.regions[0]))
      folder.kernel_ = kernels::Kernels().Find(*single, type);
    if (folder.kernel_ == nullptr) {
      PJRT_PLUGIN_ASSIGN_OR_RETURN(BodyTape body, TapeOfBody(b, op, *op.regions[0]));
      if (!body.captured.empty())
        return PlanBuilder::Unsupported(op, "its body uses values from outside");
      folder.tape_ = body.tape;
    }
    return folder;
  }

  void Fold(std::byte* to, const std::byte* from, int64_t n) const {
    constexpr int64_t kBlock = 512;
    alignas(64) std::byte result[kBlock * 16];
    for (int64_t i = 0; i < n; i += kBlock) {
      const int64_t m = std::min(kBlock, n - i);
      const void* both[] = {to + i * bytes_, from + i * bytes_};
      if (kernel_ != nullptr) {
        kernel_(both, 0, to + i * bytes_, m);
        continue;
      }
      void* out = result;
      tape_->Run(both, &out, 0, m);
      std::memcpy(to + i * bytes_, result, size_t(m * bytes_));
    }
  }

 private:
  kernels::ElementwiseFn kernel_ = nullptr;
  std::shared_ptr<const Tape> tape_;
  int64_t bytes_ = 1;
};

Status EmitNumber(PlanBuilder& b, const Op& op, int Frame::* member) {
  Place out = b.NewResult(op.result());
  b.Emit(op, {.reads = {}, .writes = {out.buffer}}, [=](const Frame& frame) {
    uint32_t number = uint32_t(frame.*member);
    std::memcpy(out.At(frame), &number, sizeof(number));
    return Status();
  });
  return Status();
}

std::string TextOf(const Op& op) {
  return std::string(program::OpName(op.code)) + " " + program::ToString(op.type());
}

}  // namespace

Status LowerReplicaId(PlanBuilder& b, const Op& op) { return EmitNumber(b, op, &Frame::replica); }

Status LowerPartitionId(PlanBuilder& b, const Op& op) {
  return EmitNumber(b, op, &Frame::partition);
}

Status LowerAllReduce(PlanBuilder& b, const Op& op) {
  const Groups groups = ReductionGroups(b, op);
  for (size_t k = 0; k < op.results.size(); ++k) {
    PJRT_PLUGIN_ASSIGN_OR_RETURN(Folder folder, Folder::Of(b, op, op.type(k).dtype));
    PJRT_PLUGIN_ASSIGN_OR_RETURN(Place in, b.Dense(op.operands[k]));
    Place out = b.NewResult(op.result(k));
    const int64_t elements = op.type(k).num_elements();
    const size_t size = op.type(k).byte_size();
    EmitExchange(b, TextOf(op), {in}, {out}, groups,
                 [=](const Frame& frame, const Meeting& meeting) {
                   // All in the same order, so every device gets the same bits.
                   if (size != 0) std::memcpy(out.At(frame), meeting.Of(0, 0), size);
                   for (size_t i = 1; i < meeting.size(); ++i)
                     folder.Fold(out.At(frame), meeting.Of(i, 0), elements);
                   return Status();
                 });
  }
  return Status();
}

Status LowerReduceScatter(PlanBuilder& b, const Op& op) {
  const Type& type = op.type();
  PJRT_PLUGIN_ASSIGN_OR_RETURN(Folder folder, Folder::Of(b, op, type.dtype));
  PJRT_PLUGIN_ASSIGN_OR_RETURN(Place in, b.Dense(op.operands[0]));
  const size_t axis = size_t(op.Int("scatter_dimension"));
  const int64_t bytes = int64_t(backend::DTypeBytes(type.dtype));
  const Dims in_strides = InBytes(DenseStrides(op.operand_type(0).dims), bytes);
  const Dims out_strides = InBytes(DenseStrides(type.dims), bytes);
  Place out = b.NewResult(op.result());
  BufferId part = b.NewTemp(type.byte_size());
  kernels::CopyFn copy = kernels::Kernels().copy[kernels::SizeIndex(size_t(bytes))];
  EmitExchange(
      b, TextOf(op), {in}, {out}, ReductionGroups(b, op),
      [=, dims = type.dims, elements = type.num_elements()](const Frame& frame,
                                                            const Meeting& meeting) {
        if (elements == 0) return Status();
        for (size_t i = 0; i < meeting.size(); ++i) {
          std::byte* to = i == 0 ? out.At(frame) : frame.At(part);
          copy({int64_t(dims.size()), dims.data(),
                meeting.Of(i, 0) + int64_t(meeting.position) * dims[axis] * in_strides[axis],
                in_strides.data(), to, out_strides.data()});
          if (i != 0) folder.Fold(out.At(frame), to, elements);
        }
        return Status();
      },
      {part});
  return Status();
}

Status LowerAllGather(PlanBuilder& b, const Op& op) {
  const Groups groups = ReductionGroups(b, op);
  const size_t axis = size_t(op.Int("all_gather_dim"));
  for (size_t k = 0; k < op.results.size(); ++k) {
    const Type& type = op.type(k);
    PJRT_PLUGIN_ASSIGN_OR_RETURN(Place in, b.Dense(op.operands[k]));
    Place out = b.NewResult(op.result(k));
    const int64_t bytes = int64_t(backend::DTypeBytes(type.dtype));
    kernels::CopyFn copy = kernels::Kernels().copy[kernels::SizeIndex(size_t(bytes))];
    EmitExchange(
        b, TextOf(op), {in}, {out}, groups,
        [=, dims = op.operand_type(k).dims,
         in_strides = InBytes(DenseStrides(op.operand_type(k).dims), bytes),
         out_strides = InBytes(DenseStrides(type.dims), bytes),
         elements = type.num_elements()](const Frame& frame, const Meeting& meeting) {
          if (elements == 0) return Status();
          for (size_t i = 0; i < meeting.size(); ++i)
            copy({int64_t(dims.size()), dims.data(), meeting.Of(i, 0), in_strides.data(),
                  out.At(frame) + int64_t(i) * dims[axis] * out_strides[axis], out_strides.data()});
          return Status();
        });
  }
  return Status();
}

Status LowerAllToAll(PlanBuilder& b, const Op& op) {
  const Groups groups = ExchangeGroups(b, op);
  const size_t split_axis = size_t(op.Int("split_dimension"));
  const size_t concat_axis = size_t(op.Int("concat_dimension"));
  const int64_t count = op.Int("split_count");
  for (size_t k = 0; k < op.results.size(); ++k) {
    const Type& type = op.type(k);
    PJRT_PLUGIN_ASSIGN_OR_RETURN(Place in, b.Dense(op.operands[k]));
    Place out = b.NewResult(op.result(k));
    const int64_t bytes = int64_t(backend::DTypeBytes(type.dtype));
    Dims piece = op.operand_type(k).dims;
    piece[split_axis] /= count;
    kernels::CopyFn copy = kernels::Kernels().copy[kernels::SizeIndex(size_t(bytes))];
    EmitExchange(
        b, TextOf(op), {in}, {out}, groups,
        [=, in_strides = InBytes(DenseStrides(op.operand_type(k).dims), bytes),
         out_strides = InBytes(DenseStrides(type.dims), bytes),
         elements = type.num_elements()](const Frame& frame, const Meeting& meeting) {
          if (elements == 0) return Status();
          for (size_t i = 0; i < meeting.size(); ++i)
            copy({int64_t(piece.size()), piece.data(),
                  meeting.Of(i, 0) +
                      int64_t(meeting.position) * piece[split_axis] * in_strides[split_axis],
                  in_strides.data(),
                  out.At(frame) + int64_t(i) * piece[concat_axis] * out_strides[concat_axis],
                  out_strides.data()});
          return Status();
        });
  }
  return Status();
}

Status LowerCollectiveBroadcast(PlanBuilder& b, const Op& op) {
  const auto* dynamic_root = op.Find("has_dynamic_root");
  if (dynamic_root != nullptr && op.Bool("has_dynamic_root"))
    return PlanBuilder::Unsupported(op, "the root of its groups is known only at run time");
  const Groups groups = ExchangeGroups(b, op);
  const int partitions = b.partitioning().num_partitions;
  for (size_t k = 0; k < op.results.size(); ++k) {
    PJRT_PLUGIN_ASSIGN_OR_RETURN(Place in, b.Dense(op.operands[k]));
    Place out = b.NewResult(op.result(k));
    EmitExchange(b, TextOf(op), {in}, {out}, groups,
                 [=, size = op.type(k).byte_size()](const Frame& frame, const Meeting& meeting) {
                   if (size == 0) return Status();
                   const int me = frame.replica * partitions + frame.partition;
                   if (groups[size_t(me)].empty()) {
                     std::memset(out.At(frame), 0, size);
                   } else {
                     std::memcpy(out.At(frame), meeting.Of(0, 0), size);
                   }
                   return Status();
                 });
  }
  return Status();
}

Status LowerCollectivePermute(PlanBuilder& b, const Op& op) {
  GroupMode mode = op.Int("channel_id") <= 0 ? GroupMode::kReplicas : GroupMode::kPartitions;
  PJRT_PLUGIN_ASSIGN_OR_RETURN(Place in, b.Dense(op.operands[0]));
  Place out = b.NewResult(op.result());
  const size_t size = op.type().byte_size();
  // All are in one group, so a member's number is its place there.
  EmitExchange(
      b, TextOf(op), {in}, {out}, GroupsOf(mode, {}, b.partitioning()),
      [=, pairs = op.IntList("source_target_pairs")](const Frame& frame, const Meeting& meeting) {
        if (size == 0) return Status();
        for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
          if (pairs[i + 1] != int64_t(meeting.position) || size_t(pairs[i]) >= meeting.size())
            continue;
          std::memcpy(out.At(frame), meeting.Of(size_t(pairs[i]), 0), size);
          return Status();
        }
        std::memset(out.At(frame), 0, size);
        return Status();
      });
  return Status();
}

}  // namespace PJRT_PLUGIN_NS::reference
