// Foreign functions from registration to the end of a call, with handlers written against the C API
// by hand; those of the headers in jaxlib run in tests/test_foreign_functions.py.

#include <algorithm>
#include <cstring>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "generated/features.h"
#include "generated/pjrt_extensions.h"
#include "plugin/api_test_util.h"
#include "plugin/execute_context.h"
#include "plugin/extensions.h"
#include "plugin/ffi_api.h"
#include "plugin/ffi_handlers.h"
#include "testing/test.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

using backend::CallAttribute;
using backend::CallNumbers;
using backend::DType;

// As a backend that offers nothing has it.
class BareContext : public backend::CallContext {
 public:
  int device() const override { return 3; }
  int64_t run_id() const override { return 77; }
  const backend::UserData* user_data() const override { return data; }

  const backend::UserData* data = nullptr;
};

// Answers the question for its version and traits; false when the call is a real one.
template <int kMinor>
bool IsQuestion(XLA_FFI_CallFrame* frame) {
  if (frame->extension_start == nullptr) return false;
  auto* extension = reinterpret_cast<XLA_FFI_Metadata_Extension*>(frame->extension_start);
  extension->metadata->api_version.major_version = XLA_FFI_API_MAJOR;
  extension->metadata->api_version.minor_version = kMinor;
  extension->metadata->traits = XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE;
  return true;
}

template <typename Args>
Args MakeFfi(size_t size) {
  Args args = {};
  args.struct_size = size;
  return args;
}

std::string TextOf(const Status& status) {
  return status.ok() ? ""
                     : std::to_string(int(status.code())) + ": " + std::string(status.message());
}
std::string TextOf(XLA_FFI_Error* error) { return TextOf(TakeFfiError(error)); }

XLA_FFI_Error* NewError(const char* message) {
  auto args = MakeFfi<XLA_FFI_Error_Create_Args>(XLA_FFI_Error_Create_Args_STRUCT_SIZE);
  args.message = message;
  args.errc = XLA_FFI_Error_Code_DATA_LOSS;
  return FfiApi()->XLA_FFI_Error_Create(&args);
}

bool Has(const std::string& text, const char* part) { return text.find(part) != text.npos; }

FfiHandler OfOneStage(XLA_FFI_Handler* execute) {
  FfiHandler handler;
  handler.execute = execute;
  return handler;
}

std::string RegisterAs(const char* name, FfiHandler handler) {
  return TextOf(RegisterFfiHandler(name, kPlatformName, handler, 0));
}

Result<std::unique_ptr<backend::CustomCall>> Instantiate(
    const char* target, backend::CallAttributes attributes = {},
    std::vector<std::optional<backend::Shape>> arrays = {}) {
  return RegisteredCustomCalls()->Instantiate({target, arrays, arrays, std::move(attributes)});
}

CallAttribute Numbers(DType dtype, bool is_scalar, std::vector<int32_t> values) {
  CallNumbers numbers{dtype, is_scalar, {}};
  numbers.bytes.resize(values.size() * sizeof(int32_t));
  if (!values.empty()) std::memcpy(numbers.bytes.data(), values.data(), numbers.bytes.size());
  return {std::move(numbers)};
}

// ---- Registration ----

XLA_FFI_Error* Nothing(XLA_FFI_CallFrame* frame) {
  (void)IsQuestion<5>(frame);
  return nullptr;
}
XLA_FFI_Error* FromTheFuture(XLA_FFI_CallFrame* frame) {
  (void)IsQuestion<XLA_FFI_API_MINOR + 1>(frame);
  return nullptr;
}
XLA_FFI_Error* SaysNothing(XLA_FFI_CallFrame*) { return nullptr; }
XLA_FFI_Error* Broken(XLA_FFI_CallFrame*) { return NewError("cannot say"); }

