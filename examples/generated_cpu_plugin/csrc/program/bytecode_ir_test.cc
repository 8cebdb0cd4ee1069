#include "program/bytecode_ir.h"

#include <string>

#include "program/sample_programs.h"
#include "program/testing_bytecode.h"
#include "testing/test.h"

namespace PJRT_PLUGIN_NS::program {
namespace {

TEST(Bytecode, ReadsASmallProgram) {
  auto module = ReadBytecode(SampleText(kDouble));
  ASSERT_TRUE(module.ok());
  const Function& main = *(*module)->main();
  EXPECT_EQ(ToString(main.type), "(tensor<f32>) -> tensor<f32>");
  ASSERT_TRUE(main.body.ops.size() == 3);
  const Op& multiply = *main.body.ops[1];
  EXPECT_EQ(multiply.code, OpCode::kMultiply);
  EXPECT_EQ(multiply.operands[0], main.body.arguments[0].get());
  EXPECT_EQ(multiply.operands[1], main.body.ops[0]->result());
  EXPECT_EQ(multiply.location->name, "jit(<lambda>)/mul");
  EXPECT_EQ(multiply.location->file, "make_samples.py");
  EXPECT_NE(multiply.location->line, 0);
  EXPECT_EQ(main.body.terminator()->operands[0], multiply.result());
}

TEST(Bytecode, ReadsEveryConstruct) {
  auto module = ReadBytecode(SampleText(kEverything));
  ASSERT_TRUE(module.ok());
  ASSERT_TRUE((*module)->meshes.size() == 1);
  const Mesh& mesh = (*module)->meshes[0];
  EXPECT_EQ(mesh.axes.size(), 1u);
  EXPECT_EQ(mesh.axes[0].first, "x");
  EXPECT_EQ(mesh.axes[0].second, 4);
  EXPECT_EQ((*module)->num_partitions, 4);
  // Casts are gone: the manual computation takes what the cast took.
  const Op* manual = nullptr;
  for (const auto& op : (*module)->main()->body.ops)
    if (op->code == OpCode::kSdyManualComputation) manual = op.get();
  ASSERT_TRUE(manual != nullptr);
  const auto& shardings = *manual->Find("in_shardings")->As<std::vector<Attribute>>();
  const auto* sharding = shardings[0].As<Sharding>();
  ASSERT_TRUE(sharding != nullptr);
  EXPECT_EQ(sharding->mesh, mesh.name);
  EXPECT_EQ(sharding->dims[0].axes[0].name, "x");
  EXPECT_EQ(ToString(manual->regions[0]->arguments[0]->type), "tensor<2x4xf32>");
  EXPECT_EQ(manual->regions[0]->ops[0]->code, OpCode::kAllReduce);
  EXPECT_EQ(manual->regions[0]->ops[0]->IntRows("replica_groups")[0], (Ints{0, 1, 2, 3}));
}

TEST(Bytecode, ReportsWhereAFileIsCutOff) {
  const std::string_view code = SampleText(kEverything);
  for (size_t size = 0; size < code.size(); ++size) {
    auto module = ReadBytecode(code.substr(0, size));
    ASSERT_TRUE(!module.ok());
    EXPECT_EQ(module.status().code(), backend::Code::kInvalidArgument);
  }
  EXPECT_CONTAINS(ReadBytecode(code.substr(0, 100)).status().message(),
                  "at byte 69: 318 bytes expected, but only 31 follow");
}

TEST(Bytecode, SurvivesEveryFlippedBit) {
  for (std::string_view code : {SampleText(kDouble), SampleText(kEverything)}) {
    for (size_t i = 0; i < code.size(); ++i) {
      // In the long program one bit a byte, in turn, is enough.
      const bool is_long = code.size() > 1000;
      for (int bit = is_long ? int(i % 8) : 0; bit < 8; bit += is_long ? 8 : 1) {
        std::string damaged(code);
        damaged[i] = char(damaged[i] ^ 1 << bit);
        auto module = ReadBytecode(damaged);
        if (!module.ok()) EXPECT_FALSE(module.status().message().empty());
      }
    }
  }
}

// pitfall 74: programs of newer frameworks are in a StableHLO that the plugin does not know
TEST(Bytecode, RefusesOtherVersions) {
  std::string code(SampleText(kDouble));
  code[4] = 0x09;  // 4
  const backend::Status status = ReadBytecode(code).status();
  EXPECT_EQ(status.code(), backend::Code::kUnimplemented);
  EXPECT_CONTAINS(status.message(), "version 4; this reader reads version 6");
}

// ---- Made by hand ----

// A module whose body has `ops` ops with the bytes `body`.
std::string ModuleIr(BytecodeWriter& w, uint64_t ops, const std::string& body) {
  const uint64_t module = w.OpName("builtin.module");
  const uint64_t unknown = w.Attribute("builtin", {15});
  const std::string region = Varints({1, 0, Flagged(ops, false)}) + body;
  return Varint(Flagged(1, false)) + Varint(module) + '\x10' + Varint(unknown) +
         Varint(Flagged(1, true)) + BytecodeWriter::Section(4, region);
}

// A function main whose body, of `values` values and `ops` ops, has the bytes `body`.
std::string FunctionIr(BytecodeWriter& w, uint64_t values, uint64_t ops, const std::string& body) {
  const uint64_t function = w.OpName("vhlo.func_v1");
  const uint64_t unknown = w.Attribute("builtin", {15});
  const uint64_t empty = w.Attribute("vhlo", {1, 0});
  const uint64_t type = w.Attribute("vhlo", {17, w.Type("vhlo", {8, 0, 0})});
  const uint64_t name = w.Attribute("vhlo", {14, w.String("main")});
  const uint64_t properties = w.Properties({empty, type, empty, name, name});
  const std::string region = values == 0 ? Varints({1, 0, Flagged(ops, false)})
                                         : Varints({1, values, Flagged(ops, false)});
  return ModuleIr(w, 1,
                  Varint(function) + '\x50' + Varints({unknown, properties, Flagged(1, true)}) +
                      BytecodeWriter::Section(4, region + body));
}

std::string MessageOf(const std::string& code) {
  auto module = ReadBytecode(code);
  return module.ok() ? "read" : std::string(module.status().message());
}

TEST(Bytecode, ReadsAHandMadeFile) {
  BytecodeWriter w;
  const uint64_t unknown = w.Attribute("builtin", {15});
  const uint64_t end = w.OpName("vhlo.return_v1");
  EXPECT_EQ(MessageOf(w.File(FunctionIr(w, 0, 1, Varint(end) + '\0' + Varint(unknown)))), "read");
}

TEST(Bytecode, NamesAnUnknownOpAndItsLocation) {
  BytecodeWriter w;
  const uint64_t file = w.Attribute("builtin", {2, w.String("model.py")});
  const uint64_t where = w.Attribute("builtin", {22, file, 2, 12, 5});
  const uint64_t op = w.OpName("vhlo.frobnicate_v1");
  const std::string message =
      MessageOf(w.File(FunctionIr(w, 0, 1, Varint(op) + '\0' + Varint(where))));
  EXPECT_CONTAINS(message, "op vhlo.frobnicate_v1 (model.py:12:5)");
  EXPECT_CONTAINS(message, "1.13.0 is the version to ask for");
}

TEST(Bytecode, RefusesVersionsOfOpsThatItDoesNotKnow) {
  for (const char* name : {"vhlo.add_v2", "vhlo.add_v0", "vhlo.add", "vhlo.add_v11"}) {
    BytecodeWriter w;
    const uint64_t unknown = w.Attribute("builtin", {15});
    const uint64_t op = w.OpName(name);
    EXPECT_CONTAINS(MessageOf(w.File(FunctionIr(w, 0, 1, Varint(op) + '\0' + Varint(unknown)))),
                    std::string("op ") + name);
  }
}

TEST(Bytecode, RefusesTypesThatContainThemselves) {
  BytecodeWriter w;
  const uint64_t unknown = w.Attribute("builtin", {15});
  w.Type("vhlo", {23, 1, 0});  // a tuple of itself
  const uint64_t op = w.OpName("vhlo.create_token_v1");
  EXPECT_CONTAINS(
      MessageOf(w.File(FunctionIr(w, 1, 1, Varint(op) + '\x02' + Varints({unknown, 1, 0})))),
      "type 0 contains itself");
}

TEST(Bytecode, RefusesAttributesThatContainThemselves) {
  BytecodeWriter w;
  w.Attribute("vhlo", {1, 1, 1});  // arrays of each other
  w.Attribute("vhlo", {1, 1, 0});
  const uint64_t unknown = w.Attribute("builtin", {15});
  const uint64_t op = w.OpName("vhlo.return_v1");
  EXPECT_CONTAINS(
      MessageOf(w.File(FunctionIr(w, 0, 1, Varint(op) + '\x01' + Varints({unknown, 0})))),
      "contains itself");
}

TEST(Bytecode, RefusesLocationsThatContainThemselves) {
  BytecodeWriter w;
  const uint64_t here = w.Attribute("builtin", {10, 0, 0});
  const uint64_t op = w.OpName("vhlo.return_v1");
  EXPECT_CONTAINS(MessageOf(w.File(FunctionIr(w, 0, 1, Varint(op) + '\0' + Varint(here)))),
                  "location 0 contains itself");
}

// Every level doubles what the one before it unfolds to.
TEST(Bytecode, BoundsWhatASmallFileUnfoldsTo) {
  BytecodeWriter w;
  uint64_t last = w.Attribute("vhlo", {14, w.String("text")});
  for (int i = 0; i < 50; ++i) last = w.Attribute("vhlo", {1, 2, last, last});
  const uint64_t unknown = w.Attribute("builtin", {15});
  const uint64_t name = w.Attribute("builtin", {2, w.String("hint")});
  const uint64_t hints = w.Attribute("builtin", {1, 1, name, last});
  const uint64_t op = w.OpName("vhlo.return_v1");
  EXPECT_CONTAINS(
      MessageOf(w.File(FunctionIr(w, 0, 1, Varint(op) + '\x01' + Varints({unknown, hints})))),
      "unfold to many times their size");
}

TEST(Bytecode, BoundsTheDepthOfRegions) {
  BytecodeWriter w;
  const uint64_t unknown = w.Attribute("builtin", {15});
  const uint64_t op = w.OpName("vhlo.while_v1");
  std::string body = Varint(w.OpName("vhlo.return_v1")) + '\0' + Varint(unknown);
  for (int i = 0; i < 5000; ++i)
    body =
        Varint(op) + '\x10' + Varints({unknown, Flagged(1, false), 1, 0, Flagged(1, false)}) + body;
  EXPECT_CONTAINS(MessageOf(w.File(FunctionIr(w, 0, 1, body))), "over 200 regions");
}

TEST(Bytecode, RefusesValuesUsedBeforeTheirDefinition) {
  BytecodeWriter w;
  const uint64_t unknown = w.Attribute("builtin", {15});
  const uint64_t op = w.OpName("vhlo.return_v1");
  // Two announced values, none defined, the second one used.
  EXPECT_CONTAINS(
      MessageOf(w.File(FunctionIr(w, 2, 1, Varint(op) + '\x04' + Varints({unknown, 1, 1})))),
      "used before it is defined");
  BytecodeWriter outside;
  const uint64_t nowhere = outside.Attribute("builtin", {15});
  const uint64_t end = outside.OpName("vhlo.return_v1");
  EXPECT_CONTAINS(MessageOf(outside.File(
                      FunctionIr(outside, 0, 1, Varint(end) + '\x04' + Varints({nowhere, 1, 9})))),
                  "index 9 into the 0 values");
}

TEST(Bytecode, RefusesHugeTensors) {
  BytecodeWriter w;
  const uint64_t unknown = w.Attribute("builtin", {15});
  const uint64_t f32 = w.Type("vhlo", {4});
  const uint64_t huge =
      w.Type("vhlo", {20, 3, Zigzag(1 << 30), Zigzag(1 << 30), Zigzag(1 << 30), f32});
  const uint64_t op = w.OpName("vhlo.create_token_v1");
  EXPECT_CONTAINS(
      MessageOf(w.File(FunctionIr(w, 1, 1, Varint(op) + '\x02' + Varints({unknown, 1, huge})))),
      "a tensor of over 2^56 elements");
}

TEST(Bytecode, SaysWhichTypesItDoesNotRead) {
  BytecodeWriter w;
  const uint64_t unknown = w.Attribute("builtin", {15});
  const uint64_t i128 = w.Type("builtin", {0, 128 << 2});
  const uint64_t tensor = w.Type("builtin", {13, 0, i128});
  const uint64_t op = w.OpName("vhlo.create_token_v1");
  const std::string message =
      MessageOf(w.File(FunctionIr(w, 1, 1, Varint(op) + '\x02' + Varints({unknown, 1, tensor}))));
  EXPECT_CONTAINS(message, "op vhlo.create_token_v1: element type i128");
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::program
