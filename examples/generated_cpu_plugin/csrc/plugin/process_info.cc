// PJRT_Client_UpdateGlobalProcessInfo: what the framework knows of the job's processes. An error
// here ends the whole job, so there is none.

#include <string>
#include <utility>
#include <vector>

#include "generated/array.h"
#include "generated/features.h"
#include "plugin/client.h"
#include "plugin/error.h"
#include "plugin/layer.h"

// 0.73 and 0.74 know processes without a declared size. Frameworks since then send others, and
// nothing tells the two apart: plugins of those versions accept the news unread.
#if PJRT_SCAFFOLD_HAS_PJRT_ProcessInfo_struct_size

namespace PJRT_PLUGIN_NS::plugin {
namespace {

backend::ProcessInfo ReadProcess(const PJRT_ProcessInfo& given) {
  backend::ProcessInfo info;
  info.index = given.task_id;
  info.incarnation = given.incarnation_id;
  info.connected = Raw(given.state) == int(PJRT_ProcessState_kConnected);
  if (Raw(given.state) == int(PJRT_ProcessState_kError)) {
    const bool is_code = given.error_code > 0 && given.error_code <= int(Code::kUnauthenticated);
    std::string message;
    if (given.error_message != nullptr) {
      message.assign(given.error_message, given.error_message_size);
    }
    info.error = Status(is_code ? Code(given.error_code) : Code::kUnknown, std::move(message));
  }
  return info;
}

}  // namespace

PJRT_Error* Layer::Client_UpdateGlobalProcessInfo(PJRT_Client_UpdateGlobalProcessInfo_Args* args) {
  const generated::StructArray<const PJRT_ProcessInfo> given(args->process_infos,
                                                             args->num_process_infos);
  std::vector<backend::ProcessInfo> processes;
  for (size_t i = 0; i < given.size(); ++i) processes.push_back(ReadProcess(given[i]));
  FromC(args->client)->driver->UpdateProcesses(processes);
  return nullptr;
}

}  // namespace PJRT_PLUGIN_NS::plugin

#endif