TEST(Ffi, RegistrationAsksTheHandler) {
  EXPECT_EQ(RegisterAs("nothing", OfOneStage(&Nothing)), "");
  EXPECT_EQ(RegisterAs("nothing", OfOneStage(&Nothing)), "");
  EXPECT_TRUE(Has(RegisterAs("nothing", {&Nothing, nullptr, nullptr, &Nothing}), "6: another"));
  EXPECT_TRUE(Has(RegisterAs("new", OfOneStage(&FromTheFuture)), "3: the FFI handler new was"));
  EXPECT_TRUE(Has(RegisterAs("mute", OfOneStage(&SaysNothing)), "version 0.0 of"));
  EXPECT_TRUE(Has(RegisterAs("broken", OfOneStage(&Broken)), "15: the FFI handler broken: cannot"));
  EXPECT_TRUE(Has(RegisterAs("empty", {}), "nothing for the stage execute"));
  EXPECT_TRUE(Has(TextOf(RegisterFfiHandler("far", "Host", OfOneStage(&Nothing), 0)), "for the "));
}

TEST(Ffi, UnknownTargetNamesTheKnownOnes) {
  EXPECT_EQ(RegisterAs("known", OfOneStage(&Nothing)), "");
  const std::string text = TextOf(Instantiate("unknown").status());
  EXPECT_TRUE(Has(text, "12: no FFI handler 'unknown' is registered") && Has(text, "known"));
}

// ---- What a handler sees ----

std::string seen_frame;

XLA_FFI_Error* Look(XLA_FFI_CallFrame* frame) {
  if (IsQuestion<5>(frame)) return nullptr;
  seen_frame = "stage " + std::to_string(frame->stage);
  for (int64_t i = 0; i < frame->args.size; ++i) {
    const auto* buffer = static_cast<const XLA_FFI_Buffer*>(frame->args.args[i]);
    seen_frame += " type " + std::to_string(buffer->dtype);
    for (int64_t d = 0; d < buffer->rank; ++d) seen_frame += "," + std::to_string(buffer->dims[d]);
    const auto* out = static_cast<const XLA_FFI_Buffer*>(frame->rets.rets[i]);
    if (buffer->data != nullptr) {
      static_cast<float*>(out->data)[0] = static_cast<const float*>(buffer->data)[0] + 1;
    }
  }
  for (int64_t i = 0; i < frame->attrs.size; ++i) {
    const XLA_FFI_ByteSpan* name = frame->attrs.names[i];
    seen_frame += " " + std::string(name->ptr, name->len) + "=";
    const void* value = frame->attrs.attrs[i];
    switch (frame->attrs.types[i]) {
      case XLA_FFI_AttrType_SCALAR:
        seen_frame += std::to_string(
            *static_cast<const int*>(static_cast<const XLA_FFI_Scalar*>(value)->value));
        break;
      case XLA_FFI_AttrType_ARRAY:
        seen_frame += "[" + std::to_string(static_cast<const XLA_FFI_Array*>(value)->size) + "]";
        break;
      case XLA_FFI_AttrType_STRING: {
        const auto* text = static_cast<const XLA_FFI_ByteSpan*>(value);
        seen_frame += std::string(text->ptr, text->len);
        break;
      }
      case XLA_FFI_AttrType_DICTIONARY:
        seen_frame += "{" + std::to_string(static_cast<const XLA_FFI_Attrs*>(value)->size) + "}";
    }
  }
  return nullptr;
}

TEST(Ffi, FrameHasArraysAndSortedAttributes) {
  EXPECT_EQ(RegisterAs("look", OfOneStage(&Look)), "");
  backend::CallAttributes attributes = {
      {"text", {std::string("abc")}},
      {"list", Numbers(DType::kS32, false, {1, 2, 3})},
      {"inner", {backend::CallAttributes{{"x", Numbers(DType::kS32, true, {1})}}}},
      {"a", Numbers(DType::kS32, true, {-5})}};
  auto call = Instantiate("look", attributes, {backend::Shape{DType::kF32, {2, 3}}, std::nullopt});
  EXPECT_EQ(TextOf(call.status()), "");
  float in[6] = {41};
  float out[6] = {};
  void* from[] = {in, nullptr};
  void* to[] = {out, nullptr};
  BareContext context;
  EXPECT_EQ(TextOf((*call)->Run(from, to, context).Await()), "");
  EXPECT_EQ(seen_frame, "stage 3 type 11,2,3 type 17 a=-5 inner={1} list=[3] text=abc");
  EXPECT_EQ(out[0], 42.0f);
}

