#ifndef PLUGIN_EXECUTE_CONTEXT_H_
#define PLUGIN_EXECUTE_CONTEXT_H_

// PJRT_ExecuteContext: what a framework gives to the foreign functions of the executions that it
// starts with the context.

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "backend/custom_call.h"
#include "generated/config.h"
#include "plugin/error.h"
#include "plugin/ffi_types.h"
#include "plugin/handle.h"

namespace PJRT_PLUGIN_NS::plugin {

// Data by the numbers of their types; deletes it, where there is a deleter, when it goes.
class ExecuteUserData final : public backend::UserData {
 public:
  ~ExecuteUserData() override;

  // ALREADY_EXISTS when there is data of the type.
  Status Add(int64_t type, void* data, FfiDeleter deleter);
  bool empty() const;
  Result<void*> Find(int64_t type) const override;

 private:
  struct Datum {
    void* data;
    FfiDeleter deleter;
  };
  mutable std::mutex mutex_;
  std::map<int64_t, Datum> data_;
};

struct ExecuteContext : Handle<Tag::kExecuteContext> {
  // Shared with executions under way: frameworks may destroy the context before they end.
  std::shared_ptr<ExecuteUserData> user_data = std::make_shared<ExecuteUserData>();
};
PJRT_PLUGIN_HANDLE(PJRT_ExecuteContext, ExecuteContext)

}  // namespace PJRT_PLUGIN_NS::plugin

#endif  // PLUGIN_EXECUTE_CONTEXT_H_
