#include "plugin/executable.h"

#include <string>
#include <utility>

#include "plugin/bytes.h"
#include "plugin/dtype.h"
#include "plugin/layer.h"
#include "plugin/sharding.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

constexpr char kFormat[] = "mlir";

template <typename Infos>
int64_t TotalBytes(const Infos& infos) {
  int64_t bytes = 0;
  for (const auto& info : infos) bytes += int64_t(info.shape.byte_size());
  return bytes;
}

// Bytes of the outputs that take over a donated parameter.
int64_t AliasedBytes(const backend::ExecutableInfo& info) {
  int64_t bytes = 0;
  for (const backend::ParameterInfo& parameter : info.parameters) {
    if (parameter.donated_to_output.has_value()) bytes += int64_t(parameter.shape.byte_size());
  }
  return bytes;
}

template <typename Infos>
void AddShardings(const Infos& infos, std::vector<std::string>* bytes, StringList* list) {
  for (const auto& info : infos) {
    if (!info.sharding.has_value()) {  // all or none: a list has no gaps
      bytes->clear();
      return;
    }
    bytes->push_back(WriteOpSharding(*info.sharding));
  }
  for (const std::string& one : *bytes) list->Add(one);
}

}  // namespace

CompiledProgram::CompiledProgram(std::shared_ptr<Client> client,
                                 std::shared_ptr<backend::Executable> impl,
                                 backend::CompileOptions options)
    : client(std::move(client)), impl(std::move(impl)), options(std::move(options)) {
  for (const backend::OutputInfo& output : info().outputs) {
    output_types.push_back(ToBufferType(output.shape.dtype));
    output_ranks.push_back(output.shape.dims.size());
    output_dims.insert(output_dims.end(), output.shape.dims.begin(), output.shape.dims.end());
    output_memory_kinds.Add(output.memory_kind);
    output_layouts.push_back(LayoutOf(output.shape));
  }
  for (const backend::ParameterInfo& parameter : info().parameters) {
    parameter_memory_kinds.Add(parameter.memory_kind);
    parameter_layouts.push_back(LayoutOf(parameter.shape));
  }
  AddShardings(info().outputs, &output_sharding_bytes, &output_shardings);
  AddShardings(info().parameters, &parameter_sharding_bytes, &parameter_shardings);
  costs = NamedValues(info().costs);
}

PJRT_Error* Layer::Executable_Destroy(PJRT_Executable_Destroy_Args* args) {
  delete FromC(args->executable);
  return nullptr;
}

PJRT_Error* Layer::Executable_Name(PJRT_Executable_Name_Args* args) {
  const std::string& name = FromC(args->executable)->program->info().name;
  args->executable_name = name.data();
  args->executable_name_size = name.size();
  return nullptr;
}

PJRT_Error* Layer::Executable_NumReplicas(PJRT_Executable_NumReplicas_Args* args) {
  args->num_replicas = size_t(FromC(args->executable)->program->options.num_replicas);
  return nullptr;
}

PJRT_Error* Layer::Executable_NumPartitions(PJRT_Executable_NumPartitions_Args* args) {
  args->num_partitions = size_t(FromC(args->executable)->program->options.num_partitions);
  return nullptr;
}

PJRT_Error* Layer::Executable_NumOutputs(PJRT_Executable_NumOutputs_Args* args) {
  args->num_outputs = FromC(args->executable)->program->info().outputs.size();
  return nullptr;
}

PJRT_Error* Layer::Executable_SizeOfGeneratedCodeInBytes(
    PJRT_Executable_SizeOfGeneratedCodeInBytes_Args* args) {
  args->size_in_bytes = FromC(args->executable)->program->info().code_bytes;
  return nullptr;
}

PJRT_Error* Layer::Executable_GetCostAnalysis(PJRT_Executable_GetCostAnalysis_Args* args) {
  const NamedValues& costs = FromC(args->executable)->program->costs;
  if (costs.size() == 0) {
    return MakeError(Unimplemented("PJRT_Executable_GetCostAnalysis: the compiler gives no costs"));
  }
  args->properties = costs.data();
  args->num_properties = costs.size();
  return nullptr;
}

PJRT_Error* Layer::Executable_OutputMemoryKinds(PJRT_Executable_OutputMemoryKinds_Args* args) {
  const StringList& kinds = FromC(args->executable)->program->output_memory_kinds;
  args->num_outputs = kinds.data.size();
  args->memory_kinds = kinds.data.data();
  args->memory_kind_sizes = kinds.sizes.data();
  return nullptr;
}

PJRT_Error* Layer::Executable_OutputElementTypes(PJRT_Executable_OutputElementTypes_Args* args) {
  const CompiledProgram& program = *FromC(args->executable)->program;
  args->output_types = const_cast<PJRT_Buffer_Type*>(program.output_types.data());
  args->num_output_types = program.output_types.size();
  return nullptr;
}