TEST(Ffi, FailureAndExceptionAreTheCallsOwn) {
  FfiHandler fails = OfOneStage([](XLA_FFI_CallFrame* frame) -> XLA_FFI_Error* {
    return IsQuestion<5>(frame) ? nullptr : NewError("out of ink");
  });
  FfiHandler throws = OfOneStage([](XLA_FFI_CallFrame* frame) -> XLA_FFI_Error* {
    if (IsQuestion<5>(frame)) return nullptr;
    throw 5;
  });
  BareContext context;
  EXPECT_EQ(RegisterAs("fails", fails), "");
  EXPECT_EQ(TextOf((*Instantiate("fails"))->Run({}, {}, context).Await()),
            "15: the FFI handler 'fails': out of ink");
  EXPECT_EQ(RegisterAs("throws", throws), "");
  EXPECT_TRUE(Has(TextOf((*Instantiate("throws"))->Run({}, {}, context).Await()), "2: the FFI"));
}

// ---- Stages and states ----

int states_alive = 0;
int64_t state_type = 0;
std::string stages_run;

void DropState(void* state) {
  delete static_cast<int*>(state);
  --states_alive;
}

XLA_FFI_Error* SetState(XLA_FFI_CallFrame* frame, int value) {
  auto args = MakeFfi<XLA_FFI_State_Set_Args>(XLA_FFI_State_Set_Args_STRUCT_SIZE);
  XLA_FFI_TypeId type{state_type};
  args.ctx = frame->ctx;
  args.stage = frame->stage;
  args.type_id = &type;
  args.state = new int(value);
  ++states_alive;
  return FfiApi()->XLA_FFI_State_Set(&args);
}

int StateOfStage(XLA_FFI_CallFrame* frame, XLA_FFI_ExecutionStage stage) {
  auto args = MakeFfi<XLA_FFI_State_Get_Args>(XLA_FFI_State_Get_Args_STRUCT_SIZE);
  XLA_FFI_TypeId type{state_type};
  args.ctx = frame->ctx;
  args.stage = stage;
  args.type_id = &type;
  if (TextOf(FfiApi()->XLA_FFI_State_Get(&args)) != "") return -1;
  return *static_cast<int*>(args.state);
}

// Every stage but the last keeps a state: 10 times its number plus 1.
XLA_FFI_Error* Staged(XLA_FFI_CallFrame* frame) {
  if (IsQuestion<5>(frame)) return nullptr;
  stages_run += std::to_string(frame->stage);
  if (frame->stage != XLA_FFI_ExecutionStage_EXECUTE) {
    return SetState(frame, int(frame->stage) * 10 + 1);
  }
  for (int stage = 0; stage < 3; ++stage)
    stages_run += " " + std::to_string(StateOfStage(frame, XLA_FFI_ExecutionStage(stage)));
  return nullptr;
}

TEST(Ffi, StagesRunInOrderAndKeepStates) {
  EXPECT_EQ(TextOf(RegisterFfiType("state", &state_type, &DropState)), "");
  EXPECT_TRUE(state_type > 0);
  EXPECT_EQ(RegisterAs("staged", {&Staged, &Staged, &Staged, &Staged}), "");
  {
    auto call = Instantiate("staged");
    EXPECT_EQ(stages_run, "0");
    EXPECT_EQ(states_alive, 1);
    BareContext context;
    for (int i = 0; i < 2; ++i) EXPECT_EQ(TextOf((*call)->Run({}, {}, context).Await()), "");
    EXPECT_EQ(stages_run, "0123 1 11 21123 1 11 21");
    EXPECT_EQ(states_alive, 1);
  }
  EXPECT_EQ(states_alive, 0);
}

// Versions before 0.3 have no stage in the arguments, those before 0.2 bring the deleter.
struct OldArgs {
  size_t struct_size;
  void* extension_start;
  XLA_FFI_InvokeContext* ctx;
  XLA_FFI_TypeId* type_id;
  void* state;
  void (*deleter)(void*);
};

