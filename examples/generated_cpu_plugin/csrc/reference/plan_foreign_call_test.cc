// Custom calls of foreign functions: what the function is told, and whose memory it works on.

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/custom_call.h"
#include "program/op_table.h"
#include "program/testing_builder.h"
#include "reference/testing_run.h"
#include "testing/test.h"

namespace PJRT_PLUGIN_NS::reference {
namespace {

using backend::CallContext;
using backend::CallNumbers;
using program::Attribute;
using program::AttributeList;
using program::Builder;
using program::F32;
using program::Ints;
using program::OpCode;

using Body = std::function<Status(std::span<void* const>, std::span<void* const>, CallContext&)>;

// One function, called "f".
class OneFunction final : public backend::CustomCalls {
 public:
  explicit OneFunction(Body body) : body_(std::move(body)) {}

  Result<std::unique_ptr<backend::CustomCall>> Instantiate(
      const backend::CallSignature& said) override {
    signature = said;
    if (said.target != "f") return backend::Unimplemented("there is only f");
    return std::unique_ptr<backend::CustomCall>(std::make_unique<Call>(body_));
  }

  backend::CallSignature signature;  // of the last call

 private:
  class Call final : public backend::CustomCall {
   public:
    explicit Call(Body body) : body_(std::move(body)) {}
    backend::Completion Run(std::span<void* const> arguments, std::span<void* const> results,
                            CallContext& context) override {
      return backend::Completion(body_(arguments, results, context));
    }

   private:
    Body body_;
  };

