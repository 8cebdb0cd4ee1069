// The kernels for every CPU of the architecture: SSE2 on x86-64, NEON on aarch64.

#include "reference/kernels/isa/region.h"
#include "reference/kernels/isa/tables.h"

namespace PJRT_PLUGIN_NS::reference::kernels::baseline {

inline constexpr DTypeSet kTypes = kPredTypes | kIntegerTypes | kFloatTypes | kComplexTypes;
inline constexpr int kVectorBytes = 16;
inline constexpr int kGemmRows = 4;
inline constexpr int kGemmVectors = 2;

#include "reference/kernels/kernels.inl"

constinit const KernelTable kTable = MakeTable();

}  // namespace PJRT_PLUGIN_NS::reference::kernels::baseline