template <int kMinor>
XLA_FFI_Error* OldStaged(XLA_FFI_CallFrame* frame) {
  if (IsQuestion<kMinor>(frame)) return nullptr;
  XLA_FFI_TypeId type{kMinor < 2 ? 12345 : state_type};
  OldArgs args = {kMinor < 2 ? size_t{48} : size_t{40}, nullptr, frame->ctx, &type, nullptr,
                  kMinor < 2 ? &DropState : nullptr};
  if (frame->stage == XLA_FFI_ExecutionStage_INSTANTIATE) {
    args.state = new int(5);
    ++states_alive;
    return FfiApi()->XLA_FFI_State_Set(reinterpret_cast<XLA_FFI_State_Set_Args*>(&args));
  }
  args.struct_size = 40;
  XLA_FFI_Error* error =
      FfiApi()->XLA_FFI_State_Get(reinterpret_cast<XLA_FFI_State_Get_Args*>(&args));
  if (error != nullptr) return error;
  return *static_cast<int*>(args.state) == 5 ? nullptr : NewError("another state");
}

TEST(Ffi, HandlersOfOlderVersionsKeepStates) {
  EXPECT_EQ(TextOf(RegisterFfiType("state", &state_type, &DropState)), "");
  EXPECT_EQ(RegisterAs("old1", {&OldStaged<1>, nullptr, nullptr, &OldStaged<1>}), "");
  EXPECT_EQ(RegisterAs("old2", {&OldStaged<2>, nullptr, nullptr, &OldStaged<2>}), "");
  for (const char* name : {"old1", "old2"}) {
    auto call = Instantiate(name);
    EXPECT_EQ(TextOf(call.status()), "");
    EXPECT_EQ(states_alive, 1);
    BareContext context;
    EXPECT_EQ(TextOf((*call)->Run({}, {}, context).Await()), "");
    call = Internal("gone");
    EXPECT_EQ(states_alive, 0);
  }
}

// ---- Futures ----

std::thread ending;

template <bool kFails>
XLA_FFI_Error* EndsLater(XLA_FFI_CallFrame* frame) {
  if (IsQuestion<5>(frame)) return nullptr;
  auto create = MakeFfi<XLA_FFI_Future_Create_Args>(XLA_FFI_Future_Create_Args_STRUCT_SIZE);
  if (XLA_FFI_Error* error = FfiApi()->XLA_FFI_Future_Create(&create)) return error;
  frame->future = create.future;
  ending = std::thread([future = create.future] {
    if (kFails) {
      auto args = MakeFfi<XLA_FFI_Future_SetError_Args>(XLA_FFI_Future_SetError_Args_STRUCT_SIZE);
      args.future = future;
      args.error = NewError("too late");
      (void)FfiApi()->XLA_FFI_Future_SetError(&args);
    } else {
      auto args =
          MakeFfi<XLA_FFI_Future_SetAvailable_Args>(XLA_FFI_Future_SetAvailable_Args_STRUCT_SIZE);
      args.future = future;
      (void)FfiApi()->XLA_FFI_Future_SetAvailable(&args);
    }
  });
  return nullptr;
}

TEST(Ffi, CallEndsWithTheHandlersFuture) {
  EXPECT_EQ(RegisterAs("later", OfOneStage(&EndsLater<false>)), "");
  EXPECT_EQ(RegisterAs("fails later", OfOneStage(&EndsLater<true>)), "");
  BareContext context;
  auto later = Instantiate("later");
  EXPECT_EQ(TextOf((*later)->Run({}, {}, context).Await()), "");
  ending.join();
  auto fails = Instantiate("fails later");
  EXPECT_TRUE(Has(TextOf((*fails)->Run({}, {}, context).Await()), "15: the FFI handler 'fails "));
  ending.join();
}

// ---- The table ----

TEST(Ffi, TableIsFull) {
  const auto* slots = reinterpret_cast<void* const*>(reinterpret_cast<const std::byte*>(FfiApi()) +
                                                     offsetof(XLA_FFI_Api, XLA_FFI_Error_Create));
  const size_t count =
      (XLA_FFI_Api_STRUCT_SIZE - offsetof(XLA_FFI_Api, XLA_FFI_Error_Create)) / sizeof(void*);
  EXPECT_EQ(count, size_t{20});
  for (size_t i = 0; i < count; ++i) EXPECT_TRUE(slots[i] != nullptr);
}

