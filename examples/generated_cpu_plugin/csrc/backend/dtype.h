#ifndef BACKEND_DTYPE_H_
#define BACKEND_DTYPE_H_

// Element types, by the names of the StableHLO specification. One table feeds the enum, the sizes,
// the spellings, and (in plugin/dtype.cc) the translation from and to PJRT_Buffer_Type.
//
//   DType t = DType::kF32;
//   DTypeName(t)   -> "f32"
//   DTypeBytes(t)  -> 4

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "generated/config.h"

// X(enumerator, StableHLO spelling, bits of one element, bytes of one element in memory)
// Elements narrower than a byte take one byte each, in the low bits, as frameworks hand them over.
#define PJRT_PLUGIN_DTYPES(X)              \
  X(kPred, "i1", 1, 1)                     \
  X(kS1, "si1", 1, 1)                      \
  X(kS2, "i2", 2, 1)                       \
  X(kS4, "i4", 4, 1)                       \
  X(kS8, "i8", 8, 1)                       \
  X(kS16, "i16", 16, 2)                    \
  X(kS32, "i32", 32, 4)                    \
  X(kS64, "i64", 64, 8)                    \
  X(kU1, "ui1", 1, 1)                      \
  X(kU2, "ui2", 2, 1)                      \
  X(kU4, "ui4", 4, 1)                      \
  X(kU8, "ui8", 8, 1)                      \
  X(kU16, "ui16", 16, 2)                   \
  X(kU32, "ui32", 32, 4)                   \
  X(kU64, "ui64", 64, 8)                   \
  X(kF4E2M1FN, "f4E2M1FN", 4, 1)           \
  X(kF6E2M3FN, "f6E2M3FN", 6, 1)           \
  X(kF6E3M2FN, "f6E3M2FN", 6, 1)           \
  X(kF8E3M4, "f8E3M4", 8, 1)               \
  X(kF8E4M3, "f8E4M3", 8, 1)               \
  X(kF8E4M3FN, "f8E4M3FN", 8, 1)           \
  X(kF8E4M3FNUZ, "f8E4M3FNUZ", 8, 1)       \
  X(kF8E4M3B11FNUZ, "f8E4M3B11FNUZ", 8, 1) \
  X(kF8E5M2, "f8E5M2", 8, 1)               \
  X(kF8E5M2FNUZ, "f8E5M2FNUZ", 8, 1)       \
  X(kF8E8M0FNU, "f8E8M0FNU", 8, 1)         \
  X(kBF16, "bf16", 16, 2)                  \
  X(kF16, "f16", 16, 2)                    \
  X(kF32, "f32", 32, 4)                    \
  X(kF64, "f64", 64, 8)                    \
  X(kC64, "complex<f32>", 64, 8)           \
  X(kC128, "complex<f64>", 128, 16)

namespace PJRT_PLUGIN_NS::backend {

enum class DType : uint8_t {
#define PJRT_PLUGIN_X(name, text, bits, bytes) name,
  PJRT_PLUGIN_DTYPES(PJRT_PLUGIN_X)
#undef PJRT_PLUGIN_X
};

inline constexpr size_t kNumDTypes = 0
#define PJRT_PLUGIN_X(name, text, bits, bytes) +1
    PJRT_PLUGIN_DTYPES(PJRT_PLUGIN_X)
#undef PJRT_PLUGIN_X
    ;

namespace internal {
struct DTypeInfo {
  std::string_view name;
  uint8_t bits;
  uint8_t bytes;
};
inline constexpr DTypeInfo kDTypeInfo[kNumDTypes] = {
#define PJRT_PLUGIN_X(name, text, bits, bytes) {text, bits, bytes},
    PJRT_PLUGIN_DTYPES(PJRT_PLUGIN_X)
#undef PJRT_PLUGIN_X
};
}  // namespace internal

constexpr std::string_view DTypeName(DType t) { return internal::kDTypeInfo[size_t(t)].name; }
constexpr size_t DTypeBits(DType t) { return internal::kDTypeInfo[size_t(t)].bits; }
// Size of one element in device memory and in dense host arrays.
constexpr size_t DTypeBytes(DType t) { return internal::kDTypeInfo[size_t(t)].bytes; }

constexpr bool IsComplex(DType t) { return t == DType::kC64 || t == DType::kC128; }
constexpr bool IsFloat(DType t) { return t >= DType::kF4E2M1FN && t <= DType::kF64; }
constexpr bool IsSignedInt(DType t) { return t >= DType::kS1 && t <= DType::kS64; }
constexpr bool IsUnsignedInt(DType t) { return t >= DType::kU1 && t <= DType::kU64; }
constexpr bool IsInt(DType t) { return IsSignedInt(t) || IsUnsignedInt(t); }

}  // namespace PJRT_PLUGIN_NS::backend

#endif  // BACKEND_DTYPE_H_
