#include "plugin/dtype.h"

#include <array>
#include <string>

#include "generated/features.h"
#include "plugin/handle.h"

// X(DType enumerator, name of the PJRT_Buffer_Type) for the types that every supported API version
// has.
#define PJRT_PLUGIN_BUFFER_TYPES(X) \
  X(kPred, PRED)                    \
  X(kS2, S2)                        \
  X(kS4, S4)                        \
  X(kS8, S8)                        \
  X(kS16, S16)                      \
  X(kS32, S32)                      \
  X(kS64, S64)                      \
  X(kU2, U2)                        \
  X(kU4, U4)                        \
  X(kU8, U8)                        \
  X(kU16, U16)                      \
  X(kU32, U32)                      \
  X(kU64, U64)                      \
  X(kF8E4M3FN, F8E4M3FN)            \
  X(kF8E4M3FNUZ, F8E4M3FNUZ)        \
  X(kF8E4M3B11FNUZ, F8E4M3B11FNUZ)  \
  X(kF8E5M2, F8E5M2)                \
  X(kF8E5M2FNUZ, F8E5M2FNUZ)        \
  X(kBF16, BF16)                    \
  X(kF16, F16)                      \
  X(kF32, F32)                      \
  X(kF64, F64)                      \
  X(kC64, C64)                      \
  X(kC128, C128)

namespace PJRT_PLUGIN_NS::plugin {
namespace {

using backend::DType;

constexpr int kNone = -1;

struct Row {
  DType dtype;
  PJRT_Buffer_Type type;
};

constexpr Row kRows[] = {
#define PJRT_PLUGIN_X(dtype, name) {DType::dtype, PJRT_Buffer_Type_##name},
    PJRT_PLUGIN_BUFFER_TYPES(PJRT_PLUGIN_X)
#if PJRT_SCAFFOLD_HAS_PJRT_Buffer_Type_F8E4M3
        PJRT_PLUGIN_X(kF8E4M3, F8E4M3) PJRT_PLUGIN_X(kF8E3M4, F8E3M4)
#endif
#if PJRT_SCAFFOLD_HAS_PJRT_Buffer_Type_F8E8M0FNU
            PJRT_PLUGIN_X(kF8E8M0FNU, F8E8M0FNU) PJRT_PLUGIN_X(kF4E2M1FN, F4E2M1FN)
#endif
#if PJRT_SCAFFOLD_HAS_PJRT_Buffer_Type_S1
                PJRT_PLUGIN_X(kS1, S1) PJRT_PLUGIN_X(kU1, U1)
#endif
#if PJRT_SCAFFOLD_HAS_PJRT_Buffer_Type_F6E2M3FN
                    PJRT_PLUGIN_X(kF6E2M3FN, F6E2M3FN) PJRT_PLUGIN_X(kF6E3M2FN, F6E3M2FN)
#endif
#undef PJRT_PLUGIN_X
};

constexpr size_t kMaxTypes = 64;
constexpr std::array<int8_t, kMaxTypes> MakeFromType() {
  std::array<int8_t, kMaxTypes> table = {};
  table.fill(kNone);
  for (const Row& row : kRows) table[size_t(row.type)] = int8_t(row.dtype);
  return table;
}
constexpr std::array<PJRT_Buffer_Type, backend::kNumDTypes> MakeToType() {
  std::array<PJRT_Buffer_Type, backend::kNumDTypes> table = {};
  table.fill(PJRT_Buffer_Type_INVALID);
  for (const Row& row : kRows) table[size_t(row.dtype)] = row.type;
  return table;
}
constexpr auto kFromType = MakeFromType();
constexpr auto kToType = MakeToType();

std::string KnownTypes() {
  std::string names;
  for (const Row& row : kRows) {
    if (!names.empty()) names += ", ";
    names += std::to_string(int(row.type)) + " (" + std::string(DTypeName(row.dtype)) + ")";
  }
  return names;
}

}  // namespace

backend::Result<DType> ToDType(const PJRT_Buffer_Type& type, const char* function) {
  const int raw = Raw(type);
  const size_t index = size_t(raw);
  if (index < kMaxTypes && kFromType[index] != kNone) return DType(kFromType[index]);
  std::string what = raw == int(PJRT_Buffer_Type_TOKEN)
                         ? " (token) has no bytes to move"
                         : " is not an element type of this API version";
  return backend::InvalidArgument(std::string(function) + ": PJRT_Buffer_Type " +
                                  std::to_string(raw) + what + "; there are " + KnownTypes());
}

PJRT_Buffer_Type ToBufferType(DType dtype) { return kToType[size_t(dtype)]; }

}  // namespace PJRT_PLUGIN_NS::plugin
