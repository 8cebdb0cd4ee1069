#ifndef TESTING_GUARD_PAGE_H_
#define TESTING_GUARD_PAGE_H_

// An argument struct as a caller of any age owns it: it ends where memory that may be touched does,
// so whoever reads or writes one member too many ends the program, with or without a sanitizer.

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <new>

#include "generated/config.h"

namespace PJRT_PLUGIN_NS::test {

class GuardedStruct {
 public:
  // Zeroed but for struct_size, its first member. The compiler pads a struct to whole words, so
  // that much belongs to the caller: `bytes` is rounded up.
  GuardedStruct(std::size_t bytes, std::size_t struct_size)
      : page_(std::size_t(sysconf(_SC_PAGESIZE))),
        pages_(
            mmap(nullptr, 2 * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)),
        size_((bytes + 7) / 8 * 8) {
    if (pages_ == MAP_FAILED || size_ > page_) throw std::bad_alloc();
    if (mprotect(static_cast<std::byte*>(pages_) + page_, page_, PROT_NONE) != 0) {
      throw std::bad_alloc();
    }
    std::memcpy(data(), &struct_size, sizeof(struct_size));
  }
  explicit GuardedStruct(std::size_t struct_size) : GuardedStruct(struct_size, struct_size) {}
  ~GuardedStruct() { munmap(pages_, 2 * page_); }
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
