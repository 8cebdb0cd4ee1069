#include "program/text_program.h"

#include <string>

#include "program/read.h"
#include "program/sample_programs.h"
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

TEST(Text, SaysWhatIsWrongAndWhere) {
  EXPECT_CONTAINS(MessageOf("\"builtin.module\"() ({\n  \"func.call\"()"),
                  "malformed program text in line 2: op func.call at the top of the program");
  EXPECT_CONTAINS(MessageOf("module @m {}"), "neither MLIR bytecode nor MLIR text in generic form");
}

TEST(Text, SurvivesBeingCutOff) {
  const std::string text = PrintedSample();
  for (size_t size = 0; size + 2 < text.size(); size += 3)
    EXPECT_FALSE(ReadProgram(std::string_view(text).substr(0, size)).ok());
}

TEST(Text, SurvivesDamage) {
  const std::string text = PrintedSample();
  for (size_t i = 0; i < text.size(); i += 2) {
    std::string damaged = text;
    damaged[i] = "<>()[]{}%#\"x0,"[i / 2 % 14];
    auto module = ReadProgram(damaged);
    if (!module.ok()) EXPECT_FALSE(module.status().message().empty());
  }
}

TEST(Text, BoundsNests) {
  EXPECT_FALSE(ReadProgram("\"builtin.module\"() <{a = " + std::string(100000, '[')).ok());
  EXPECT_FALSE(ReadProgram("\"builtin.module\"() <{a = " + std::string(100000, '(')).ok());
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::program
