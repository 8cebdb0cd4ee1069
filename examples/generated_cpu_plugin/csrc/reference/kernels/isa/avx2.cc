// The kernels for x86-64 CPUs with AVX2 and FMA (from about 2013 on).

#include "reference/kernels/isa/region.h"
#include "reference/kernels/isa/tables.h"

#if defined(__x86_64__)

PJRT_KERNEL_REGION_BEGIN("avx2,fma,bmi,bmi2,popcnt")
namespace PJRT_PLUGIN_NS::reference::kernels::avx2 {

inline constexpr DTypeSet kTypes = kPredTypes | kIntegerTypes | kFloatTypes | kComplexTypes;
inline constexpr int kVectorBytes = 32;
inline constexpr int kGemmRows = 6;
inline constexpr int kGemmVectors = 2;

#include "reference/kernels/kernels.inl"

constinit const KernelTable kTable = MakeTable();

}  // namespace PJRT_PLUGIN_NS::reference::kernels::avx2
PJRT_KERNEL_REGION_END

#endif  // x86-64
