// Programs as older frameworks send them, run: several devices for either partitioner, and custom
// calls that have become composites since.

#include <cmath>
#include <string>
#include <vector>

#include "program/gspmd.h"
#include "program/legacy_programs.h"
#include "program/pass_spmd.h"
#include "program/passes.h"
#include "program/read.h"
#include "reference/testing_run.h"

namespace PJRT_PLUGIN_NS::reference {
namespace {

using program::Builder;

std::unique_ptr<program::Module> Read(std::string_view text) {
  auto module = program::ReadProgram(text);
  if (module.ok() && program::RunPasses(**module).ok()) return std::move(*module);
  ADD_FAILURE() << std::string(module.status().message());
  return std::make_unique<program::Module>();
}

TEST(Legacy, PartsOfEveryPartitioner) {
  for (std::string_view text :
       {program::kForShardy, program::kForEarlyShardy, program::kForGspmd}) {
    auto module = Read(text);
    Harness run;
    auto executable = run.Compile(*module, {.num_replicas = 1, .num_partitions = 4});
    ASSERT_TRUE(executable.ok());
    std::vector<std::vector<backend::Argument>> arguments;
    for (size_t i = 0; i < 4; ++i)
      arguments.push_back({{run.Put(Bytes<int32_t>({1, 2, 3, 4}), i), false}});
    auto results = run.Launch(**executable, arguments);
    ASSERT_TRUE(results.ok());
    for (int32_t i = 0; i < 4; ++i) {
      auto& result = (*results)[size_t(i)];
      ASSERT_TRUE(result.done.Await().ok());
      const auto& block = *result.outputs[0];
      EXPECT_EQ(Values<int32_t>(block.address(), block.bytes()),
                (std::vector<int32_t>{1 + i, 2 + i, 3 + i, 4 + i}));
    }
  }
}

// Frameworks before the Shardings extension find the shardings in the text, in GSPMD's form, and
// convert it to HLO, which knows nothing of Shardy.
// pitfall 19: the optimised program still has operations that frameworks do not read
TEST(Legacy, TextOfAProgramOfSeveralDevicesSaysItsShardings) {
  auto module = Read(program::kForShardy);
  auto executable = Harness().Compile(*module, {.num_replicas = 1, .num_partitions = 4});
  ASSERT_TRUE(executable.ok());
  const std::string& text = (*executable)->info().optimized_text;
  EXPECT_CONTAINS(text, "mhlo.spmd_output_sharding = \"{devices=[4,1]0,1,2,3}\"");
  EXPECT_CONTAINS(text, "mhlo.spmd_parameters_shardings = [\"{devices=[4,1]0,1,2,3}\"]");
  EXPECT_EQ(text.find("sdy."), std::string::npos);
}

TEST(Legacy, TopK) {
  auto module = Read(program::kTopK);
  const std::vector<Data> results =
      Harness().All(*module, {Bytes<float>({1, 9, 3, 9, NAN, 1, -1, 2})});
  ASSERT_TRUE(results.size() == 2);
  EXPECT_EQ(Values<int32_t>(results[1].data(), results[1].size()),
            (std::vector<int32_t>{1, 3, 0, 3}));
  const std::vector<float> values = Values<float>(results[0].data(), results[0].size());
  EXPECT_EQ(values[1], 9.0f);
  EXPECT_TRUE(std::isnan(values[2]));
  EXPECT_EQ(values[3], 2.0f);
}

template <typename T>
std::vector<T> Math(std::string target, backend::DType dtype, std::vector<T> in) {
  const Type type = Type::Tensor(dtype, {int64_t(in.size())});
  Builder b({type});
  b.Return({b.Add(program::OpCode::kCustomCall, {b.argument(0)}, type,
                  {{"call_target_name", {std::move(target)}}})});
  return Harness().One<T>(b.module(), {Bytes(in)});
}

TEST(Legacy, Functions) {
  const std::vector<float> erf = Math<float>("mhlo.erf", backend::DType::kF32, {0.5f, -1.0f});
  EXPECT_NEAR(erf[0], 0.5204999f, 1e-6);
  EXPECT_NEAR(erf[1], -0.8427008f, 1e-6);
  EXPECT_NEAR(Math<double>("mhlo.acosh", backend::DType::kF64, {2.0})[0], std::acosh(2.0), 1e-15);
  // 0.5, -1 and 300 times 0 in bf16: blocks and their rest.
  std::vector<uint16_t> halves(302, 0);
  halves[300] = 0x3f00, halves[301] = 0xbf80;
  const std::vector<uint16_t> sinh = Math<uint16_t>("mhlo.sinh", backend::DType::kBF16, halves);
  EXPECT_EQ(sinh[299], uint16_t{0});
  EXPECT_EQ(sinh[300], uint16_t{0x3f05});  // 0.5211
  EXPECT_EQ(sinh[301], uint16_t{0xbf96});  // -1.1752
}

// A program from outside may say anything of the parts.
TEST(Legacy, PartsThatDoNotFitAreRefused) {
  for (const Type& part : {Type::Tensor(backend::DType::kS16, {2, 2}), program::I32({4, 2}),
                           program::I32({2, 2, 1})}) {
    Builder b({program::I32({8, 2})});
    program::Sharding sharding = *program::ParseGspmdSharding("{devices=[4,1]<=[4]}", 2);
    Op* call = b.AddOp(program::OpCode::kCustomCall, {b.argument(0)}, {part},
                       {{"call_target_name", {std::string(program::kFullToShard)}}});
    call->discardable = {{"sdy.sharding", {std::move(sharding)}}};
    b.Return({call->result()});
    const Status status =
        Harness().Compile(b.module(), {.num_replicas = 1, .num_partitions = 4}).status();
    EXPECT_CONTAINS(status.message(), "not the part that the sharding says");
  }
}

TEST(Legacy, UnknownTargetIsRefusedByName) {
  const Type type = program::F32({2});
  Builder b({type});
  b.Return({b.Add(program::OpCode::kCustomCall, {b.argument(0)}, type,
                  {{"call_target_name", {std::string("mhlo.zeta")}}})});
  EXPECT_CONTAINS(Harness().Compile(b.module()).status().message(), "mhlo.zeta");
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::reference