template <typename Args>
std::string AnswerOf(XLA_FFI_Error* (*function)(Args*), size_t size, FfiContext& context) {
  auto args = MakeFfi<Args>(size);
  args.ctx = context.c();
  int64_t number = 0;
  if constexpr (requires { args.task; }) args.task = [](void*) {};
  if constexpr (requires { args.alignment; }) args.alignment = 16;
  if constexpr (requires { args.num_threads; }) args.num_threads = &number;
  return TextOf(function(&args));
}

TEST(Ffi, WhatABackendLacksIsUnimplemented) {
  BareContext backend;
  FfiContext context;
  const XLA_FFI_Api& api = *FfiApi();
  const auto all = [&] {
    return std::vector<std::string>{
        AnswerOf(api.XLA_FFI_Stream_Get, XLA_FFI_Stream_Get_Args_STRUCT_SIZE, context),
        AnswerOf(api.XLA_FFI_DeviceMemory_Allocate, XLA_FFI_DeviceMemory_Allocate_Args_STRUCT_SIZE,
                 context),
        AnswerOf(api.XLA_FFI_DeviceMemory_Free, XLA_FFI_DeviceMemory_Free_Args_STRUCT_SIZE,
                 context),
        AnswerOf(api.XLA_FFI_ThreadPool_Schedule, XLA_FFI_ThreadPool_Schedule_Args_STRUCT_SIZE,
                 context),
        AnswerOf(api.XLA_FFI_ThreadPool_NumThreads, XLA_FFI_ThreadPool_NumThreads_Args_STRUCT_SIZE,
                 context)};
  };
  for (const std::string& answer : all()) EXPECT_TRUE(Has(answer, "9: there is no execution"));
  context.execution = &backend;
  for (const std::string& answer : all()) EXPECT_EQ(answer.substr(0, 4), "12: ");
  EXPECT_TRUE(Has(AnswerOf(api.XLA_FFI_Stream_Get, 8, context), "3: an argument of XLA's FFI"));
}

TEST(Ffi, ContextKnowsTheExecution) {
  BareContext backend;
  FfiContext context;
  context.execution = &backend;
  auto run = MakeFfi<XLA_FFI_RunId_Get_Args>(XLA_FFI_RunId_Get_Args_STRUCT_SIZE);
  run.ctx = context.c();
  EXPECT_EQ(TextOf(FfiApi()->XLA_FFI_RunId_Get(&run)), "");
  EXPECT_EQ(run.run_id, int64_t{77});
  auto device = MakeFfi<XLA_FFI_DeviceOrdinal_Get_Args>(XLA_FFI_DeviceOrdinal_Get_Args_STRUCT_SIZE);
  device.ctx = context.c();
  EXPECT_EQ(TextOf(FfiApi()->XLA_FFI_DeviceOrdinal_Get(&device)), "");
  EXPECT_EQ(device.device_ordinal, 3);
  auto options =
      MakeFfi<XLA_FFI_CustomOptions_Get_Args>(XLA_FFI_CustomOptions_Get_Args_STRUCT_SIZE);
  EXPECT_EQ(TextOf(FfiApi()->XLA_FFI_CustomOptions_Get(&options)), "");
  EXPECT_EQ(options.attrs->size, int64_t{0});
}

// ---- Types and user data ----

TEST(Ffi, TypesHaveOneNumberEach) {
  int64_t first = 0, second = 0, own = 1000;
  EXPECT_EQ(TextOf(RegisterFfiType("first", &first, nullptr)), "");
  EXPECT_EQ(TextOf(RegisterFfiType("second", &second, nullptr)), "");
  EXPECT_TRUE(first != second && first != 0);
  EXPECT_EQ(TextOf(RegisterFfiType("own", &own, nullptr)), "");
  EXPECT_EQ(TextOf(RegisterFfiType("own", &own, nullptr)), "");
  EXPECT_TRUE(Has(TextOf(RegisterFfiType("own", &first, nullptr)), "6: the FFI type own"));
  EXPECT_TRUE(Has(TextOf(RegisterFfiType("other", &own, nullptr)), "another type's"));
}

