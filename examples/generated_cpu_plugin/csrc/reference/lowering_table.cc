#include <array>
#include <utility>

#include "reference/lowerings.h"

namespace PJRT_PLUGIN_NS::reference {
namespace {

using program::OpCode;

constexpr std::pair<OpCode, Lowering> kLowerings[] = {
    {OpCode::kAfterAll, LowerToken},
    {OpCode::kAllGather, LowerAllGather},
    {OpCode::kAllReduce, LowerAllReduce},
    {OpCode::kAllToAll, LowerAllToAll},
    {OpCode::kBitcastConvert, LowerBitcastConvert},
    {OpCode::kBroadcast, LowerBroadcast},
    {OpCode::kBroadcastInDim, LowerBroadcastInDim},
    {OpCode::kCase, LowerCase},
    {OpCode::kCholesky, LowerCholesky},
    {OpCode::kCollectiveBroadcast, LowerCollectiveBroadcast},
    {OpCode::kCollectivePermute, LowerCollectivePermute},
    {OpCode::kConcatenate, LowerConcatenate},
    {OpCode::kConstant, LowerConstant},
    {OpCode::kConvolution, LowerConvolution},
    {OpCode::kCreateToken, LowerToken},
    {OpCode::kCustomCall, LowerCustomCall},
    {OpCode::kDotGeneral, LowerDotGeneral},
    {OpCode::kDynamicSlice, LowerDynamicSlice},
    {OpCode::kDynamicUpdateSlice, LowerDynamicUpdateSlice},
    {OpCode::kFft, LowerFft},
    {OpCode::kGather, LowerGather},
    {OpCode::kIf, LowerIf},
    {OpCode::kMap, LowerMap},
    {OpCode::kOptimizationBarrier, LowerIdentity},
    {OpCode::kPad, LowerPad},
    {OpCode::kPartitionId, LowerPartitionId},
    {OpCode::kRecv, LowerRecv},
    {OpCode::kReduce, LowerReduce},
    {OpCode::kReduceScatter, LowerReduceScatter},
    {OpCode::kReduceWindow, LowerReduceWindow},
    {OpCode::kReplicaId, LowerReplicaId},
    {OpCode::kReshape, LowerReshape},
    {OpCode::kReverse, LowerReverse},
    {OpCode::kRng, LowerRng},
    {OpCode::kRngBitGenerator, LowerRngBitGenerator},
    {OpCode::kScatter, LowerScatter},
    {OpCode::kSelectAndScatter, LowerSelectAndScatter},
    {OpCode::kSend, LowerSend},
    {OpCode::kSlice, LowerSlice},
    {OpCode::kSort, LowerSort},
    {OpCode::kTranspose, LowerTranspose},
    {OpCode::kTriangularSolve, LowerTriangularSolve},
    {OpCode::kWhile, LowerWhile},
};

constexpr size_t kNumOps = 0
#define PJRT_PLUGIN_OP(...) +1
#include "program/ops.inc"
#undef PJRT_PLUGIN_OP
    ;

constexpr auto kByCode = [] {
  std::array<Lowering, kNumOps> table{};
  for (auto [code, lowering] : kLowerings) table[size_t(code)] = lowering;
  return table;
}();

}  // namespace

Lowering FindLowering(OpCode code) { return kByCode[size_t(code)]; }

}  // namespace PJRT_PLUGIN_NS::reference