PJRT_Error* Layer::Executable_OutputDimensions(PJRT_Executable_OutputDimensions_Args* args) {
  const CompiledProgram& program = *FromC(args->executable)->program;
  args->num_outputs = program.output_ranks.size();
  args->dims = program.output_dims.data();
  args->dim_sizes = program.output_ranks.data();
  return nullptr;
}

PJRT_Error* Layer::Executable_OptimizedProgram(PJRT_Executable_OptimizedProgram_Args* args) {
  const std::string& text = FromC(args->executable)->program->info().optimized_text;
  if (text.empty()) {
    return MakeError(Unimplemented(
        "PJRT_Executable_OptimizedProgram: the compiler keeps no program after its passes"));
  }
  PJRT_Program* program = args->program;
  if (program->code != nullptr) {
    if (program->code_size < text.size()) {
      return MakeError(InvalidArgument("PJRT_Executable_OptimizedProgram: code_size is " +
                                       std::to_string(program->code_size) + ", the program has " +
                                       std::to_string(text.size()) + " bytes"));
    }
    text.copy(program->code, text.size());
  }
  program->code_size = text.size();
  program->format = kFormat;
  program->format_size = sizeof(kFormat) - 1;
  return nullptr;
}

PJRT_Error* Layer::Executable_Fingerprint(PJRT_Executable_Fingerprint_Args* args) {
  const std::string& fingerprint = FromC(args->executable)->program->info().fingerprint;
  if (fingerprint.empty()) {
    return MakeError(
        Unimplemented("PJRT_Executable_Fingerprint: the compiler gives no fingerprint"));
  }
  args->executable_fingerprint = fingerprint.data();
  args->executable_fingerprint_size = fingerprint.size();
  return nullptr;
}

PJRT_Error* Layer::LoadedExecutable_Fingerprint(PJRT_LoadedExecutable_Fingerprint_Args* args) {
  const std::string& fingerprint = FromC(args->executable)->program->info().fingerprint;
  if (fingerprint.empty()) {
    return MakeError(
        Unimplemented("PJRT_LoadedExecutable_Fingerprint: the compiler gives no fingerprint"));
  }
  args->executable_fingerprint = fingerprint.data();
  args->executable_fingerprint_size = fingerprint.size();
  return nullptr;
}

PJRT_Error* Layer::Executable_GetCompiledMemoryStats(
    PJRT_Executable_GetCompiledMemoryStats_Args* args) {
  const backend::ExecutableInfo& info = FromC(args->executable)->program->info();
  // Callers do not clear the struct: what is not written here would be garbage to them.
  PJRT_Executable_GetCompiledMemoryStats_Args out = {};
  out.struct_size = args->struct_size;
  out.extension_start = args->extension_start;
  out.executable = args->executable;
  out.generated_code_size_in_bytes = info.code_bytes;
  out.argument_size_in_bytes = TotalBytes(info.parameters);
  out.output_size_in_bytes = TotalBytes(info.outputs);
  out.alias_size_in_bytes = AliasedBytes(info);
  out.temp_size_in_bytes = info.temp_bytes;
  [[maybe_unused]] const int64_t total = out.argument_size_in_bytes + out.output_size_in_bytes -
                                         out.alias_size_in_bytes + out.temp_size_in_bytes;
#if PJRT_SCAFFOLD_HAS_PJRT_Executable_GetCompiledMemoryStats_Args_peak_memory_in_bytes
  out.peak_memory_in_bytes = total;
#endif
#if PJRT_SCAFFOLD_HAS_PJRT_Executable_GetCompiledMemoryStats_Args_total_size_in_bytes
  out.total_size_in_bytes = total;
#endif
#if PJRT_SCAFFOLD_HAS_PJRT_Executable_GetCompiledMemoryStats_Args_total_allocation_bytes
  out.total_allocation_bytes = total;
  out.peak_unpadded_heap_bytes = info.temp_bytes;
#endif
  *args = out;
  return nullptr;
}

#if PJRT_SCAFFOLD_HAS_PJRT_Executable_ParameterMemoryKinds
PJRT_Error* Layer::Executable_ParameterMemoryKinds(
    PJRT_Executable_ParameterMemoryKinds_Args* args) {
  const StringList& kinds = FromC(args->executable)->program->parameter_memory_kinds;
  args->num_parameters = kinds.data.size();
  args->memory_kinds = kinds.data.data();
  args->memory_kind_sizes = kinds.sizes.data();
  return nullptr;
}
#endif

#if PJRT_SCAFFOLD_HAS_PJRT_Executable_GetCompileOptions
PJRT_Error* Layer::Executable_GetCompileOptions(PJRT_Executable_GetCompileOptions_Args* args) {
  GiveBytes(FromC(args->executable)->program->options.serialized, &args->serialized_bytes,
            &args->serialized_bytes_size, &args->serialized_compile_options,
            &args->serialized_compile_options_deleter);
  return nullptr;
}
#endif

}  // namespace PJRT_PLUGIN_NS::plugin
