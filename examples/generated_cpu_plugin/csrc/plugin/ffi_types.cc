// The types of handlers' data.

#include "plugin/ffi_types.h"

#include <map>
#include <mutex>
#include <string>

namespace PJRT_PLUGIN_NS::plugin {
namespace {

struct FfiTypes {
  std::mutex mutex;
  std::map<std::string, int64_t, std::less<>> numbers;
  std::map<int64_t, FfiDeleter> deleters;
  // Libraries bring along the numbers that other runtimes gave them, counted from 1.
  int64_t last = int64_t{1} << 32;
};

// Never destroyed: handlers in other libraries may outlive this one's static objects.
FfiTypes& Types() {
  static FfiTypes* const types = new FfiTypes;
  return *types;
}

}  // namespace

Status RegisterFfiType(std::string_view name, int64_t* id, FfiDeleter deleter) {
  FfiTypes& types = Types();
  std::lock_guard lock(types.mutex);
  const auto known = types.numbers.find(name);
  if (known != types.numbers.end()) {
    if (*id == known->second) return Status();
    return Status(Code::kAlreadyExists,
                  "the FFI type " + std::string(name) + " is registered with id " +
                      std::to_string(known->second) + "; it cannot have " +
                      (*id == 0 ? "a new one" : "id " + std::to_string(*id)) + " too");
  }
  if (types.deleters.contains(*id)) {
    return Status(Code::kAlreadyExists, "the FFI type " + std::string(name) +
                                            " cannot have the id " + std::to_string(*id) +
                                            ", which is another type's; register it with id 0");
  }
  if (*id == 0) {
    do ++types.last;
    while (types.deleters.contains(types.last));
    *id = types.last;
  }
  types.numbers.emplace(name, *id);
  types.deleters.emplace(*id, deleter);
  return Status();
}

Result<FfiDeleter> FindFfiDeleter(int64_t id) {
  FfiTypes& types = Types();
  std::lock_guard lock(types.mutex);
  const auto at = types.deleters.find(id);
  if (at != types.deleters.end()) return at->second;
  return NotFound("there is no FFI type with id " + std::to_string(id) +
                  "; register it before the handlers that use it");
}

void DeleteForeign(FfiDeleter deleter, void* object) noexcept {
  try {
    deleter(object);
  } catch (...) {  // the library's own code; there is nobody to tell
  }
}

FfiState::~FfiState() {
  if (data_ != nullptr) DeleteForeign(deleter_, data_);
}

Status FfiState::Set(int64_t type, FfiDeleter deleter, void* data) {
  if (data == nullptr) return InvalidArgument("XLA_FFI_State_Set: the state is null");
  if (deleter == nullptr) {
    return InvalidArgument("XLA_FFI_State_Set: the type with id " + std::to_string(type) +
                           " was registered without a deleter, which a state needs");
  }
  if (data_ != nullptr) {
    return FailedPrecondition("XLA_FFI_State_Set: this stage has a state already, of the type " +
                              std::to_string(type_));
  }
  type_ = type;
  deleter_ = deleter;
  data_ = data;
  return Status();
}

Result<void*> FfiState::Get(int64_t type) const {
  if (data_ == nullptr) return NotFound("XLA_FFI_State_Get: this stage has set no state");
  if (type == type_) return data_;
  return InvalidArgument("XLA_FFI_State_Get: the state has the type " + std::to_string(type_) +
                         ", but the type " + std::to_string(type) + " is asked for");
}

}  // namespace PJRT_PLUGIN_NS::plugin
