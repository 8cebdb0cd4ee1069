#include "program/verify_op.h"

#include <algorithm>
#include <cstdlib>

namespace PJRT_PLUGIN_NS::program {

bool AreDistinctDims(const Ints& dims, int64_t limit) {
  std::vector<bool> seen(size_t(std::max<int64_t>(limit, 0)));
  for (int64_t dim : dims) {
    if (dim < 0 || dim >= limit || seen[size_t(dim)]) return false;
    seen[size_t(dim)] = true;
  }
  return true;
}

bool IsScalar(const Type& type, std::optional<DType> dtype) {
  return type.is_tensor() && type.rank() == 0 && (!dtype || type.dtype == *dtype);
}

bool HasSignature(const Block& block, const std::vector<Type>& arguments,
                  const std::vector<Type>& results) {
  const std::vector<Value*>& returned = block.terminator()->operands;
  return std::equal(block.arguments.begin(), block.arguments.end(), arguments.begin(),
                    arguments.end(),
                    [](const auto& value, const Type& type) { return value->type == type; }) &&
         std::equal(returned.begin(), returned.end(), results.begin(), results.end(),
                    [](const Value* value, const Type& type) { return value->type == type; });
}

std::vector<Type> ElementTypes(std::span<Value* const> values) {
  std::vector<Type> types;
  for (const Value* value : values) types.push_back(Type::Tensor(value->type.dtype, {}));
  return types;
}

std::optional<int64_t> WindowedSize(int64_t size, const WindowDim& w) {
  constexpr int64_t kMost = int64_t{1} << 31;  // products of two stay in range
  if (w.size < 0 || w.stride < 1 || w.base_dilation < 1 || w.window_dilation < 1 ||
      std::max({size, w.size, w.stride, w.base_dilation, w.window_dilation, std::abs(w.padding_low),
                std::abs(w.padding_high)}) >= kMost)
    return std::nullopt;
  const int64_t dilated = size == 0 ? 0 : (size - 1) * w.base_dilation + 1;
  const int64_t padded = w.padding_low + dilated + w.padding_high;
  const int64_t window = w.size == 0 ? 0 : (w.size - 1) * w.window_dilation + 1;
  return padded <= 0 || window > padded ? 0 : (padded - window) / w.stride + 1;
}

}  // namespace PJRT_PLUGIN_NS::program