TEST(Ffi, DeletersMayThrow) {
  const FfiDeleter deleter = [](void* count) {
    ++*static_cast<int*>(count);
    throw std::runtime_error("a deleter");
  };
  int deleted = 0;
  {
    ExecuteUserData data;
    EXPECT_TRUE(data.Add(1, &deleted, deleter).ok());
    FfiState state;
    EXPECT_TRUE(state.Set(1, deleter, &deleted).ok());
  }
  EXPECT_EQ(deleted, 2);
}

// The extension of that type; null when it is not in the chain.
PJRT_Extension_Base* Find(PJRT_Extension_Type type) {
  PJRT_Extension_Base* node = Extensions();
  while (node != nullptr && node->type != type) node = node->next;
  return node;
}

TEST(Ffi, UserDataReachesTheHandler) {
  auto* extension = reinterpret_cast<PJRT_FFI_Extension*>(Find(PJRT_Extension_Type_FFI));
  EXPECT_TRUE(extension != nullptr);
  auto create = Make<PJRT_ExecuteContext_Create_Args>();
  EXPECT_EQ(Text(Api().PJRT_ExecuteContext_Create(&create)), "");
  int datum = 0;
  auto add = Make<PJRT_FFI_UserData_Add_Args>();
  add.context = create.context;
  add.user_data.type_id = 9;
  add.user_data.data = &datum;
  EXPECT_EQ(Text(extension->user_data_add(&add)), "");
  EXPECT_TRUE(Has(Text(extension->user_data_add(&add)), "6: the execute context has data"));

  BareContext backend;
  const std::shared_ptr<ExecuteUserData> data = FromC(create.context)->user_data;
  backend.data = data.get();
  auto destroy = Make<PJRT_ExecuteContext_Destroy_Args>();
  destroy.context = create.context;
  EXPECT_EQ(Text(Api().PJRT_ExecuteContext_Destroy(&destroy)), "");
  FfiContext context;
  context.execution = &backend;
  XLA_FFI_TypeId type{9};
  auto get = MakeFfi<XLA_FFI_InvokeContext_Get_Args>(XLA_FFI_InvokeContext_Get_Args_STRUCT_SIZE);
  get.ctx = context.c();
  get.type_id = &type;
  EXPECT_EQ(TextOf(FfiApi()->XLA_FFI_InvokeContext_Get(&get)), "");
  EXPECT_TRUE(get.data == &datum);
  type.type_id = 10;
  EXPECT_TRUE(Has(TextOf(FfiApi()->XLA_FFI_InvokeContext_Get(&get)), "5: the execute context"));
}

TEST(Ffi, ExtensionsRegisterHandlers) {
  auto* custom = reinterpret_cast<PJRT_Gpu_Custom_Call*>(Find(PJRT_Extension_Type_Gpu_Custom_Call));
  EXPECT_TRUE(custom != nullptr);
  auto args = Make<PJRT_Gpu_Register_Custom_Call_Args>();
  args.function_name = "by extension";
  args.function_name_size = 12;
  args.handler_execute = reinterpret_cast<void*>(&Nothing);
  EXPECT_TRUE(Has(Text(custom->custom_call(&args)), "version 1, the typed FFI"));
  args.api_version = 1;
  EXPECT_EQ(Text(custom->custom_call(&args)), "");
  EXPECT_EQ(TextOf(Instantiate("by extension").status()), "");
#if PJRT_SCAFFOLD_HAS_PJRT_FFI_Register_Handler
  auto* extension = reinterpret_cast<PJRT_FFI_Extension*>(Find(PJRT_Extension_Type_FFI));
  auto handler = Make<PJRT_FFI_Register_Handler_Args>();
  handler.target_name = "one stage";
  handler.target_name_size = 9;
  handler.handler = reinterpret_cast<void*>(&Nothing);
  handler.platform_name = "elsewhere";
  handler.platform_name_size = 9;
  EXPECT_TRUE(Has(Text(extension->register_handler(&handler)), "is for the platform elsewhere"));
  handler.platform_name = kPlatformName;
  handler.platform_name_size = std::strlen(kPlatformName);
  EXPECT_EQ(Text(extension->register_handler(&handler)), "");
  EXPECT_EQ(TextOf(Instantiate("one stage").status()), "");
#endif
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::plugin
