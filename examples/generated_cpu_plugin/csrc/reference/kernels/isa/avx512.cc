// The kernels for x86-64 CPUs with AVX-512 (F, BW, DQ, VL; servers from about 2017 on).

#include "reference/kernels/isa/region.h"
#include "reference/kernels/isa/tables.h"

#if defined(__x86_64__)

PJRT_KERNEL_REGION_BEGIN("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi,bmi2,popcnt")
namespace PJRT_PLUGIN_NS::reference::kernels::avx512 {

// What programs spend their time in; for the rest AVX2's kernels are as good, and every instance
// costs build time.
inline constexpr DTypeSet kTypes = kFloatTypes | SetOf(DType::kS32, DType::kU32);
inline constexpr int kVectorBytes = 64;
inline constexpr int kGemmRows = 8;
inline constexpr int kGemmVectors = 2;

#include "reference/kernels/kernels.inl"

constinit const KernelTable kTable = MakeTable();

}  // namespace PJRT_PLUGIN_NS::reference::kernels::avx512
PJRT_KERNEL_REGION_END

#endif  // x86-64
