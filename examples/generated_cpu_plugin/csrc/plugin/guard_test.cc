#include "generated/guard.h"

#include <cstdlib>
#include <iterator>
#include <map>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "generated/array.h"
#include "generated/table.h"
#include "testing/guard_page.h"
#include "testing/test.h"

// Needs nothing of the plugin: the errors are the test's own.

namespace PJRT_PLUGIN_NS::generated {

struct TestError {
  const void* vtable = nullptr;
  PJRT_Error_Code code;
  std::string message;
};

PJRT_Error* MakeError(PJRT_Error_Code code, std::string_view message) noexcept {
  return reinterpret_cast<PJRT_Error*>(new TestError{nullptr, code, std::string(message)});
}
PJRT_Error* MakeUnimplemented(const char* function) noexcept {
  return MakeError(PJRT_Error_Code_UNIMPLEMENTED, function);
}
PJRT_Error_Code CodeOf(const PJRT_Error* error) noexcept {
  return reinterpret_cast<const TestError*>(error)->code;
}

}  // namespace PJRT_PLUGIN_NS::generated

namespace {

using namespace PJRT_PLUGIN_NS::generated;
using PJRT_PLUGIN_NS::test::GuardedStruct;

// What an error says; code OK when there is none.
TestError Take(PJRT_Error* error) {
  if (error == nullptr) return {nullptr, PJRT_Error_Code(0), ""};
  auto* own = reinterpret_cast<TestError*>(error);
  TestError copy = *own;
  delete own;
  return copy;
}

template <class T>
T* Handle() {
  return reinterpret_cast<T*>(std::size_t{0x1000});
}

// The call that arrived last, and what it does.
struct Seen {
  void* args = nullptr;
  std::vector<std::byte> bytes;
  std::vector<std::byte> nested;
};
Seen seen;
void (*action)() = [] {};

struct Api : Defaults {
  static PJRT_Error* Client_Destroy(PJRT_Client_Destroy_Args* args) {
    seen.args = args;
    action();
    return nullptr;
  }
  static PJRT_Error* Plugin_Attributes(PJRT_Plugin_Attributes_Args* args) {
    args->attributes = Handle<PJRT_NamedValue>();
    args->num_attributes = 7;
    return nullptr;
  }
  static PJRT_Error* LoadedExecutable_Execute(PJRT_LoadedExecutable_Execute_Args* args) {
    const auto* options = reinterpret_cast<const std::byte*>(args->options);
    seen.nested.assign(options, options + PJRT_ExecuteOptions_STRUCT_SIZE);
    args->options->launch_id = 99;
    return nullptr;
  }
  static void Error_Message(PJRT_Error_Message_Args* args) {
    seen.args = args;
    action();
  }
};
constinit const PJRT_Api table = make_table<Api>();

PJRT_Client_Destroy_Args ClientArgs() {
  PJRT_Client_Destroy_Args args = {};
  args.struct_size = PJRT_Client_Destroy_Args_STRUCT_SIZE;
  args.client = Handle<PJRT_Client>();
  return args;
}

TEST(Guard, FullSizeCallerIsServedInPlace) {
  PJRT_Client_Destroy_Args args = ClientArgs();
  EXPECT_EQ(Take(table.PJRT_Client_Destroy(&args)).message, "");
  EXPECT_EQ(seen.args, static_cast<void*>(&args));
}

// pitfall 5: struct sizes are compared for equality, so a newer framework is refused
TEST(Guard, NewerCallerIsServedInPlace) {
  struct {
    PJRT_Client_Destroy_Args known = ClientArgs();
    std::size_t unknown = 42;
  } args;
  args.known.struct_size = sizeof(args);
  EXPECT_EQ(Take(table.PJRT_Client_Destroy(&args.known)).message, "");
  EXPECT_EQ(seen.args, static_cast<void*>(&args));
  EXPECT_EQ(args.unknown, 42u);
}

// Every size between the oldest and one that is larger than ours.
void ServesEveryStructSize(const Entry& called) {
  static constexpr std::byte kIn{0x5A}, kOut{0xAB};
  constexpr std::size_t kFirst = sizeof(std::size_t);  // struct_size stays
  static const Entry* entry;
  entry = &called;
  for (std::size_t size = called.oldest; size <= called.size + 8u; ++size) {
    const std::size_t owned = size == called.shorter ? called.shorter_true : size;
    const GuardedStruct caller(owned, size);
    std::byte* const bytes = caller.data();
    std::fill(bytes + kFirst, bytes + caller.size(), kIn);
    PJRT_Error* error =
        PJRT_PLUGIN_NS::generated::Run(called, bytes, [](void* args) -> PJRT_Error* {
          auto* full = static_cast<std::byte*>(args);
          seen.bytes.assign(full, full + entry->size);
          std::fill(full + kFirst, full + entry->size, kOut);
          return nullptr;
        });
    ASSERT_EQ(Take(error).message, "");
    const std::size_t shared = std::min<std::size_t>(owned, called.size);
    for (std::size_t i = kFirst; i < called.size; ++i) {
      ASSERT_EQ(int(seen.bytes[i]), int(i < shared ? kIn : std::byte{0})) << called.name;
    }
    for (std::size_t i = kFirst; i < caller.size(); ++i) {
      ASSERT_EQ(int(bytes[i]), int(i < shared ? kOut : kIn)) << called.name;
    }
    std::size_t declared = 0;
    std::memcpy(&declared, bytes, sizeof(declared));
    EXPECT_EQ(declared, size);
  }
}

// pitfall 3: a struct that is smaller than the plugin's own header says is refused
TEST(Guard, EveryStructSizeOfEveryFunctionIsServed) {
  for (const Entry* entry : kEntries) {
    if (entry->nested == nullptr) ServesEveryStructSize(*entry);  // with one: below
  }
}

TEST(Guard, EveryStructSizeOfEveryExtensionFunctionIsServed) {
  for (const Entry* entry : kExtensionEntries) ServesEveryStructSize(*entry);
}

// pitfall 4: a newer plugin cannot make a client for an older framework
TEST(Guard, NestedStructsOfEverySizeAreServed) {
  const Entry& options_entry = kEntry<PJRT_ExecuteOptions>;
  std::size_t oldest = PJRT_ExecuteOptions_STRUCT_SIZE;  // until it grew
  if (options_entry.name != nullptr) oldest = options_entry.oldest;
  for (std::size_t size = oldest; size <= PJRT_ExecuteOptions_STRUCT_SIZE + 8u; ++size) {
    const GuardedStruct caller(size);
    std::fill(caller.data() + sizeof(size), caller.data() + caller.size(), std::byte{0x5A});
    auto* options = reinterpret_cast<PJRT_ExecuteOptions*>(caller.data());
    PJRT_LoadedExecutable_Execute_Args args = {};
    args.struct_size = PJRT_LoadedExecutable_Execute_Args_STRUCT_SIZE;
    args.executable = Handle<PJRT_LoadedExecutable>();
    args.options = options;
    EXPECT_EQ(Take(table.PJRT_LoadedExecutable_Execute(&args)).message, "");
    EXPECT_EQ(args.options, options);
    EXPECT_EQ(options->launch_id, 99);
    EXPECT_EQ(options->struct_size, size);
    for (std::size_t i = sizeof(std::size_t); i < PJRT_ExecuteOptions_STRUCT_SIZE; ++i) {
      ASSERT_EQ(int(seen.nested[i]), i < size ? 0x5A : 0);
    }
  }
}

TEST(Guard, TooSmallNestedStructIsRefused) {
  PJRT_ExecuteOptions options = {};
  options.struct_size = 16;
  PJRT_LoadedExecutable_Execute_Args args = {};
  args.struct_size = PJRT_LoadedExecutable_Execute_Args_STRUCT_SIZE;
  args.executable = Handle<PJRT_LoadedExecutable>();
  args.options = &options;
  if (kEntry<PJRT_ExecuteOptions>.name == nullptr) return;  // never grew up to this version
  TestError error = Take(table.PJRT_LoadedExecutable_Execute(&args));
  EXPECT_EQ(error.code, PJRT_Error_Code_INVALID_ARGUMENT);
  EXPECT_CONTAINS(error.message, "struct_size of PJRT_ExecuteOptions is 16 bytes");
}

TEST(Guard, TooSmallStructIsRefusedWithSizes) {
  PJRT_Client_Destroy_Args args = ClientArgs();
  for (std::size_t size : {std::size_t{0}, std::size_t{8}, std::size_t{23}}) {
    args.struct_size = size;
    TestError error = Take(table.PJRT_Client_Destroy(&args));
    EXPECT_EQ(error.code, PJRT_Error_Code_INVALID_ARGUMENT);
    EXPECT_CONTAINS(error.message, "PJRT_Client_Destroy");
    EXPECT_CONTAINS(error.message, "is " + std::to_string(size) + " bytes");
    EXPECT_CONTAINS(error.message, "oldest supported is 24");
  }
}

TEST(Guard, NullsAreRefused) {
  EXPECT_CONTAINS(Take(table.PJRT_Client_Destroy(nullptr)).message, "args is null");
  PJRT_Client_Destroy_Args args = ClientArgs();
  args.client = nullptr;
  TestError error = Take(table.PJRT_Client_Destroy(&args));
  EXPECT_EQ(error.code, PJRT_Error_Code_INVALID_ARGUMENT);
  EXPECT_CONTAINS(error.message, "PJRT_Client_Destroy: client is null");
}

// Callers up to 0.70 declare 24 bytes and read the member at 24.
TEST(Guard, WronglyDeclaredStructIsAnsweredInFull) {
  PJRT_Plugin_Attributes_Args args = {};
  args.struct_size = 24;
  EXPECT_EQ(Take(table.PJRT_Plugin_Attributes(&args)).message, "");
  EXPECT_EQ(args.num_attributes, 7u);
}

// pitfall 52: an exception in one operation ends the process
TEST(Guard, ExceptionsBecomeErrors) {
  PJRT_Client_Destroy_Args args = ClientArgs();
  action = [] { throw std::bad_alloc(); };
  EXPECT_EQ(Take(table.PJRT_Client_Destroy(&args)).code, PJRT_Error_Code_RESOURCE_EXHAUSTED);
  action = [] { throw std::runtime_error("device 3 fell off the bus"); };
  TestError error = Take(table.PJRT_Client_Destroy(&args));
  EXPECT_EQ(error.code, PJRT_Error_Code_INTERNAL);
  EXPECT_EQ(error.message, "PJRT_Client_Destroy: device 3 fell off the bus");
  action = [] { throw 1; };
  EXPECT_EQ(Take(table.PJRT_Client_Destroy(&args)).code, PJRT_Error_Code_INTERNAL);
  action = [] {};
}

TEST(Guard, FunctionsWithoutStatusNeverThrow) {
  PJRT_Error_Message_Args args = {};
  seen.args = nullptr;
  table.PJRT_Error_Message(nullptr);
  table.PJRT_Error_Message(&args);  // struct_size 0
  args.struct_size = PJRT_Error_Message_Args_STRUCT_SIZE;
  table.PJRT_Error_Message(&args);  // no error
  EXPECT_EQ(seen.args, static_cast<void*>(nullptr));
  args.error = Handle<PJRT_Error>();
  action = [] { throw 1; };
  table.PJRT_Error_Message(&args);
  EXPECT_EQ(seen.args, static_cast<void*>(&args));
  action = [] {};
}

TEST(StructArray, ElementsAreAsLargeAsTheCallerDeclares) {
  struct Longer {
    PJRT_NamedValue known = {};
    std::size_t unknown[3] = {};
  } longer[3];
  for (int i = 0; i < 3; ++i) {
    longer[i].known.struct_size = sizeof(Longer);
    longer[i].known.name_size = 10 + i;
  }
  StructArray<const PJRT_NamedValue> values(&longer[0].known, 3);
  EXPECT_EQ(values.size(), 3u);
  EXPECT_EQ(values[2].name_size, 12u);
  EXPECT_TRUE(values.Covers(PJRT_NamedValue_STRUCT_SIZE));
  EXPECT_FALSE(values.Covers(sizeof(Longer) + 1));

  PJRT_NamedValue own[2] = {};  // struct_size not set
  own[1].name_size = 7;
  EXPECT_EQ((StructArray<PJRT_NamedValue>(own, 2)[1].name_size), 7u);
  EXPECT_EQ(StructArray<PJRT_NamedValue>(nullptr, 5).size(), 0u);
}

// The only entries that frameworks hold against null.
// pitfall 8: an entry of the call table is null, and frameworks jump to it
TEST(Table, OnlyNullCheckedEntriesAreNull) {
  const std::set<std::string> null_checked = {
      "Event_Create",
      "Event_Set",
      "Device_GetAttributes",
      "Client_Load",
      "LoadedExecutable_AddressableDeviceLogicalIds",
      "Buffer_Bitcast",
      "Device_ClearMemoryStats",
      "TopologyDescription_MakeCanonicalShapeForMemorySpace",
      "TopologyDescription_GetMemorySpaceKindIds"};
  const PJRT_Api defaults = make_table<Defaults>();
  const std::size_t first = offsetof(PJRT_Api, PJRT_Error_Destroy);
  EXPECT_EQ(first + std::size(kFunctions) * sizeof(void*), sizeof(PJRT_Api));
  for (std::size_t i = 0; i < std::size(kFunctions); ++i) {
    const bool null = LoadPointer(&defaults, first + i * sizeof(void*)) == nullptr;
    EXPECT_EQ(std::string(kFunctions[i]) + (null ? " null" : ""),
              std::string(kFunctions[i]) +
                  (null_checked.count(std::string(kFunctions[i])) != 0 ? " null" : ""));
  }
}

TEST(Table, DefaultsNameTheFunction) {
  const PJRT_Api defaults = make_table<Defaults>();
  PJRT_Client_Compile_Args args = {};
  args.struct_size = PJRT_Client_Compile_Args_STRUCT_SIZE;
  args.client = Handle<PJRT_Client>();
  args.program = Handle<PJRT_Program>();
  TestError error = Take(defaults.PJRT_Client_Compile(&args));
  EXPECT_EQ(error.code, PJRT_Error_Code_UNIMPLEMENTED);
  EXPECT_EQ(error.message, "PJRT_Client_Compile");
}

// pitfall 17: the call table has other offsets than the framework's
TEST(Table, ReportsItsVersionAndSize) {
  EXPECT_EQ(table.struct_size, sizeof(PJRT_Api));
  EXPECT_EQ(table.pjrt_api_version.major_version, PJRT_API_MAJOR);
  EXPECT_EQ(table.pjrt_api_version.minor_version, PJRT_API_MINOR);
}

}  // namespace
