#include "program/text_program.h"

#include <string>

#include "program/read.h"
#include "program/sample_programs.h"
#include "program/sample_text.h"
#include "testing/test.h"

namespace PJRT_PLUGIN_NS::program {
namespace {

std::string PrintedSample() {
  auto module = ReadProgram(SampleText(kEverything));
  return module.ok() ? ToString(**module) : "";
}

std::string MessageOf(std::string_view text) {
  auto module = ReadProgram(text);
  return module.ok() ? "read" : std::string(module.status().message());
}

TEST(Text, ReadsWhatItPrints) {
  for (std::string_view sample : {SampleText(kDouble), SampleText(kEverything)}) {
    auto module = ReadProgram(sample);
    ASSERT_TRUE(module.ok());
    const std::string text = ToString(**module);
    auto again = ReadProgram(text);
    EXPECT_EQ(std::string(again.status().message()), "");
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(ToString(**again), text);
  }
}

TEST(Text, ReadsWhatMlirWrites) {
  EXPECT_EQ(MessageOf(R"(#loc = loc(unknown)
"builtin.module"() <{sym_name = "m"}> ({  // a comment
  "func.func"() <{function_type = (tensor<0x3xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<0x3xf32> loc("x"), %arg1: tensor<1x2xf32>):
    %cst = "stablehlo.constant"() <{value = dense<[[1.500000e+00, 0x7FC00000]]> : tensor<1x2xf32>}> : () -> tensor<1x2xf32> loc(#loc)
    %0 = "stablehlo.maximum"(%cst, %arg1) : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
    "func.return"(%0) : (tensor<1x2xf32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32} : () -> ()
)"),
            "read");
}

// What a custom call says to its function, where 1 : i32 and 1 : i64 are two things.
TEST(Text, KeepsTheTypesOfNumbersThatNoOpDeclares) {
  constexpr char kConfig[] =
      "mhlo.backend_config = {a = -3 : i32, b = 18446744073709551615 : ui64, c = 1.5 : f32, "
      "d = 2.25 : f64, e = array<i32: 1, -2>, f = dense<[0.5, 4.0]> : tensor<2xf32>, "
      "g = {h = true, i = 7 : ui8}}";
  auto module = ReadProgram(std::string(R"("builtin.module"() ({
  "func.func"() <{function_type = (tensor<f32>) -> tensor<f32>, sym_name = "main"}> ({
  ^bb0(%0: tensor<f32>):
    %1 = "stablehlo.custom_call"(%0) <{call_target_name = "f"}> {)") +
                            kConfig + R"(} : (tensor<f32>) -> tensor<f32>
    "func.return"(%1) : (tensor<f32>) -> ()
  }) : () -> ()
}) : () -> ()
)");
  EXPECT_EQ(std::string(module.status().message()), "");
  ASSERT_TRUE(module.ok());
  EXPECT_CONTAINS(ToString(**module), kConfig);
  const Op& call = *(*module)->main()->body.ops[0];
  EXPECT_TRUE(call.discardable[0].value.As<AttributeList>()->at(0).value.dtype == DType::kS32);
}

// MLIR takes layouts of operands and results, or of neither.
TEST(Text, WritesLayoutsOfNothingBesideOthers) {
  auto module = ReadProgram(R"("builtin.module"() ({
  "func.func"() <{function_type = (tensor<f32>) -> (), sym_name = "main"}> ({
  ^bb0(%0: tensor<f32>):
    "stablehlo.custom_call"(%0) <{call_target_name = "f", operand_layouts = [dense<> : tensor<0xindex>]}> : (tensor<f32>) -> ()
    "func.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
)");
  EXPECT_EQ(std::string(module.status().message()), "");
  ASSERT_TRUE(module.ok());
  EXPECT_CONTAINS(ToString(**module), "result_layouts = []");
}

// The body of a function of these arguments, before which the rest of a program is put.
std::string Function(std::string_view body) {
  return "func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>, %i: tensor<i32>) -> tensor<4xf32> "
         "{\n" +
         std::string(body) + "\n}\n";
}

// The form that each op has of its own means what the generic form means.
TEST(Text, ReadsTheFormsOfOps) {
  auto module = ReadProgram(kSampleText);
  EXPECT_EQ(std::string(module.status().message()), "");
  ASSERT_TRUE(module.ok());
  EXPECT_EQ((*module)->name, "sample");
  EXPECT_EQ((*module)->num_partitions, 2);
  const std::string text = ToString(**module);
  auto again = ReadProgram(text);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(ToString(**again), text);
  for (const char* part :
       {R"(arg_attrs = [{jax.arg_info = "a", mhlo.sharding = "{replicated}"}, {}])",
        R"(res_attrs = [{jax.result_info = "r"}, {}])",
        R"("stablehlo.constant"() <{value = dense<[1.0, -2.5, 0x7FC00000, 3.0]> : tensor<4xf32>}>)",
        "dense<[1, 3]> : tensor<2xi32>",
        "comparison_direction = #stablehlo<comparison_direction LT>",
        "#stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>",
        "[#stablehlo<precision HIGH>, #stablehlo<precision DEFAULT>]",
        "limit_indices = array<i64: 3, 3>, start_indices = array<i64: 0, 1>, strides = array<i64: "
        "2, 1>",
        "edge_padding_high = array<i64: 0, -1>, edge_padding_low = array<i64: 1, 0>",
        "#stablehlo.conv<[b, f]x[i, o]->[b, f]>", R"(call_target_name = "target")",
        "exponent_bits = 5 : i32, mantissa_bits = 10 : i32", "rtol = 0.5"})
    EXPECT_CONTAINS(text, part);
}

TEST(Text, ReducersTakeResultsBeforeElements) {
  auto module = ReadProgram(kSampleText);
  ASSERT_TRUE(module.ok());
  for (const auto& op : (*module)->main()->body.ops) {
    if (op->code != OpCode::kReduce || op->results.size() != 2) continue;
    const Block& body = *op->regions[0];
    EXPECT_EQ(body.arguments[0]->type.dtype, DType::kF32);
    EXPECT_EQ(body.arguments[1]->type.dtype, DType::kS32);
    // %p and %r, %s and %q
    EXPECT_EQ(body.ops[0]->operands[1], body.arguments[2].get());
    EXPECT_EQ(body.ops[1]->operands[0], body.arguments[3].get());
    EXPECT_EQ(body.ops[1]->operands[1], body.arguments[1].get());
  }
}

TEST(Text, KeepsLocations) {
  auto module = ReadProgram(kSampleText);
  ASSERT_TRUE(module.ok());
  const auto& ops = (*module)->main()->body.ops;
  EXPECT_EQ(ToString(*ops[0]->location), "model.py:12:3");
  EXPECT_EQ(ToString(*ops[1]->location), "");
  EXPECT_EQ(ToString(*ops[3]->location), "jit(f)/add at model.py:12:3");
}

TEST(Text, AModuleNeedNotBeWritten) {
  EXPECT_EQ(MessageOf(Function("return %a : tensor<4xf32>")), "read");
  EXPECT_EQ(MessageOf("// nothing else\nmodule {\n" + Function("return %a : tensor<4xf32>") + "}"),
            "read");
}

TEST(Text, NarrowElementsHaveOneForm) {
  auto module = ReadProgram(R"(func.func @main() -> (tensor<3xi2>, tensor<2xui4>) {
    %0 = stablehlo.constant dense<[1, 2, -1]> : tensor<3xi2>
    %1 = stablehlo.constant dense<"0x0FF1"> : tensor<2xui4>
    return %0, %1 : tensor<3xi2>, tensor<2xui4>
  })");
  ASSERT_TRUE(module.ok());
  EXPECT_CONTAINS(ToString(**module), "dense<[1, -2, -1]> : tensor<3xi2>");
  EXPECT_CONTAINS(ToString(**module), "dense<[15, 1]> : tensor<2xui4>");
}

TEST(Text, SaysWhatIsWrongInAFunction) {
  struct {
    const char* body;
    const char* message;
  } constexpr kCases[] = {
      {"%0 = stablehlo.add %a, %c : tensor<4xf32>", "line 2: %c is used before it is defined"},
      {"%a = stablehlo.add %a, %b : tensor<4xf32>", "%a is defined twice"},
      {"%0 = stablehlo.add %a, %i : tensor<4xf32>",
       "operand 1 of stablehlo.add is a tensor<i32>, not a tensor<4xf32>"},
      {"%0, %1 = stablehlo.add %a, %b : tensor<4xf32>", "has 1 results and 2 names of results"},
      {"%0 = chlo.erf %a : tensor<4xf32>", "op chlo.erf is unknown here; known are"},
      {"%0 = stablehlo.transpose %a, dim = [0] : tensor<4xf32>",
       "dim is nothing that stablehlo.transpose has; known: dims"},
      {"%0 = stablehlo.transpose %a : (tensor<4xf32>) -> tensor<4xf32>",
       "attribute permutation of stablehlo.transpose is missing"},
      {"%0 = \"stablehlo.add\"(%a, %b) <{speed = 1 : i64}> : (tensor<4xf32>, tensor<4xf32>) -> "
       "tensor<4xf32>",
       "attribute speed of stablehlo.add is unknown here, in line 2"},
      {"%0 = stablehlo.sort %a : tensor<4xf32>", "no form but the generic one"},
      {"%0 = stablehlo.reduce(%a init: %i) applies stablehlo.iota across dimensions = [0] : "
       "(tensor<4xf32>, tensor<i32>) -> tensor<f32>",
       "stablehlo.iota is no op that a reduce can apply"},
      {"%0 = stablehlo.constant dense<300> : tensor<i8>", "300 is no i8"},
      {"%0 = stablehlo.constant dense<1.5> : tensor<i8>", "1.5 is no i8"},
      {"%0 = stablehlo.constant dense<1.0e400> : tensor<f64>", "1.0e400 is no f64"},
      {"%0 = stablehlo.constant dense<0x1FFFFFFFFFFFFFFFF> : tensor<i64>", "is no i64"},
      {"%0 = stablehlo.constant dense_resource<r> : tensor<4xf32>", "write it as dense<...>"},
      {"%0 = stablehlo.add %a, %b : tensor<4x!quant.uniform<i8:f32, 1.0>>",
       "quantized types are not supported, in line 2"},
      {"return %a : tensor<4xf32> loc(#nowhere)", "location #nowhere is defined nowhere"},
      {"^bb0:\n return %a : tensor<4xf32>\n^bb1:", "a region of several blocks"},
  };
  for (const auto& [body, message] : kCases) {
    const std::string seen = MessageOf(Function(body));
    EXPECT_CONTAINS(seen, message);
  }
}

TEST(Text, SaysWhatIsWrongAndWhere) {
  EXPECT_CONTAINS(MessageOf("\"builtin.module\"() ({\n  \"func.call\"()"),
                  "malformed program text in line 2: op func.call at the top of the program");
  EXPECT_CONTAINS(MessageOf("HloModule m"), "neither MLIR bytecode nor MLIR text");
  EXPECT_CONTAINS(MessageOf("func.func private @f(tensor<f32>)"), "')' is missing");
  EXPECT_CONTAINS(MessageOf("func.func private @f()"), "function f has no body");
}

TEST(Text, SurvivesBeingCutOff) {
  for (const std::string& text : {PrintedSample(), std::string(kSampleText)})
    for (size_t size = 0; size + 2 < text.size(); size += 11) {
      auto module = ReadProgram(std::string_view(text).substr(0, size));
      // Without its end the text lacks the definitions of locations, which some uses need.
      EXPECT_FALSE(module.ok());
    }
}

TEST(Text, SurvivesDamage) {
  for (const std::string& text : {PrintedSample(), std::string(kSampleText)})
    for (size_t i = 0; i < text.size(); i += 5) {
      std::string damaged = text;
      damaged[i] = "<>()[]{}%#\"x0,"[i / 5 % 14];
      auto module = ReadProgram(damaged);
      EXPECT_EQ(module.ok(), module.status().message().empty());
    }
}

std::string Repeated(std::string_view text, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += text;
  return out;
}

TEST(Text, BoundsNests) {
  for (const char* open : {"[", "(", "{a = ", "#stablehlo.x<a = ", "tuple<", "dense<["})
    EXPECT_FALSE(ReadProgram("\"builtin.module\"() <{a = " + Repeated(open, 100000)).ok());
  const std::string loop = "stablehlo.while() cond {";
  EXPECT_CONTAINS(MessageOf(Function(Repeated(loop, 100000))), "over 200 regions in one another");
  EXPECT_CONTAINS(
      MessageOf(Function("return %a : tensor<4xf32> loc(" + Repeated("callsite(", 100000))),
      "over 256 locations in one another");
}

// Names of names: what they stand for may not grow without bounds.
TEST(Text, BoundsWhatAliasesUnfoldTo) {
  std::string attributes = "#a0 = [1, 2]\n!t0 = tensor<4xf32>\n#loc0 = loc(\"x\":1:1)\n";
  for (int i = 1; i < 60; ++i) {
    const std::string before = std::to_string(i - 1);
    const std::string now = std::to_string(i);
    attributes += "#a" + now + " = [#a" + before + ", #a" + before + "]\n";
    attributes += "!t" + now + " = tuple<!t" + before + ", !t" + before + ">\n";
    attributes += "#loc" + now + " = loc(callsite(#loc" + before + " at #loc" + before + "))\n";
  }
  EXPECT_CONTAINS(MessageOf(attributes + "module {}"), "unfold to many times the size");
  EXPECT_FALSE(ReadProgram("#a = [#a]\nmodule {}").ok());
  EXPECT_FALSE(ReadProgram("!t = tuple<!t>\nmodule {}").ok());
  // What is written of a location that contains itself is as good as nothing.
  EXPECT_EQ(MessageOf(Function("return %a : tensor<4xf32> loc(#l)") + "#l = loc(\"f\"(#l))"),
            "read");
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::program
