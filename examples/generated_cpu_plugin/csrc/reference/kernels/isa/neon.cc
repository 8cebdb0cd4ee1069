// The kernels for aarch64 CPUs, whose baseline has NEON already: a larger tile for the 32
// registers.

#include "reference/kernels/isa/region.h"
#include "reference/kernels/isa/tables.h"

#if defined(__aarch64__)

namespace PJRT_PLUGIN_NS::reference::kernels::neon {

inline constexpr DTypeSet kTypes = kPredTypes | kIntegerTypes | kFloatTypes | kComplexTypes;
inline constexpr int kVectorBytes = 16;
inline constexpr int kGemmRows = 6;
inline constexpr int kGemmVectors = 4;

#include "reference/kernels/kernels.inl"

constinit const KernelTable kTable = MakeTable();

}  // namespace PJRT_PLUGIN_NS::reference::kernels::neon

#endif  // aarch64
