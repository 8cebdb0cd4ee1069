#ifndef REFERENCE_KERNELS_ISA_REGION_H_
#define REFERENCE_KERNELS_ISA_REGION_H_

// The frame of an isa/*.cc file: every header that kernels may use, included before the target
// region opens, and the pragmas that open and close it. No file is compiled with flags of an ISA:
// such flags would reach the inline functions of the headers as well, and the linker may choose
// those copies for the whole program.
//
//   #include "reference/kernels/isa/region.h"
//   PJRT_KERNEL_REGION_BEGIN("avx2,fma")
//   namespace PJRT_PLUGIN_NS::reference::kernels::avx2 { ... }
//   PJRT_KERNEL_REGION_END

#include <math.h>
#include <string.h>

#include <cstddef>
#include <cstdint>

#include "reference/kernels/kernel_table.h"

// Every feature that a region names must be one that kernel_table.cc asks the CPU for. Both
// compilers must know its name: clang ignores the whole list when it does not know a word of it.
#define PJRT_KERNEL_PRAGMA(text) _Pragma(#text)
#if defined(__clang__)
#define PJRT_KERNEL_REGION_BEGIN(isa) \
  PJRT_KERNEL_PRAGMA(clang attribute push(__attribute__((target(isa))), apply_to = function))
#define PJRT_KERNEL_REGION_END PJRT_KERNEL_PRAGMA(clang attribute pop)
// Before a loop: an iteration reads nothing that another one writes.
#define PJRT_KERNEL_INDEPENDENT PJRT_KERNEL_PRAGMA(clang loop vectorize(assume_safety))
// Before a loop of at most 16 rounds: no loop is to remain, so that arrays indexed in it become
// registers.
#define PJRT_KERNEL_UNROLL PJRT_KERNEL_PRAGMA(clang loop unroll(full))
#else
#define PJRT_KERNEL_REGION_BEGIN(isa) \
  PJRT_KERNEL_PRAGMA(GCC push_options) PJRT_KERNEL_PRAGMA(GCC target(isa))
#define PJRT_KERNEL_REGION_END PJRT_KERNEL_PRAGMA(GCC pop_options)
#define PJRT_KERNEL_INDEPENDENT PJRT_KERNEL_PRAGMA(GCC ivdep)
#define PJRT_KERNEL_UNROLL PJRT_KERNEL_PRAGMA(GCC unroll 16)
#endif

#define PJRT_KERNEL_INLINE inline __attribute__((always_inline))
#define PJRT_KERNEL_NOINLINE __attribute__((noinline))

#endif  // REFERENCE_KERNELS_ISA_REGION_H_
