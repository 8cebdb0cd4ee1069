#ifndef REFERENCE_LOWERINGS_H_
#define REFERENCE_LOWERINGS_H_

// The lowerings of all operations that are not elementwise, by the file that has them.
// lowering_table.cc says which operation is whose: a new operation is one line there and one
// function here.

#include "generated/config.h"
#include "reference/plan_builder.h"

namespace PJRT_PLUGIN_NS::reference {

// plan_view.cc: operations that only look at memory in another way
Status LowerConstant(PlanBuilder& b, const Op& op);
Status LowerBroadcast(PlanBuilder& b, const Op& op);
Status LowerBroadcastInDim(PlanBuilder& b, const Op& op);
Status LowerReshape(PlanBuilder& b, const Op& op);
Status LowerTranspose(PlanBuilder& b, const Op& op);
Status LowerSlice(PlanBuilder& b, const Op& op);
Status LowerReverse(PlanBuilder& b, const Op& op);
Status LowerBitcastConvert(PlanBuilder& b, const Op& op);
Status LowerIdentity(PlanBuilder& b, const Op& op);
Status LowerToken(PlanBuilder& b, const Op& op);

// plan_move.cc: data movement
Status LowerConcatenate(PlanBuilder& b, const Op& op);
Status LowerPad(PlanBuilder& b, const Op& op);
Status LowerDynamicSlice(PlanBuilder& b, const Op& op);
Status LowerDynamicUpdateSlice(PlanBuilder& b, const Op& op);

// plan_gather.cc, plan_scatter.cc
Status LowerGather(PlanBuilder& b, const Op& op);
Status LowerScatter(PlanBuilder& b, const Op& op);

// plan_reduce.cc
Status LowerReduce(PlanBuilder& b, const Op& op);

// plan_select_and_scatter.cc
Status LowerSelectAndScatter(PlanBuilder& b, const Op& op);

// plan_window.cc
Status LowerReduceWindow(PlanBuilder& b, const Op& op);

// plan_dot.cc
Status LowerDotGeneral(PlanBuilder& b, const Op& op);

// plan_convolution.cc
Status LowerConvolution(PlanBuilder& b, const Op& op);

// plan_fft.cc
Status LowerFft(PlanBuilder& b, const Op& op);

// plan_linear_algebra.cc
Status LowerCholesky(PlanBuilder& b, const Op& op);
Status LowerTriangularSolve(PlanBuilder& b, const Op& op);

// plan_map.cc
Status LowerMap(PlanBuilder& b, const Op& op);

// plan_random.cc
Status LowerRngBitGenerator(PlanBuilder& b, const Op& op);

// plan_rng.cc
Status LowerRng(PlanBuilder& b, const Op& op);

// plan_sort.cc
Status LowerSort(PlanBuilder& b, const Op& op);

// plan_control.cc
Status LowerWhile(PlanBuilder& b, const Op& op);
Status LowerCase(PlanBuilder& b, const Op& op);
Status LowerIf(PlanBuilder& b, const Op& op);

// plan_collective.cc
Status LowerAllReduce(PlanBuilder& b, const Op& op);
Status LowerReduceScatter(PlanBuilder& b, const Op& op);
Status LowerAllGather(PlanBuilder& b, const Op& op);
Status LowerAllToAll(PlanBuilder& b, const Op& op);
Status LowerCollectiveBroadcast(PlanBuilder& b, const Op& op);
Status LowerCollectivePermute(PlanBuilder& b, const Op& op);
Status LowerReplicaId(PlanBuilder& b, const Op& op);
Status LowerPartitionId(PlanBuilder& b, const Op& op);

// plan_host.cc: transfers from and to the host
Status LowerSend(PlanBuilder& b, const Op& op);
Status LowerRecv(PlanBuilder& b, const Op& op);

// partition.cc: see pass_spmd.h
Status LowerFullToShard(PlanBuilder& b, const Op& op);
Status LowerShardToFull(PlanBuilder& b, const Op& op);

// plan_custom_call.cc
Status LowerCustomCall(PlanBuilder& b, const Op& op);

// plan_foreign_call.cc: functions that the framework has registered
Status LowerForeignCall(PlanBuilder& b, const Op& op);

}  // namespace PJRT_PLUGIN_NS::reference

#endif  // REFERENCE_LOWERINGS_H_
