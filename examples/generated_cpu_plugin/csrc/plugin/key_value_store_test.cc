// The job's key-value store, through callbacks as a framework gives them.

#include "plugin/key_value_store.h"

#include <cstring>
#include <map>
#include <string>

#include "generated/features.h"
#include "plugin/api_test_util.h"
#include "plugin/error.h"
#include "testing/test.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

// A framework's store, and how many of its values are not freed.
struct Store {
  std::map<std::string, std::string> values;
  int last_timeout = 0;
  static inline int lent = 0;

  template <typename Args>
  static PJRT_Error* Lend(Store& store, Args* args, PJRT_Error_Code missing) {
    const auto at = store.values.find(std::string(args->key, args->key_size));
    if (at == store.values.end()) {
      const std::string text = "no such key";
      return (*args->callback_error)(missing, text.data(), text.size());
    }
    args->value = new char[at->second.size() + 1];
    std::memcpy(args->value, at->second.data(), at->second.size());
    args->value_size = at->second.size();
    args->value_deleter_callback = [](char* value) {
      --lent;
      delete[] value;
    };
    ++lent;
    return nullptr;
  }
  static PJRT_Error* Get(PJRT_KeyValueGetCallback_Args* args) {
    Store& store = *static_cast<Store*>(args->user_arg);
    store.last_timeout = args->timeout_in_ms;
    return Lend(store, args, PJRT_Error_Code_DEADLINE_EXCEEDED);
  }
  static PJRT_Error* Put(PJRT_KeyValuePutCallback_Args* args) {
    Store& store = *static_cast<Store*>(args->user_arg);
    const std::string key(args->key, args->key_size);
    if (!store.values.emplace(key, std::string(args->value, args->value_size)).second) {
      const std::string text = "the key is taken";
      return (*args->callback_error)(PJRT_Error_Code_ALREADY_EXISTS, text.data(), text.size());
    }
    return nullptr;
  }
  PJRT_Client_Create_Args Args() {
    auto args = Make<PJRT_Client_Create_Args>();
    args.kv_get_callback = Get;
    args.kv_get_user_arg = this;
    args.kv_put_callback = Put;
    args.kv_put_user_arg = this;
    return args;
  }
};

// pitfall 79: the processes of a job cannot find each other, as the callbacks for it are not
// passed on
TEST(KeyValueStore, PutsAndGetsAnyBytes) {
  Store framework;
  auto store = MakeKeyValueStore(framework.Args());
  ASSERT_TRUE(store.ok());
  const std::string value("a\0b", 3);
  EXPECT_TRUE(store->put("id/0", value).ok());
  EXPECT_TRUE(store->put("empty", "").ok());
  const auto got = store->get("id/0", 1234);
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(*got, value);
  EXPECT_EQ(framework.last_timeout, 1234);
  const auto empty = store->get("empty", 0);
  ASSERT_TRUE(empty.ok());
  EXPECT_EQ(*empty, "");
  EXPECT_EQ(Store::lent, 0);
}

TEST(KeyValueStore, FailuresAreTheFrameworks) {
  Store framework;
  auto store = MakeKeyValueStore(framework.Args());
  ASSERT_TRUE(store.ok());
  const auto none = store->get("id/1", 5);
  EXPECT_TRUE(none.status().code() == Code::kDeadlineExceeded);
  EXPECT_EQ(none.status().message(), "no such key");
  EXPECT_TRUE(store->put("id/0", "x").ok());
  EXPECT_TRUE(store->put("id/0", "y").code() == Code::kAlreadyExists);
}

TEST(KeyValueStore, LooksWithoutWaiting) {
  Store framework;
  auto args = framework.Args();
  for (const bool has_try_get : {false, true}) {
    if (has_try_get) {
#if PJRT_SCAFFOLD_HAS_PJRT_Client_Create_Args_kv_try_get_callback
      args.kv_try_get_callback = [](PJRT_KeyValueTryGetCallback_Args* one) {
        return Store::Lend(*static_cast<Store*>(one->user_arg), one, PJRT_Error_Code_NOT_FOUND);
      };
      args.kv_try_get_user_arg = &framework;
#endif
    }
    framework.values.clear();
    auto store = MakeKeyValueStore(args);
    ASSERT_TRUE(store.ok());
    EXPECT_TRUE(store->try_get("id/0").status().code() == Code::kNotFound);
    EXPECT_TRUE(store->put("id/0", "x").ok());
    const auto got = store->try_get("id/0");
    ASSERT_TRUE(got.ok());
    EXPECT_EQ(*got, "x");
  }
  EXPECT_EQ(Store::lent, 0);
}

TEST(KeyValueStore, WithoutCallbacksSaysWhatToDo) {
  EXPECT_CONTAINS(MakeKeyValueStore(Make<PJRT_Client_Create_Args>()).status().message(),
                  "jax.distributed.initialize");
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::plugin
