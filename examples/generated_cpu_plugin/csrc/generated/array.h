#ifndef GENERATED_ARRAY_H_
#define GENERATED_ARRAY_H_

// An array of API structs as the caller laid it out. A caller of another API version may have
// shorter or longer elements than ours, so elements are found by the size that the first declares.
//
//   StructArray<const PJRT_NamedValue> options(args->create_options, args->num_options);
//   for (size_t i = 0; i < options.size(); ++i) Read(options[i]);
//
// Members beyond the declared size of an element are not the caller's: of a struct that grew, read
// them only when Covers() says so.

#include <cstddef>
#include <type_traits>

#include "generated/config.h"

namespace PJRT_PLUGIN_NS::generated {

template <class T>
class StructArray {
 public:
  StructArray(T* first, std::size_t size) : first_(first), size_(first == nullptr ? 0 : size) {
    if (size_ == 0 || first->struct_size == 0) return;
    const std::size_t align = alignof(T);
    stride_ = (first->struct_size + align - 1) / align * align;
  }

  std::size_t size() const { return size_; }

  T& operator[](std::size_t i) const {
    using Bytes = std::conditional_t<std::is_const_v<T>, const std::byte, std::byte>;
    return *reinterpret_cast<T*>(reinterpret_cast<Bytes*>(first_) + i * stride_);
  }

  // Whether the caller's elements reach to `end`, a byte offset such as PJRT_X_STRUCT_SIZE.
  bool Covers(std::size_t end) const { return size_ > 0 && first_->struct_size >= end; }

 private:
  T* first_;
  std::size_t size_;
  std::size_t stride_ = sizeof(T);
};

}  // namespace PJRT_PLUGIN_NS::generated

#endif  // GENERATED_ARRAY_H_
