#ifndef PROGRAM_FLOAT_BITS_H_
#define PROGRAM_FLOAT_BITS_H_

// The values of floating-point elements of every type, from their bits. For constants in attributes
// and in print; kernels have their own conversions.
//
//   FloatFromBits(DType::kF16, 0x3c00)  -> 1.0

#include <cstdint>

#include "backend/dtype.h"
#include "generated/config.h"

namespace PJRT_PLUGIN_NS::program {

// Exact. Only for types with IsFloat(); bits above the type's width are ignored.
double FloatFromBits(backend::DType dtype, uint64_t bits);

// The bits of a value that the type can hold exactly; of another one, those of a value near to it.
uint64_t FloatToBits(backend::DType dtype, double value);

}  // namespace PJRT_PLUGIN_NS::program

#endif  // PROGRAM_FLOAT_BITS_H_
