// Ahead-of-time compilation by the phases of the PhaseCompile extension.

#include <string>
#include <string_view>
#include <vector>

#include "generated/features.h"
#include "plugin/api_test_util.h"
#include "plugin/fake_backend_test_util.h"
#include "plugin/proto.h"
#include "testing/test.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

#if PJRT_SCAFFOLD_HAS_PJRT_PhaseCompile_C_Buffers_Destroy && \
    PJRT_SCAFFOLD_HAS_PJRT_PhaseCompile_Extension_phase_compile_run_phases
const PJRT_PhaseCompile_Extension& Phases() {
  return *FindExtension<PJRT_PhaseCompile_Extension>(PJRT_Extension_Type_PhaseCompile);
}

void Free(const char** texts, const size_t* sizes, size_t count) {
  auto args = Make<PJRT_PhaseCompile_C_Buffers_Destroy_Args>();
  args.char_buffers = texts;
  args.char_buffer_sizes = sizes;
  args.num_char_buffers = count;
  Phases().phase_compile_c_buffers_destroy(&args);
}

std::string Partial(std::string_view code, std::string_view consumer = "compile") {
  std::string message;
  PutBytes(1, code, &message);
  PutBytes(2, "mlir", &message);
  PutBytes(4, consumer, &message);
  PutBytes(6, "main", &message);
  return message;
}

// The error, or "" with the output program in `output`. `change` may change what is right.
std::string RunPhase(const TestClient& client, std::string_view phase, const std::string& input,
                     std::string* output,
                     void (*change)(PJRT_PhaseCompile_Run_Phase_Args&) = nullptr) {
  auto get = Make<PJRT_PhaseCompile_Get_Compiler_Args>();
  EXPECT_EQ(Text(Phases().phase_compile_get_compiler(&get)), "");
  auto topology = Make<PJRT_Client_TopologyDescription_Args>();
  topology.client = client.client;
  EXPECT_EQ(Text(Api().PJRT_Client_TopologyDescription(&topology)), "");
  const std::string options = SerializedOptions(1);
  const char* inputs[] = {input.data()};
  const size_t input_sizes[] = {input.size()};
  const char* phases[] = {phase.data()};
  const size_t phase_sizes[] = {phase.size()};
  auto args = Make<PJRT_PhaseCompile_Run_Phase_Args>();
  args.phase_compiler = get.phase_compiler;
  args.input_programs = inputs;
  args.input_programs_sizes = input_sizes;
  args.num_input_programs = 1;
  args.phases_to_run = phases;
  args.phases_to_run_sizes = phase_sizes;
  args.num_phases_to_run = 1;
  args.compile_options = options.data();
  args.compile_options_size = options.size();
  args.topology = topology.topology;
  if (change != nullptr) change(args);
  std::string error = Text(Phases().phase_compile_run_phases(&args));
  if (error.empty()) {
    EXPECT_EQ(args.num_output_programs, size_t{1});
    output->assign(args.output_programs[0], args.output_programs_sizes[0]);
    Free(args.output_programs, args.output_programs_sizes, args.num_output_programs);
  }
  auto destroy = Make<PJRT_PhaseCompile_Destroy_Compiler_Args>();
  destroy.phase_compiler = get.phase_compiler;
  Phases().phase_compile_destroy_compiler(&destroy);
  return error;
}

TEST(PhaseCompileExtension, NamesItsPhases) {
  auto args = Make<PJRT_PhaseCompile_Get_PhaseNames_Args>();
  EXPECT_EQ(Text(Phases().phase_compile_get_phase_names(&args)), "");
  ASSERT_TRUE(args.num_phase_names == 1);
  EXPECT_EQ(std::string(args.phase_names[0]), "compile");
  EXPECT_EQ(args.phase_names_sizes[0], size_t{7});
  Free(args.phase_names, args.phase_names_sizes, args.num_phase_names);
  Free(nullptr, nullptr, 0);
}

