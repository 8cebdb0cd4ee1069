#include "plugin/error.h"

#include <string>

#include "generated/features.h"
#include "plugin/api_test_util.h"
#include "testing/test.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

const Status kFailure(Code::kNotFound, "no such thing", {{"key", "value"}, {"empty", ""}});

void Collect(const char* key, size_t key_size, const char* value, size_t value_size, void* text) {
  *static_cast<std::string*>(text) +=
      std::string(key, key_size) + "=" + std::string(value, value_size) + ";";
}

TEST(Error, SaysWhatTheStatusSays) {
  EXPECT_TRUE(MakeError(Status()) == nullptr);
  EXPECT_EQ(Text(MakeError(kFailure)), "5: no such thing");
  const Status taken = TakeError(MakeError(kFailure));
  EXPECT_EQ(taken.message(), "no such thing");
  EXPECT_EQ(taken.payloads().size(), size_t{2});
  EXPECT_TRUE(TakeError(nullptr).ok());
}

TEST(Error, DestroyTakesNull) {
  auto args = Make<PJRT_Error_Destroy_Args>();
  Api().PJRT_Error_Destroy(&args);
}

TEST(Error, UnknownCodesStayErrors) {
  EXPECT_EQ(Text(CallbackError(PJRT_Error_Code(99), "odd", 3)), "2: odd");
  EXPECT_TRUE(CallbackError(PJRT_Error_Code(0), "", 0) == nullptr);
}

TEST(Error, UnimplementedNamesTheFunction) {
  auto args = Make<PJRT_Client_DefaultDeviceAssignment_Args>();
  EXPECT_CONTAINS(Text(Api().PJRT_Client_DefaultDeviceAssignment(&args)), "client is null");
  EXPECT_CONTAINS(Text(generated::MakeUnimplemented("PJRT_X")), "12: PJRT_X");
}

#if PJRT_SCAFFOLD_HAS_PJRT_Error_ForEachPayload
// pitfall 14: listing the payloads of an error is an error itself, and so on without end
TEST(Error, PayloadsAreVisited) {
  auto args = Make<PJRT_Error_ForEachPayload_Args>();
  PJRT_Error* error = MakeError(kFailure);
  std::string text;
  args.error = error;
  args.visitor = Collect;
  args.user_arg = &text;
  EXPECT_TRUE(Api().PJRT_Error_ForEachPayload(&args) == nullptr);
  EXPECT_EQ(text, "key=value;empty=;");
  EXPECT_EQ(Text(error), "5: no such thing");
}
#endif

#if PJRT_SCAFFOLD_HAS_PJRT_Error_FunctionTable
// Frameworks that hold an error without the table of the plugin call through the error itself.
// pitfall 18: errors lack the function table that newer frameworks call through
TEST(Error, ItsOwnTableDoesTheSame) {
  PJRT_Error* error = MakeError(kFailure);
  const PJRT_Error_FunctionTable& table = *error->vtable;
  EXPECT_EQ(table.struct_size, sizeof(PJRT_Error_FunctionTable));
  EXPECT_EQ(table.instance_size, sizeof(PJRT_Error));
  const char* message = nullptr;
  size_t size = 0;
  table.message(error, &message, &size);
  EXPECT_EQ(std::string(message, size), "no such thing");
  EXPECT_EQ(int(table.get_code(error)), 5);
  std::string text;
  table.for_each_payload(error, Collect, &text);
  EXPECT_EQ(text, "key=value;empty=;");
  table.destroy(error);
}
#endif

}  // namespace
}  // namespace PJRT_PLUGIN_NS::plugin
