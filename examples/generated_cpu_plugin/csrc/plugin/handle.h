#ifndef PLUGIN_HANDLE_H_
#define PLUGIN_HANDLE_H_

// What stands behind the opaque pointers of the C API. Each PJRT_X is a plain struct X that begins
// with a Handle; the pair of functions below is the only way between the two.
//
//   struct Event : Handle<Tag::kEvent> { ... };
//   PJRT_PLUGIN_HANDLE(PJRT_Event, Event)     // FromC(PJRT_Event*) -> Event*, ToC(Event*) ->
//   PJRT_Event*
//
// The macro stands outside of unnamed namespaces, where its functions would hide the others.

#include <cassert>
#include <cstdint>
#include <cstring>

#include "generated/config.h"
#include "generated/pjrt_c_api.h"

namespace PJRT_PLUGIN_NS::plugin {

// The number that a caller wrote into an enum of the C API, whatever it is: reading one that the
// enum does not have directly would be undefined.
template <typename Enum>
int Raw(const Enum& value) {
  static_assert(sizeof(Enum) == sizeof(int));
  int raw;
  std::memcpy(&raw, &value, sizeof(raw));
  return raw;
}

// Values that memory rarely holds by chance.
enum class Tag : uint64_t {
  kDead = 0xdeaddeaddeaddead,
  kError = 0x504a5254'00000001,
  kEvent,
  kClient,
  kDevice,
  kDeviceDescription,
  kMemory,
  kMemoryDescription,
  kBuffer,
  kExecutable,
  kLoadedExecutable,
  kTopology,
  kExecuteContext,
  kTransferManager,
  kAliasFulfillment,
  kCopyToDeviceStream,
  kLayout,
  kRawBuffer,
};

// The first word is what newer versions of the API call through; null where an object has no
// function table.
template <Tag kExpected>
struct Handle {
  explicit Handle(const void* vtable = nullptr) : vtable(vtable) {}
  ~Handle() { tag = Tag::kDead; }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  // Debug builds stop at a pointer to something else, or to something that was destroyed.
  void Check() const { assert(tag == kExpected); }

  const void* vtable;
  volatile Tag tag = kExpected;  // volatile: the last write is not optimised away
};

}  // namespace PJRT_PLUGIN_NS::plugin

#define PJRT_PLUGIN_HANDLE(CType, Type)                                             \
  inline Type* FromC(CType* c) {                                                    \
    Type* handle = reinterpret_cast<Type*>(c);                                      \
    if (handle != nullptr) handle->Check();                                         \
    return handle;                                                                  \
  }                                                                                 \
  inline const Type* FromC(const CType* c) { return FromC(const_cast<CType*>(c)); } \
  inline CType* ToC(Type* handle) { return reinterpret_cast<CType*>(handle); }

#endif  // PLUGIN_HANDLE_H_
