#include "plugin/key_value_store.h"

#include <memory>
#include <string>
#include <string_view>

#include "generated/features.h"
#include "plugin/error.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

// A value is the framework's, which gets it back whatever happens here.
template <typename Args>
std::string TakeValue(const Args& args) {
  const auto free = [&](char* value) {
    if (args.value_deleter_callback != nullptr) args.value_deleter_callback(value);
  };
  const std::unique_ptr<char, decltype(free)> value(args.value, free);
  return args.value == nullptr ? std::string() : std::string(args.value, args.value_size);
}

Status Put(PJRT_KeyValuePutCallback callback, void* user_arg, std::string_view key,
           std::string_view value) {
  PJRT_CallbackError callback_error = CallbackError;
  PJRT_KeyValuePutCallback_Args args = {};
  args.struct_size = PJRT_KeyValuePutCallback_Args_STRUCT_SIZE;
  args.key = key.data();
  args.key_size = key.size();
  args.value = value.data();
  args.value_size = value.size();
  args.callback_error = &callback_error;
  args.user_arg = user_arg;
  return TakeError(callback(&args));
}

Result<std::string> Get(PJRT_KeyValueGetCallback callback, void* user_arg, std::string_view key,
                        int timeout_ms) {
  PJRT_CallbackError callback_error = CallbackError;
  PJRT_KeyValueGetCallback_Args args = {};
  args.struct_size = PJRT_KeyValueGetCallback_Args_STRUCT_SIZE;
  args.key = key.data();
  args.key_size = key.size();
  args.timeout_in_ms = timeout_ms;
  args.callback_error = &callback_error;
  args.user_arg = user_arg;
  PJRT_PLUGIN_RETURN_IF_ERROR(TakeError(callback(&args)));
  return TakeValue(args);
}

// Where a framework has no such function: a short wait.
Result<std::string> GetSoon(PJRT_KeyValueGetCallback callback, void* user_arg,
                            std::string_view key) {
  Result<std::string> value = Get(callback, user_arg, key, /*timeout_ms=*/1);
  if (value.ok() || value.status().code() != Code::kDeadlineExceeded) return value;
  return NotFound("nobody has put a value under " + std::string(key) + " yet");
}

#if PJRT_SCAFFOLD_HAS_PJRT_Client_Create_Args_kv_try_get_callback
Result<std::string> TryGet(PJRT_KeyValueTryGetCallback callback, void* user_arg,
                           std::string_view key) {
  PJRT_CallbackError callback_error = CallbackError;
  PJRT_KeyValueTryGetCallback_Args args = {};
  args.struct_size = PJRT_KeyValueTryGetCallback_Args_STRUCT_SIZE;
  args.key = key.data();
  args.key_size = key.size();
  args.callback_error = &callback_error;
  args.user_arg = user_arg;
  PJRT_PLUGIN_RETURN_IF_ERROR(TakeError(callback(&args)));
  return TakeValue(args);
}
#endif

}  // namespace

Result<backend::KeyValueStore> MakeKeyValueStore(const PJRT_Client_Create_Args& args) {
  if (args.kv_get_callback == nullptr || args.kv_put_callback == nullptr) {
    return InvalidArgument(
        "PJRT_Client_Create: a job of several processes needs the key-value callbacks; call "
        "jax.distributed.initialize before the first use of a device");
  }
  backend::KeyValueStore store;
  store.put = [callback = args.kv_put_callback, user_arg = args.kv_put_user_arg](
                  std::string_view key, std::string_view value) {
    return Put(callback, user_arg, key, value);
  };
  store.get = [callback = args.kv_get_callback, user_arg = args.kv_get_user_arg](
                  std::string_view key, int timeout_ms) {
    return Get(callback, user_arg, key, timeout_ms);
  };
  store.try_get = [callback = args.kv_get_callback, user_arg = args.kv_get_user_arg](
                      std::string_view key) { return GetSoon(callback, user_arg, key); };
#if PJRT_SCAFFOLD_HAS_PJRT_Client_Create_Args_kv_try_get_callback
  if (args.kv_try_get_callback != nullptr) {
    store.try_get = [callback = args.kv_try_get_callback, user_arg = args.kv_try_get_user_arg](
                        std::string_view key) { return TryGet(callback, user_arg, key); };
  }
#endif
  return store;
}

}  // namespace PJRT_PLUGIN_NS::plugin
