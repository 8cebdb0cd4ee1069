#ifndef BACKEND_PLATFORM_H_
#define BACKEND_PLATFORM_H_

// What Linux, macOS and Windows have each by a name of its own. The library's other sources call
// nothing that only one of them has.

#include <cstddef>
#include <cstdint>

#include "generated/config.h"

// Before a function that other libraries may find.
#if defined(_WIN32)
#define PJRT_PLUGIN_EXPORT __declspec(dllexport)
#else
#define PJRT_PLUGIN_EXPORT __attribute__((visibility("default")))
#endif

namespace PJRT_PLUGIN_NS::backend::platform {

// The calling thread as the operating system numbers threads: profilers show that number.
int64_t ThreadId();

// Calls `function` in every child that is forked from now on, before fork returns there. Where
// processes are not forked (Windows), never.
void OnForkInChild(void (*function)());

// Memory whose address is a multiple of `alignment`, a power of two and at least a pointer's size;
// `bytes` is a multiple of it and not 0. Not cleared; null when the system has none left.
void* AllocateAligned(size_t alignment, size_t bytes);
// Frees what AllocateAligned returned; null is ignored. No other function can.
void FreeAligned(void* address);

}  // namespace PJRT_PLUGIN_NS::backend::platform

#endif  // BACKEND_PLATFORM_H_