  Body body_;
};

struct CallOptions {
  AttributeList config = {};
  std::vector<Attribute> operand_layouts = {};
  std::vector<Attribute> result_layouts = {};
  std::vector<Attribute> aliases = {};
  std::string target = "f";
  int64_t api_version = int64_t(program::CustomCallApiVersion::kTypedFfi);
};

// Only typed calls have a dictionary.
Attribute ConfigOf(CallOptions& options) {
  if (options.api_version != int64_t(program::CustomCallApiVersion::kTypedFfi))
    return {std::string()};
  return {std::move(options.config)};
}

AttributeList Attributes(CallOptions options) {
  return {{"api_version", {options.api_version}},
          {"backend_config", ConfigOf(options)},
          {"call_target_name", {std::move(options.target)}},
          {"called_computations", {std::vector<Attribute>()}},
          {"has_side_effect", {false}},
          {"operand_layouts", {std::move(options.operand_layouts)}},
          {"output_operand_aliases", {std::move(options.aliases)}},
          {"result_layouts", {std::move(options.result_layouts)}}};
}

Attribute Alias(Ints output, int64_t operand) {
  return {AttributeList{{"output_tuple_indices", {std::move(output)}},
                        {"operand_index", {operand}},
                        {"operand_tuple_indices", {Ints()}}}};
}

const float* In(void* address) { return static_cast<const float*>(address); }
float* Out(void* address) { return static_cast<float*>(address); }

Status CopySix(std::span<void* const> from, std::span<void* const> to, CallContext&) {
  std::memcpy(to[0], from[0], 6 * sizeof(float));
  return Status();
}

TEST(ForeignCall, TellsShapesAndTypedAttributes) {
  OneFunction f(CopySix);
  Harness run(1, &f);
  Builder b({F32({2, 3})});
  program::Op* op =
      b.AddOp(OpCode::kCustomCall, {b.argument(0)}, {F32({6}), Type::Token()},
              Attributes({.config = {{"i", {int64_t{-2}, DType::kS16}},
                                     {"yes", {true}},
                                     {"list", {program::MakeLiteral<float>(F32({3}), {1.5f})}},
                                     {"inner", {AttributeList{{"text", {std::string("t")}}}}}}}));
  b.Return({op->result(0)});
  EXPECT_EQ(run.One<float>(b.module(), {Bytes<float>({1, 2, 3, 4, 5, 6})}),
            (std::vector<float>{1, 2, 3, 4, 5, 6}));
  const backend::CallSignature& said = f.signature;
  EXPECT_TRUE(said.arguments[0] == (backend::Shape{DType::kF32, {2, 3}}));
  EXPECT_TRUE(said.results[0] == (backend::Shape{DType::kF32, {6}}));
  EXPECT_FALSE(said.results[1].has_value());
  ASSERT_TRUE(said.attributes.size() == 4);
  const auto& number = std::get<CallNumbers>(said.attributes[0].value.value);
  EXPECT_TRUE(number.is_scalar && number.dtype == DType::kS16 && number.bytes.size() == 2);
  EXPECT_TRUE(std::get<CallNumbers>(said.attributes[1].value.value).dtype == DType::kPred);
  const auto& list = std::get<CallNumbers>(said.attributes[2].value.value);
  EXPECT_TRUE(!list.is_scalar && list.bytes.size() == 12);
  const auto& inner = std::get<backend::CallAttributes>(said.attributes[3].value.value);
  EXPECT_EQ(std::get<std::string>(inner[0].value.value), "t");
}

TEST(ForeignCall, PassesArraysInTheLayoutsOfTheCall) {
  OneFunction f(CopySix);
  Harness run(1, &f);
  Builder b({F32({2, 3})});
  b.Return(
      {b.Add(OpCode::kCustomCall, {b.argument(0)}, F32({2, 3}),
             Attributes({.operand_layouts = {{Ints{0, 1}}}, .result_layouts = {{Ints{1, 0}}}})),
       b.Add(OpCode::kCustomCall, {b.argument(0)}, F32({2, 3}),
             Attributes({.operand_layouts = {{Ints{1, 0}}}, .result_layouts = {{Ints{0, 1}}}}))});
  const auto all = run.All(b.module(), {Bytes<float>({1, 2, 3, 4, 5, 6})});
  ASSERT_TRUE(all.size() == 2);
  EXPECT_EQ(Values<float>(all[0].data(), 24), (std::vector<float>{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(Values<float>(all[1].data(), 24), (std::vector<float>{1, 3, 5, 2, 4, 6}));
}

// Writes one element and leaves the others as they are.
TEST(ForeignCall, AliasedResultBeginsAsTheOperand) {
  OneFunction f([](std::span<void* const> from, std::span<void* const> to, CallContext&) {
    if (from[1] != to[0]) return backend::Internal("not the same memory");
    Out(to[0])[0] = In(from[0])[1];
    return Status();
  });
  Harness run(1, &f);
  Builder b({F32({2})});
  const auto call = [&](program::Value* x, program::Value* y) {
    return b.Add(OpCode::kCustomCall, {x, y}, F32({2}), Attributes({.aliases = {Alias({}, 1)}}));
  };
  program::Value* twice = b.Add(OpCode::kAdd, {b.argument(0), b.argument(0)}, F32({2}));
  program::Value* first = call(b.argument(0), twice);  // the last use of twice
  // Both operands one array, which the program returns too.
  b.Return({first, call(b.argument(0), b.argument(0)), b.argument(0)});
  const auto all = run.All(b.module(), {Bytes<float>({1, 5})});
  ASSERT_TRUE(all.size() == 3);
  EXPECT_EQ(Values<float>(all[0].data(), 8), (std::vector<float>{5, 10}));
  EXPECT_EQ(Values<float>(all[1].data(), 8), (std::vector<float>{5, 5}));
  EXPECT_EQ(Values<float>(all[2].data(), 8), (std::vector<float>{1, 5}));
}

class Seven final : public backend::UserData {
 public:
  Result<void*> Find(int64_t type) const override {
    if (type != 7) return backend::NotFound("another type");
    return const_cast<void*>(static_cast<const void*>(this));
  }
};

TEST(ForeignCall, ContextIsThatOfTheExecution) {
  const auto data = std::make_shared<const Seven>();
  OneFunction f([&](std::span<void* const>, std::span<void* const> to, CallContext& context) {
    PJRT_PLUGIN_ASSIGN_OR_RETURN(void* found, context.user_data()->Find(7));
    PJRT_PLUGIN_ASSIGN_OR_RETURN(void* scratch, context.Allocate(100, 4096));
    bool ran = false;
    PJRT_PLUGIN_RETURN_IF_ERROR(context.Schedule([&] { ran = true; }));
    const bool right =
        found == data.get() && uintptr_t(scratch) % 4096 == 0 && ran && context.device() == 0 &&
        context.Free(scratch).ok() && !context.Free(scratch).ok() && !context.stream().ok() &&
        !context.Allocate(SIZE_MAX, 64).ok() && !context.Allocate(SIZE_MAX - 4096, 4096).ok();
    Out(to[0])[0] = right ? float(context.run_id()) : -1.0f;
    return Status();
  });
  Harness run(1, &f);
  Builder b({});
  b.Return({b.Add(OpCode::kCustomCall, {}, F32({}), Attributes({}))});
  auto executable = run.Compile(b.module());
  ASSERT_TRUE(executable.ok());
  backend::Launch launch;
  launch.device = &run.device();
  auto results = (*executable)->Execute({&launch, 1}, {.launch_id = 42, .user_data = data});
  ASSERT_TRUE(results.ok());
  EXPECT_EQ(std::string((*results)[0].done.Await().message()), "");
  EXPECT_EQ(*In((*results)[0].outputs[0]->address()), 42.0f);
}

std::string Refusal(CallOptions options) {
  OneFunction f(CopySix);
  Harness run(1, &f);
  Builder b({F32({2, 3})});
  b.Return({b.Add(OpCode::kCustomCall, {b.argument(0)}, F32({6}), Attributes(std::move(options)))});
  return std::string(run.Compile(b.module()).status().message());
}

TEST(ForeignCall, RefusesWhatItCannotDo) {
  EXPECT_CONTAINS(Refusal({.target = "g"}), "there is only f");
  EXPECT_CONTAINS(Refusal({.target = "g"}), "at model.py:7:3");
  EXPECT_CONTAINS(Refusal({.config = {{"x", {std::vector<Attribute>()}}}}),
                  "the attribute x is neither a number");
  EXPECT_CONTAINS(Refusal({.operand_layouts = {{Ints{0, 0}}}}), "operand_layouts 0 is no order");
  EXPECT_CONTAINS(Refusal({.aliases = {Alias({}, 0)}}), "operand 0 cannot become result 0");
  EXPECT_CONTAINS(Refusal({.aliases = {Alias({}, 9)}}), "operand 9 cannot become result 0");
}

// Bare pointers whose meaning no program says.
TEST(ForeignCall, RefusesFunctionsWithoutTypes) {
  for (const auto& [version, name] :
       {std::pair(0, "API_VERSION_UNSPECIFIED"), std::pair(1, "API_VERSION_ORIGINAL"),
        std::pair(2, "API_VERSION_STATUS_RETURNING"),
        std::pair(3, "API_VERSION_STATUS_RETURNING_UNIFIED")}) {
    const std::string text = Refusal({.api_version = version});
    EXPECT_CONTAINS(text, "the custom call target 'f'");
    EXPECT_CONTAINS(text, "api_version " + std::to_string(version) + " (" + name + ")");
    EXPECT_CONTAINS(text, "jax.ffi.register_ffi_target");
  }
}

// Not a token, which is how a function sees what it gets no memory for.
TEST(ForeignCall, RefusesTuples) {
  OneFunction f(CopySix);
  Harness run(1, &f);
  Builder b({F32({2, 3})});
  Type tuple;
  tuple.kind = program::TypeKind::kTuple;
  tuple.elements = {F32({6}), Type::Token()};
  b.AddOp(OpCode::kCustomCall, {b.argument(0)}, {tuple}, Attributes({}));
  b.Return({b.argument(0)});
  EXPECT_CONTAINS(std::string(run.Compile(b.module()).status().message()),
                  "result 0 of 'f' is neither an array nor a token");
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::reference