TEST(PhaseCompileExtension, WhatComesOutCanBeLoadedAndRun) {
  Fake::Reset();
  TestClient client;
  std::string output;
  ASSERT_TRUE(RunPhase(client, "compile", Partial("inc"), &output).empty());
  std::string executable, text;
  ProtoReader reader(output);
  while (reader.Next()) {
    if (reader.field() == 1) executable = reader.bytes();
    if (reader.field() != 1) text += std::string(reader.bytes()) + " ";
  }
  EXPECT_TRUE(reader.ok());
  EXPECT_EQ(text, "serialized_executable compile 1 main ");
  auto load = Make<PJRT_Executable_DeserializeAndLoad_Args>();
  load.client = client.client;
  load.serialized_executable = executable.data();
  load.serialized_executable_size = executable.size();
  ASSERT_TRUE(Text(Api().PJRT_Executable_DeserializeAndLoad(&load)).empty());
  PJRT_Buffer* x = client.Put<float>({1, 2, 3, 4}, {4});
  const auto run = Execute(load.loaded_executable, {{x}});
  EXPECT_EQ(run.error, "");
  EXPECT_TRUE(Get<float>(run.outputs[0][0]) == std::vector<float>({2, 3, 4, 5}));
  Destroy(run);
  DestroyBuffer(x);
  DestroyLoaded(load.loaded_executable);
}

TEST(PhaseCompileExtension, RefusesWhatItCannotRun) {
  Fake::Reset();
  TestClient client;
  std::string output;
  EXPECT_CONTAINS(RunPhase(client, "link", Partial("inc"), &output),
                  "3: PJRT_PhaseCompile_Run_Phase");
  EXPECT_CONTAINS(RunPhase(client, "link", Partial("inc"), &output), "no phase 'link'");
  EXPECT_CONTAINS(RunPhase(client, "compile", Partial("inc", "link"), &output), "consumer_phases");
  EXPECT_CONTAINS(RunPhase(client, "compile", "\x0a\xff", &output), "PjRtPartialProgramProto");
  std::string no_code;
  PutBytes(4, "compile", &no_code);
  EXPECT_CONTAINS(RunPhase(client, "compile", no_code, &output), "PJRT_Compile: ");
  auto none = Make<PJRT_PhaseCompile_Run_Phase_Args>();
  EXPECT_CONTAINS(Text(Phases().phase_compile_run_phases(&none)), "topology is null");
}

// Each pointer of the struct may be null while its count says that there is something.
TEST(PhaseCompileExtension, RefusesEachNullPointer) {
  Fake::Reset();
  TestClient client;
  using Args = PJRT_PhaseCompile_Run_Phase_Args;
  static const char* null_text[] = {nullptr};
  const struct {
    void (*change)(Args&);
    const char* error;
  } cases[] = {
      {[](Args& args) { args.topology = nullptr; }, "topology is null"},
      {[](Args& args) { args.input_programs = nullptr; }, "input_programs is null"},
      {[](Args& args) { args.input_programs_sizes = nullptr; }, "input_programs_sizes is null"},
      {[](Args& args) { args.input_programs = null_text; }, "input_programs[0] is null"},
      {[](Args& args) { args.phases_to_run = nullptr; }, "phases_to_run is null"},
      {[](Args& args) { args.phases_to_run_sizes = nullptr; }, "phases_to_run_sizes is null"},
      {[](Args& args) { args.phases_to_run = null_text; }, "phases_to_run[0] is null"},
      {[](Args& args) { args.compile_options = nullptr; }, "compile_options is null"},
      {[](Args& args) { args.num_phases_to_run = 0; }, "0 phases of 1 programs"},
      {[](Args& args) { args.num_input_programs = 2; }, "1 phases of 2 programs"},
  };
  for (const auto& one : cases) {
    std::string output;
    const std::string error = RunPhase(client, "compile", Partial("inc"), &output, one.change);
    EXPECT_CONTAINS(error, "3: PJRT_PhaseCompile_Run_Phase: ");
    EXPECT_CONTAINS(error, one.error);
  }
}
#endif

}  // namespace
}  // namespace PJRT_PLUGIN_NS::plugin
