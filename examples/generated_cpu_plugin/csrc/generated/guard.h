#ifndef GENERATED_GUARD_H_
#define GENERATED_GUARD_H_

// The wall between a framework and the plugin: every entry of the call table, and of the
// extensions, goes through Guard. It
//   - serves callers of every API version from the oldest one on: a shorter argument struct is
//     copied into a zeroed one of full size for the call, and the same length is copied back;
//     a struct that a member points to likewise. A full-size caller costs one comparison;
//   - refuses null arguments and null handles with INVALID_ARGUMENT;
//   - turns C++ exceptions into errors;
//   - writes the trace, when one is asked for (trace.h).
//
//   table.PJRT_Client_Create = &Guard<&Api::Client_Create>::Call;

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>

#include "generated/config.h"
#include "generated/entries.h"
#include "generated/errors.h"
#include "generated/pjrt_c_api.h"
#include "generated/trace.h"

namespace PJRT_PLUGIN_NS::generated {

using Call = PJRT_Error* (*)(void* args);

inline void* LoadPointer(const void* base, std::size_t offset) {
  void* pointer;
  std::memcpy(&pointer, static_cast<const std::byte*>(base) + offset, sizeof(pointer));
  return pointer;
}

inline void StorePointer(void* base, std::size_t offset, void* pointer) {
  std::memcpy(static_cast<std::byte*>(base) + offset, &pointer, sizeof(pointer));
}

// Bytes of `args` that the caller owns. struct_size is the first member of every argument struct.
inline std::size_t CallerSize(const Entry& entry, const void* args) {
  std::size_t size;
  std::memcpy(&size, args, sizeof(size));
  return size == entry.shorter && size != 0 ? entry.shorter_true : size;
}

inline PJRT_Error* RefuseNull(const char* function, const char* name) {
  char text[256];
  std::snprintf(text, sizeof(text), "%s: %s is null; it must point to a valid object", function,
                name);
  return MakeError(PJRT_Error_Code_INVALID_ARGUMENT, text);
}

inline PJRT_Error* RefuseSize(const char* function, const char* name, std::size_t size,
                              const Entry& entry) {
  char text[320];
  std::snprintf(text, sizeof(text),
                "%s: struct_size of %s is %zu bytes, the oldest supported is %u; the caller's PJRT "
                "header is too old or struct_size was not set (this plugin has API 0.%d, %u bytes)",
                function, name, size, static_cast<unsigned>(entry.oldest), PJRT_API_MINOR,
                static_cast<unsigned>(entry.size));
  return MakeError(PJRT_Error_Code_INVALID_ARGUMENT, text);
}

// The error for the exception that is being handled.
inline PJRT_Error* FromException(const char* function) noexcept {
  char text[512];
  try {
    throw;
  } catch (const std::bad_alloc&) {
    std::snprintf(text, sizeof(text), "%s: out of host memory", function);
    return MakeError(PJRT_Error_Code_RESOURCE_EXHAUSTED, text);
  } catch (const std::exception& exception) {
    std::snprintf(text, sizeof(text), "%s: %s", function, exception.what());
  } catch (...) {
    std::snprintf(text, sizeof(text), "%s: unknown C++ exception", function);
  }
  return MakeError(PJRT_Error_Code_INTERNAL, text);
}

// A full-size copy of a caller's struct; CopyBack hands the members that the caller has back to it.
class FullSize {
 public:
  FullSize(const Entry& entry, void* original)
      : original_(original),
        shared_(std::min<std::size_t>(CallerSize(entry, original), entry.size)) {
    std::memcpy(bytes_, original, shared_);
    const std::size_t size = entry.size;
    std::memcpy(bytes_, &size, sizeof(size));
  }
  FullSize(const FullSize&) = delete;
  FullSize& operator=(const FullSize&) = delete;

  void* get() { return bytes_; }

  // All but struct_size, which stays what the caller wrote.
  void CopyBack() const {
    std::memcpy(static_cast<std::byte*>(original_) + sizeof(std::size_t),
                bytes_ + sizeof(std::size_t), shared_ - sizeof(std::size_t));
  }

