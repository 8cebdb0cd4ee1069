#ifndef PLUGIN_FFI_TYPES_H_
#define PLUGIN_FFI_TYPES_H_

// Types of the data that FFI handlers keep and are given: names and numbers, shared by the whole
// process. And FfiState, one such datum.

#include <cstdint>
#include <string_view>

#include "generated/config.h"
#include "plugin/error.h"

namespace PJRT_PLUGIN_NS::plugin {

using FfiDeleter = void (*)(void* object);

// Gives the type the number `*id`, or, when that is 0, a free one, which is then in `*id`. Doing so
// again with the same number is fine; ALREADY_EXISTS for a name that has another number, and for a
// number that has another name: its objects would go to the other's deleter.
Status RegisterFfiType(std::string_view name, int64_t* id, FfiDeleter deleter);
// Null for a type whose data nobody deletes. NOT_FOUND.
Result<FfiDeleter> FindFfiDeleter(int64_t id);

// Deletes data whose deleter may throw.
void DeleteForeign(FfiDeleter deleter, void* object) noexcept;

// What a handler keeps from one stage for the later ones.
class FfiState {
 public:
  FfiState() = default;
  ~FfiState();
  FfiState(const FfiState&) = delete;
  FfiState& operator=(const FfiState&) = delete;

  // Owns `data` when OK.
  Status Set(int64_t type, FfiDeleter deleter, void* data);
  Result<void*> Get(int64_t type) const;

 private:
  int64_t type_ = 0;
  FfiDeleter deleter_ = nullptr;
  void* data_ = nullptr;
};

}  // namespace PJRT_PLUGIN_NS::plugin

#endif  // PLUGIN_FFI_TYPES_H_
