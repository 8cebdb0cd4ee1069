#ifndef TESTING_GUARD_PAGE_H_
#define TESTING_GUARD_PAGE_H_

// An argument struct as a caller of any age owns it: it ends where memory that may be touched does,
// so whoever reads or writes one member too many ends the program, with or without a sanitizer.

#include <cstddef>
#include <cstring>
#include <new>

#include "generated/config.h"
#include "testing/pages.h"

namespace PJRT_PLUGIN_NS::test {

class GuardedStruct {
 public:
  // Zeroed but for struct_size, its first member. The compiler pads a struct to whole words, so
  // that much belongs to the caller: `bytes` is rounded up.
  GuardedStruct(std::size_t bytes, std::size_t struct_size)
      : page_(pages::Size()), pages_(pages::Reserve(2 * page_)), size_((bytes + 7) / 8 * 8) {
    if (pages_ == nullptr || size_ > page_ || !pages::Open(pages_, page_)) throw std::bad_alloc();
    std::memcpy(data(), &struct_size, sizeof(struct_size));
  }
  explicit GuardedStruct(std::size_t struct_size) : GuardedStruct(struct_size, struct_size) {}
  ~GuardedStruct() { pages::Release(pages_, 2 * page_); }
  GuardedStruct(const GuardedStruct&) = delete;
  GuardedStruct& operator=(const GuardedStruct&) = delete;

  std::byte* data() const { return static_cast<std::byte*>(pages_) + page_ - size_; }
  std::size_t size() const { return size_; }

 private:
  std::size_t page_;
  void* pages_;
  std::size_t size_;
};

}  // namespace PJRT_PLUGIN_NS::test

#endif  // TESTING_GUARD_PAGE_H_
