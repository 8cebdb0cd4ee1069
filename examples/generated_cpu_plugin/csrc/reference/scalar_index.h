#ifndef REFERENCE_SCALAR_INDEX_H_
#define REFERENCE_SCALAR_INDEX_H_

// Integers that a program computes and the runtime acts on: start indices, branch numbers,
// conditions.

#include <cstdint>
#include <cstring>
#include <limits>

#include "backend/dtype.h"
#include "generated/config.h"
#include "reference/view.h"

namespace PJRT_PLUGIN_NS::reference {

// Element `i` of an array of integers (or i1), as a signed number; an unsigned one beyond int64
// becomes the largest.
inline int64_t ReadInteger(const std::byte* data, DType dtype, int64_t i) {
  auto as = [&](auto value) -> int64_t {
    std::memcpy(&value, data + i * int64_t(sizeof(value)), sizeof(value));
    if constexpr (sizeof(value) == 8 && std::is_unsigned_v<decltype(value)>) {
      constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
      return value > uint64_t(kMax) ? kMax : int64_t(value);
    } else {
      return int64_t(value);
    }
  };
  switch (dtype) {
    case DType::kS2:
    case DType::kS4:
    case DType::kS8:
      return as(int8_t{});
    case DType::kS16:
      return as(int16_t{});
    case DType::kS32:
      return as(int32_t{});
    case DType::kS64:
      return as(int64_t{});
    case DType::kU16:
      return as(uint16_t{});
    case DType::kU32:
      return as(uint32_t{});
    case DType::kU64:
      return as(uint64_t{});
    default:
      return as(uint8_t{});
  }
}

struct ScalarIndex {
  Place place;
  DType dtype = DType::kS32;

  int64_t Read(const Frame& frame) const { return ReadInteger(place.At(frame), dtype, 0); }
};

}  // namespace PJRT_PLUGIN_NS::reference

#endif  // REFERENCE_SCALAR_INDEX_H_
