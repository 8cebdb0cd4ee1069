#ifndef REFERENCE_FUSE_ELEMENTWISE_H_
#define REFERENCE_FUSE_ELEMENTWISE_H_

// Fusion: collects elementwise operations into clusters, each of which becomes one loop over one
// tape.
//
// An operation joins the clusters that make its operands, when these have as many elements; so
// chains and diamonds grow together, with any number of outputs. A cluster is emitted when
// something else wants one of its values. It holds back nothing that others wait for, and reads
// nothing that comes later, so any order of operations is right. Reshapes are transparent, since
// elements are counted in row-major order; broadcasts, slices and transposes of other values are
// read in place (View), and an iota is made on the way.

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "backend/status.h"
#include "generated/config.h"
#include "program/ir.h"
#include "reference/kernels/kernel_table.h"
#include "reference/tape.h"

namespace PJRT_PLUGIN_NS::reference {

class PlanBuilder;

// The kernel of an elementwise operation; nothing for conversions and all that is not elementwise.
std::optional<kernels::ElementwiseOp> KernelOf(const program::Op& op);
// Whether it may be part of a tape: one element of the result needs the same element of each
// operand.
bool IsElementwise(const program::Op& op);
// Appends `op` to the tape. Nothing when the kernels do not know it for its dtypes.
std::optional<TapeBuilder::Reg> AddToTape(TapeBuilder& tape, const program::Op& op,
                                          std::span<const TapeBuilder::Reg> operands);

class Fusion {
 public:
  explicit Fusion(PlanBuilder& builder) : builder_(builder) {}

  // Takes an elementwise operation, an iota, or a reshape of a pending value.
  backend::Status Add(const program::Op& op);
  bool IsPending(const program::Value* value) const { return cluster_of_.contains(value); }
  // Emits the cluster that makes `value`, if it is pending.
  backend::Status Flush(const program::Value* value);
  backend::Status FlushAll();

 private:
  struct Cluster {
    int64_t elements = 0;
    std::vector<const program::Op*> ops;
  };
  using Handle = std::list<Cluster>::iterator;

  backend::Status Emit(Handle cluster);

  PlanBuilder& builder_;
  std::list<Cluster> clusters_;  // pending
  std::unordered_map<const program::Value*, Handle> cluster_of_;
};

}  // namespace PJRT_PLUGIN_NS::reference

#endif  // REFERENCE_FUSE_ELEMENTWISE_H_
