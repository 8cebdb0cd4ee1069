#ifndef TESTING_PAGES_H_
#define TESTING_PAGES_H_

// Pages of memory that tests take away from the program: whoever touches one ends at once.
//
//   void* address = test::pages::Reserve(2 * test::pages::Size());  // nobody may touch them
//   test::pages::Open(address, test::pages::Size());                // but for the first

#include <cstddef>

#include "generated/config.h"

#if defined(_WIN32)
#define NOMINMAX
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#else
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace PJRT_PLUGIN_NS::test::pages {

// Bytes of a page; all sizes below are multiples of it.
inline std::size_t Size() {
#if defined(_WIN32)
  SYSTEM_INFO info;
  GetSystemInfo(&info);
  return info.dwPageSize;
#else
  return std::size_t(sysconf(_SC_PAGESIZE));
#endif
}

// Addresses that exist but cannot be read or written; null when there are no more.
inline void* Reserve(std::size_t bytes) {
#if defined(_WIN32)
  return VirtualAlloc(nullptr, bytes, MEM_RESERVE, PAGE_NOACCESS);
#else
  void* const address = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return address == MAP_FAILED ? nullptr : address;
#endif
}

// Lets these be read and written; they are zero. False when the system cannot.
inline bool Open(void* address, std::size_t bytes) {
#if defined(_WIN32)
  return VirtualAlloc(address, bytes, MEM_COMMIT, PAGE_READWRITE) != nullptr;
#else
  return mprotect(address, bytes, PROT_READ | PROT_WRITE) == 0;
#endif
}

// Gives back all that one call of Reserve returned.
inline void Release(void* address, std::size_t bytes) {
#if defined(_WIN32)
  (void)bytes;
  VirtualFree(address, 0, MEM_RELEASE);
#else
  munmap(address, bytes);
#endif
}

}  // namespace PJRT_PLUGIN_NS::test::pages

#endif  // TESTING_PAGES_H_
