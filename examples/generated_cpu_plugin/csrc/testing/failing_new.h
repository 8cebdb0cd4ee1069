#ifndef TESTING_FAILING_NEW_H_
#define TESTING_FAILING_NEW_H_

// FailingNew: makes one allocation of this thread fail, as all do when the host has no memory left.
//
//   test::FailingNew failing(3);     // the fourth from now on throws std::bad_alloc
//   Call();
//   if (!failing.Stop()) ...         // there were not that many
//
// It replaces operator new of the whole program: include it in one source of a test.

#include <cstddef>
#include <cstdlib>
#include <new>

#include "generated/config.h"

namespace PJRT_PLUGIN_NS::test {

class FailingNew {
 public:
  explicit FailingNew(int allocations_before) { left_ = allocations_before; }
  ~FailingNew() { left_ = kNever; }
  FailingNew(const FailingNew&) = delete;
  FailingNew& operator=(const FailingNew&) = delete;

  // No more failures; whether there was one.
  bool Stop() {
    const bool failed = left_ == kDone;
    left_ = kNever;
    return failed;
  }

  static void* Allocate(std::size_t bytes) noexcept {
    if (left_ >= 0 && left_-- == 0) return nullptr;
    return std::malloc(bytes == 0 ? 1 : bytes);
  }

 private:
  static constexpr int kDone = -1;
  static constexpr int kNever = -2;
  static inline thread_local int left_ = kNever;
};

}  // namespace PJRT_PLUGIN_NS::test

// All forms, lest a sanitizer's own free what these allocated. Not inlined: GCC would see free()
// take what a new that it did not look into gave, and warn.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  void* const address = PJRT_PLUGIN_NS::test::FailingNew::Allocate(bytes);
  if (address == nullptr) throw std::bad_alloc();
  return address;
}
[[gnu::noinline]] void* operator new[](std::size_t bytes) { return operator new(bytes); }
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return PJRT_PLUGIN_NS::test::FailingNew::Allocate(bytes);
}
[[gnu::noinline]] void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return PJRT_PLUGIN_NS::test::FailingNew::Allocate(bytes);
}
[[gnu::noinline]] void operator delete(void* address) noexcept { std::free(address); }
[[gnu::noinline]] void operator delete[](void* address) noexcept { std::free(address); }
[[gnu::noinline]] void operator delete(void* address, std::size_t) noexcept { std::free(address); }
[[gnu::noinline]] void operator delete[](void* address, std::size_t) noexcept {
  std::free(address);
}
[[gnu::noinline]] void operator delete(void* address, const std::nothrow_t&) noexcept {
  std::free(address);
}
[[gnu::noinline]] void operator delete[](void* address, const std::nothrow_t&) noexcept {
  std::free(address);
}

#endif  // TESTING_FAILING_NEW_H_