 private:
  void* original_;
  std::size_t shared_;
  alignas(std::max_align_t) std::byte bytes_[kLargestStruct] = {};
};

// Name of the first required member that is null; null when all are there.
inline const char* FirstMissing(const Entry& entry, const void* args) {
  for (const Required& required : entry.required) {
    if (required.name == nullptr) break;
    if (LoadPointer(args, required.offset) == nullptr) return required.name;
  }
  return nullptr;
}

// Whether `args` can be handed on as they are. Inlined with a constant entry this is a handful of
// comparisons, and a call of its own with loops when it is left to the compiler; everything else is
// for Run to sort out.
[[gnu::always_inline]] inline bool Fits(const Entry& entry, const void* args) {
  if (args == nullptr || CallerSize(entry, args) < entry.size) return false;
  if (FirstMissing(entry, args) != nullptr) return false;
  if (entry.nested == nullptr) return true;
  const void* nested = LoadPointer(args, entry.nested_offset);
  return nested == nullptr || CallerSize(*entry.nested, nested) >= entry.nested->size;
}

// The call with a nested struct of full size; `args` is of full size.
inline PJRT_Error* RunWithNested(const Entry& entry, void* args, Call call) {
  void* const original = LoadPointer(args, entry.nested_offset);
  const std::size_t size = CallerSize(*entry.nested, original);
  if (size < entry.nested->oldest) {
    return RefuseSize(entry.name, entry.nested->name, size, *entry.nested);
  }
  if (size >= entry.nested->size) return call(args);
  FullSize nested(*entry.nested, original);
  StorePointer(args, entry.nested_offset, nested.get());
  PJRT_Error* error = call(args);
  StorePointer(args, entry.nested_offset, original);
  nested.CopyBack();
  return error;
}

inline PJRT_Error* RunFullSize(const Entry& entry, void* args, Call call) {
  if (const char* missing = FirstMissing(entry, args)) return RefuseNull(entry.name, missing);
  const bool nested = entry.nested != nullptr && LoadPointer(args, entry.nested_offset) != nullptr;
  return nested ? RunWithNested(entry, args, call) : call(args);
}

inline PJRT_Error* Run(const Entry& entry, void* args, Call call) noexcept {
  try {
    if (args == nullptr) return RefuseNull(entry.name, "args");
    const std::size_t size = CallerSize(entry, args);
    if (size >= entry.size) return RunFullSize(entry, args, call);
    if (size < entry.oldest) return RefuseSize(entry.name, "args", size, entry);
    FullSize full(entry, args);
    PJRT_Error* error = RunFullSize(entry, full.get(), call);
    full.CopyBack();
    return error;
  } catch (...) {
    return FromException(entry.name);
  }
}

// The same for a function that cannot report (PJRT_Error_Destroy, PJRT_Error_Message): where
// another would return an error, it does nothing.
inline void RunVoid(const Entry& entry, void* args, void (*call)(void*)) noexcept {
  try {
    if (args == nullptr) return;
    const std::size_t size = CallerSize(entry, args);
    if (size < entry.oldest) return;
    if (size >= entry.size) {
      if (FirstMissing(entry, args) == nullptr) call(args);
      return;
    }
    FullSize full(entry, args);
    if (FirstMissing(entry, full.get()) != nullptr) return;
    call(full.get());
    full.CopyBack();
  } catch (...) {  // nobody to tell
  }
}

// The guarded form of a function that takes one argument struct.
template <auto kFunction>
struct Guard;

template <class Args, PJRT_Error* (*kFunction)(Args*)>
struct Guard<kFunction> {
  static_assert(kEntry<Args>.name != nullptr, "the registry knows no function with this struct");

  static PJRT_Error* Call(Args* args) noexcept {
    trace::Scope scope(kEntry<Args>.name);
    if (!Fits(kEntry<Args>, args)) return scope.Finish(Run(kEntry<Args>, args, &Forward));
    try {
      return scope.Finish(kFunction(args));
    } catch (...) {
      return scope.Finish(FromException(kEntry<Args>.name));
    }
  }

 private:
  static PJRT_Error* Forward(void* args) { return kFunction(static_cast<Args*>(args)); }
};

template <class Args, void (*kFunction)(Args*)>
struct Guard<kFunction> {
  static_assert(kEntry<Args>.name != nullptr, "the registry knows no function with this struct");

  static void Call(Args* args) noexcept {
    trace::Scope scope(kEntry<Args>.name);
    RunVoid(kEntry<Args>, args, [](void* full) { kFunction(static_cast<Args*>(full)); });
  }
};

}  // namespace PJRT_PLUGIN_NS::generated

#endif  // GENERATED_GUARD_H_
