#include "plugin/ffi_handlers.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "plugin/ffi_api.h"
#include "plugin/ffi_call.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

constexpr int kOldestFfiMinor = 1;
// More names than anybody reads in a message.
constexpr size_t kMaxNames = 32;

bool IsThisPlatform(std::string_view name) {
  return name.empty() ||
         std::ranges::equal(name, std::string_view(kPlatformName), [](char a, char b) {
           return std::tolower(static_cast<unsigned char>(a)) ==
                  std::tolower(static_cast<unsigned char>(b));
         });
}

// What a handler answers to a call that only asks: `metadata` has its version and traits then.
Status QueryMetadata(XLA_FFI_Handler* handler, XLA_FFI_Metadata* metadata) {
  *metadata = {};
  metadata->struct_size = XLA_FFI_Metadata_STRUCT_SIZE;
  metadata->api_version.struct_size = XLA_FFI_Api_Version_STRUCT_SIZE;
  XLA_FFI_Metadata_Extension extension = {};
  extension.extension_base.struct_size = XLA_FFI_Metadata_Extension_STRUCT_SIZE;
  extension.extension_base.type = XLA_FFI_Extension_Metadata;
  extension.metadata = metadata;
  XLA_FFI_CallFrame frame = EmptyCallFrame(XLA_FFI_ExecutionStage_EXECUTE);
  frame.extension_start = &extension.extension_base;
  PJRT_PLUGIN_ASSIGN_OR_RETURN([[maybe_unused]] const Completion done, CallFfi(handler, &frame));
  return Status();
}

class FfiHandlers final : public backend::CustomCalls {
 public:
  Status Add(std::string_view name, FfiHandler handler) {
    std::lock_guard lock(mutex_);
    const auto [at, added] = handlers_.emplace(name, handler);
    // The same library, registered once more.
    if (added || at->second == handler) return Status();
    return Status(Code::kAlreadyExists, "another FFI handler has the name " + std::string(name) +
                                            " already; register this one under another name");
  }

  Result<std::unique_ptr<backend::CustomCall>> Instantiate(
      const backend::CallSignature& signature) override {
    PJRT_PLUGIN_ASSIGN_OR_RETURN(const FfiHandler handler, Find(signature.target));
    return FfiCall::Create(handler, signature);
  }

 private:
  Result<FfiHandler> Find(const std::string& name) {
    std::lock_guard lock(mutex_);
    const auto at = handlers_.find(name);
    if (at != handlers_.end()) return at->second;
    std::vector<std::string_view> names;
    for (const auto& [other, handler] : handlers_) names.push_back(other);
    // Those that begin like it first: it may be misspelt, and frameworks register many of their
    // own.
    std::ranges::stable_sort(names, std::greater(), [&](std::string_view other) {
      return std::ranges::mismatch(name, other).in1 - name.begin();
    });
    std::string known;
    for (size_t i = 0; i < std::min(names.size(), kMaxNames); ++i)
      known += (i == 0 ? "" : ", ") + std::string(names[i]);
    if (names.size() > kMaxNames) known += ", ...";
    return Unimplemented("no FFI handler '" + name + "' is registered for the platform " +
                         std::string(kPlatformName) + "; registered are: " +
                         (known.empty() ? "none" : known) + " (jax.ffi.register_ffi_target)");
  }

  std::mutex mutex_;
  std::map<std::string, FfiHandler, std::less<>> handlers_;
};

// Never destroyed: executables may outlive static objects.
FfiHandlers& Handlers() {
  static FfiHandlers* const handlers = new FfiHandlers;
  return *handlers;
}

}  // namespace

Status RegisterFfiHandler(std::string_view name, std::string_view platform, FfiHandler handler,
                          uint32_t traits) {
  const std::string what = "the FFI handler " + std::string(name);
  if (!IsThisPlatform(platform)) {
    return InvalidArgument(what + " is for the platform " + std::string(platform) +
                           "; this plugin registers those for " + std::string(kPlatformName));
  }
  if (handler.execute == nullptr) {
    return InvalidArgument(what + " is null, or has nothing for the stage execute");
  }
  XLA_FFI_Metadata metadata;
  for (XLA_FFI_Handler* stage :
       {handler.instantiate, handler.prepare, handler.initialize, handler.execute}) {
    if (stage == nullptr) continue;
    PJRT_PLUGIN_RETURN_IF_ERROR(QueryMetadata(stage, &metadata).Annotated(what));
    const int major = metadata.api_version.major_version;
    const int minor = metadata.api_version.minor_version;
    if (major != XLA_FFI_API_MAJOR || minor < kOldestFfiMinor || minor > XLA_FFI_API_MINOR) {
      return InvalidArgument(what + " was compiled with version " + std::to_string(major) + "." +
                             std::to_string(minor) + " of XLA's FFI C API; this plugin calls 0." +
                             std::to_string(kOldestFfiMinor) + " to 0." +
                             std::to_string(XLA_FFI_API_MINOR));
    }
    handler.minor = minor;
    handler.traits |= metadata.traits;
  }
  handler.traits |= traits;
  return Handlers().Add(name, handler);
}

backend::CustomCalls* RegisteredCustomCalls() { return &Handlers(); }

}  // namespace PJRT_PLUGIN_NS::plugin
