#include "plugin/execute_context.h"

#include <string>

#include "plugin/layer.h"

namespace PJRT_PLUGIN_NS::plugin {

ExecuteUserData::~ExecuteUserData() {
  for (auto& [type, datum] : data_) {
    if (datum.deleter != nullptr) DeleteForeign(datum.deleter, datum.data);
  }
}

Status ExecuteUserData::Add(int64_t type, void* data, FfiDeleter deleter) {
  std::lock_guard lock(mutex_);
  if (data_.emplace(type, Datum{data, deleter}).second) return Status();
  return Status(Code::kAlreadyExists, "the execute context has data of the type " +
                                          std::to_string(type) + " already; make another context");
}

bool ExecuteUserData::empty() const {
  std::lock_guard lock(mutex_);
  return data_.empty();
}

Result<void*> ExecuteUserData::Find(int64_t type) const {
  std::lock_guard lock(mutex_);
  const auto at = data_.find(type);
  if (at != data_.end()) return at->second.data;
  return NotFound("the execute context has no data of the type " + std::to_string(type) +
                  "; it has " + std::to_string(data_.size()) + " of other types");
}

PJRT_Error* Layer::ExecuteContext_Create(PJRT_ExecuteContext_Create_Args* args) {
  args->context = ToC(new ExecuteContext);
  return nullptr;
}

PJRT_Error* Layer::ExecuteContext_Destroy(PJRT_ExecuteContext_Destroy_Args* args) {
  delete FromC(args->context);
  return nullptr;
}

}  // namespace PJRT_PLUGIN_NS::plugin
