// The PhaseCompile extension: ahead-of-time compilation in phases that a tool runs one by one,
// handing the programs of one to the next.
//
// A backend compiles in one step, so there is one phase, "compile": one program goes in, in a
// format that PJRT_Compile takes, and an executable comes out, as PJRT_Executable_Serialize writes
// it, which PJRT_Executable_DeserializeAndLoad loads. Programs travel as PjRtPartialProgramProto
// messages: program (1), its format (2), the phase that made it (3), the phases that take it (4,
// repeated), the version of its format (5) and its name (6).

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "generated/features.h"
#include "generated/guard.h"
#include "generated/pjrt_extensions.h"
#include "plugin/error.h"
#include "plugin/extensions.h"
#include "plugin/layer.h"
#include "plugin/proto.h"
#include "plugin/topology.h"

namespace PJRT_PLUGIN_NS::plugin {

// Versions before have no function that frees what the others give.
#if PJRT_SCAFFOLD_HAS_PJRT_PhaseCompile_C_Buffers_Destroy
namespace {

constexpr char kRunPhases[] = "PJRT_PhaseCompile_Run_Phase";
constexpr std::string_view kCompilePhase = "compile";
constexpr std::string_view kExecutableFormat = "serialized_executable";
constexpr std::string_view kFormatVersion = "1";

struct PartialProgram {
  std::string_view program;
  std::string_view format;
  std::string_view name;
  std::vector<std::string_view> consumers;
};

Result<PartialProgram> ReadPartialProgram(std::string_view bytes) {
  PartialProgram partial;
  ProtoReader reader(bytes);
  while (reader.Next()) {
    if (!reader.is_bytes()) continue;
    if (reader.field() == 1) partial.program = reader.bytes();
    if (reader.field() == 2) partial.format = reader.bytes();
    if (reader.field() == 4) partial.consumers.push_back(reader.bytes());
    if (reader.field() == 6) partial.name = reader.bytes();
  }
  if (!reader.ok()) {
    return InvalidArgument(std::string(kRunPhases) +
                           ": input program 0 is no PjRtPartialProgramProto message");
  }
  return partial;
}

// Arrays that the caller gives back to PJRT_PhaseCompile_C_Buffers_Destroy: each text ends in a
// zero that its size does not count.
void GiveTexts(const std::vector<std::string>& texts, const char*** data, const size_t** sizes,
               size_t* count) {
  auto owned = std::make_unique<std::unique_ptr<char[]>[]>(texts.size());
  auto pointers = std::make_unique<const char*[]>(texts.size());
  auto lengths = std::make_unique<size_t[]>(texts.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    owned[i] = std::make_unique<char[]>(texts[i].size() + 1);
    std::ranges::copy(texts[i], owned[i].get());
    lengths[i] = texts[i].size();
  }
  for (size_t i = 0; i < texts.size(); ++i) pointers[i] = owned[i].release();
  *data = pointers.release();
  *sizes = lengths.release();
  *count = texts.size();
}

// INVALID_ARGUMENT unless there is one text, which the arrays of pointers and sizes hold.
Status CheckText(const char* const* texts, const size_t* sizes, const std::string& name) {
  PJRT_PLUGIN_RETURN_IF_ERROR(CheckPointer(texts, sizeof(*texts), name.c_str(), kRunPhases));
  PJRT_PLUGIN_RETURN_IF_ERROR(
      CheckPointer(sizes, sizeof(*sizes), (name + "_sizes").c_str(), kRunPhases));
  return CheckPointer(texts[0], sizes[0], (name + "[0]").c_str(), kRunPhases);
}

Status CheckPhases(const PJRT_PhaseCompile_Run_Phase_Args& args) {
  PJRT_PLUGIN_RETURN_IF_ERROR(CheckPointer(args.topology, 1, "topology", kRunPhases));
  if (args.num_phases_to_run != 1 || args.num_input_programs != 1) {
    return InvalidArgument(std::string(kRunPhases) + ": " + std::to_string(args.num_phases_to_run) +
                           " phases of " + std::to_string(args.num_input_programs) +
                           " programs; there is one phase, of one program: compile");
  }
  PJRT_PLUGIN_RETURN_IF_ERROR(
      CheckText(args.phases_to_run, args.phases_to_run_sizes, "phases_to_run"));
  PJRT_PLUGIN_RETURN_IF_ERROR(
      CheckText(args.input_programs, args.input_programs_sizes, "input_programs"));
  PJRT_PLUGIN_RETURN_IF_ERROR(
      CheckPointer(args.compile_options, args.compile_options_size, "compile_options", kRunPhases));
  const std::string_view phase(args.phases_to_run[0], args.phases_to_run_sizes[0]);
  if (phase == kCompilePhase) return Status();
  return InvalidArgument(std::string(kRunPhases) + ": there is no phase '" + std::string(phase) +
                         "'; the only one is compile");
}

// The bytes of the executable, through the same functions that a framework compiles with.
Result<std::string> CompileAndSerialize(const PartialProgram& partial,
                                        const PJRT_PhaseCompile_Run_Phase_Args& args) {
  PJRT_Program program = {};
  program.struct_size = sizeof(program);
  program.code = const_cast<char*>(partial.program.data());
  program.code_size = partial.program.size();
  program.format = partial.format.data();
  program.format_size = partial.format.size();
  PJRT_Compile_Args compile = {};
  compile.struct_size = sizeof(compile);
  compile.topology = args.topology;
  compile.program = &program;
  compile.compile_options = args.compile_options;
  compile.compile_options_size = args.compile_options_size;
  PJRT_PLUGIN_RETURN_IF_ERROR(TakeError(Layer::Compile(&compile)));
  const auto destroy = [](PJRT_Executable* executable) {
    PJRT_Executable_Destroy_Args args = {};
    args.struct_size = sizeof(args);
    args.executable = executable;
    (void)TakeError(Layer::Executable_Destroy(&args));
  };
  const std::unique_ptr<PJRT_Executable, decltype(destroy)> executable(compile.executable, destroy);
  PJRT_Executable_Serialize_Args serialize = {};
  serialize.struct_size = sizeof(serialize);
  serialize.executable = executable.get();
  PJRT_PLUGIN_RETURN_IF_ERROR(TakeError(Layer::Executable_Serialize(&serialize)));
  std::string bytes(serialize.serialized_bytes, serialize.serialized_bytes_size);
  serialize.serialized_executable_deleter(serialize.serialized_executable);
  return bytes;
}

PJRT_Error* RunPhases(PJRT_PhaseCompile_Run_Phase_Args* args) {
  PJRT_PLUGIN_RETURN_IF_C_ERROR(CheckPhases(*args));
  PJRT_PLUGIN_ASSIGN_OR_RETURN_C(
      const PartialProgram partial,
      ReadPartialProgram({args->input_programs[0], args->input_programs_sizes[0]}));
  if (std::ranges::find(partial.consumers, kCompilePhase) == partial.consumers.end()) {
    return MakeError(InvalidArgument(
        std::string(kRunPhases) +
        ": input program 0 is not meant for the phase compile; its consumer_phases lack it"));
  }
  PJRT_PLUGIN_ASSIGN_OR_RETURN_C(const std::string executable, CompileAndSerialize(partial, *args));
  std::string output;
  PutBytes(1, executable, &output);
  PutBytes(2, kExecutableFormat, &output);
  PutBytes(3, kCompilePhase, &output);
  PutBytes(5, kFormatVersion, &output);
  if (!partial.name.empty()) PutBytes(6, partial.name, &output);
  GiveTexts({output}, &args->output_programs, &args->output_programs_sizes,
            &args->num_output_programs);
  return nullptr;
}

PJRT_Error* GetPhaseNames(PJRT_PhaseCompile_Get_PhaseNames_Args* args) {
  GiveTexts({std::string(kCompilePhase)}, &args->phase_names, &args->phase_names_sizes,
            &args->num_phase_names);
  return nullptr;
}

// The compiler has no state: one for all, which is never destroyed.
PJRT_Error* GetPhaseCompiler(PJRT_PhaseCompile_Get_Compiler_Args* args) {
  static const char compiler = 0;
  args->phase_compiler = reinterpret_cast<const PJRT_PhaseCompiler*>(&compiler);
  return nullptr;
}

void DestroyPhaseCompiler(PJRT_PhaseCompile_Destroy_Compiler_Args*) {}

void DestroyTexts(PJRT_PhaseCompile_C_Buffers_Destroy_Args* args) {
  for (size_t i = 0; args->char_buffers != nullptr && i < args->num_char_buffers; ++i) {
    delete[] args->char_buffers[i];
  }
  delete[] args->char_buffers;
  delete[] args->char_buffer_sizes;
}

}  // namespace

PJRT_Extension_Base* PhaseCompileExtension(PJRT_Extension_Base* next) {
  using generated::Guard;
  static PJRT_PhaseCompile_Extension extension = {};
  extension.phase_compile_get_compiler = &Guard<&GetPhaseCompiler>::Call;
  extension.phase_compile_destroy_compiler = &Guard<&DestroyPhaseCompiler>::Call;
#if PJRT_SCAFFOLD_HAS_PJRT_PhaseCompile_Extension_phase_compile_run_phases
  extension.phase_compile_run_phases = &Guard<&RunPhases>::Call;
#else
  extension.phase_compile_run_phase = &Guard<&RunPhases>::Call;
#endif
  extension.phase_compile_get_phase_names = &Guard<&GetPhaseNames>::Call;
  extension.phase_compile_c_buffers_destroy = &Guard<&DestroyTexts>::Call;
  return LinkExtension(&extension, PJRT_Extension_Type_PhaseCompile, next);
}
#else
PJRT_Extension_Base* PhaseCompileExtension(PJRT_Extension_Base* next) { return next; }
#endif

}  // namespace PJRT_PLUGIN_NS::plugin
