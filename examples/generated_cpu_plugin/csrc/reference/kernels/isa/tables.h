#ifndef REFERENCE_KERNELS_ISA_TABLES_H_
#define REFERENCE_KERNELS_ISA_TABLES_H_

// The table that each isa/*.cc exports. Together, portable's and baseline's are complete; a null
// entry of another one means that the next older ISA's kernel is as good.

#include "reference/kernels/kernel_table.h"

namespace PJRT_PLUGIN_NS::reference::kernels {

namespace portable {
extern const KernelTable kTable;
}
namespace baseline {
extern const KernelTable kTable;
}
#if defined(__x86_64__)
namespace avx2 {
extern const KernelTable kTable;
}
namespace avx512 {
extern const KernelTable kTable;
}
#elif defined(__aarch64__)
namespace neon {
extern const KernelTable kTable;
}
#endif

}  // namespace PJRT_PLUGIN_NS::reference::kernels

#endif  // REFERENCE_KERNELS_ISA_TABLES_H_
