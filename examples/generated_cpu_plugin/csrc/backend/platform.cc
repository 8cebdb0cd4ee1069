#include "backend/platform.h"

#include <cstdlib>

#if defined(_WIN32)
// No macros of the names min and max, and half of the header.
#define NOMINMAX
#define WIN32_LEAN_AND_MEAN
#include <malloc.h>
#include <windows.h>
#else
#include <pthread.h>
#endif
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace PJRT_PLUGIN_NS::backend::platform {

int64_t ThreadId() {
#if defined(_WIN32)
  return GetCurrentThreadId();
#elif defined(__APPLE__)
  uint64_t id = 0;
  pthread_threadid_np(nullptr, &id);
  return int64_t(id);
#elif defined(__linux__)
  return syscall(SYS_gettid);
#else
#error "say here how this operating system numbers its threads"
#endif
}

#if defined(_WIN32)

void OnForkInChild(void (*)()) {}

void* AllocateAligned(size_t alignment, size_t bytes) { return _aligned_malloc(bytes, alignment); }
void FreeAligned(void* address) { _aligned_free(address); }

#else

void OnForkInChild(void (*function)()) { pthread_atfork(nullptr, nullptr, function); }

void* AllocateAligned(size_t alignment, size_t bytes) {
  return std::aligned_alloc(alignment, bytes);
}
void FreeAligned(void* address) { std::free(address); }

#endif

}  // namespace PJRT_PLUGIN_NS::backend::platform
