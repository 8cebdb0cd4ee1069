#include "reference/compiler.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>
#include <utility>

#include "program/gspmd.h"
#include "program/pass_layout.h"
#include "program/pass_spmd.h"
#include "program/passes.h"
#include "program/print_attributes.h"
#include "program/read.h"
#include "reference/plan_builder.h"
#include "reference/serialized.h"

namespace PJRT_PLUGIN_NS::reference {
namespace {

// Of mhlo.memory_kind on an argument or result.
std::string MemoryKind(const std::vector<program::AttributeList>& attributes, size_t index) {
  if (index < attributes.size())
    for (const program::NamedAttribute& one : attributes[index])
      if (one.name == "mhlo.memory_kind")
        if (const auto* kind = one.value.As<std::string>()) return *kind;
  return std::string(backend::kDeviceMemoryKind);
}

Result<backend::ExecutableInfo> InfoOf(const program::Module& module, const Plan& plan,
                                       const Partitioning& partitioning) {
  const program::Function& main = *module.main();
  backend::ExecutableInfo info;
  info.name = module.name.empty() ? "main" : module.name;
  info.num_replicas = partitioning.num_replicas;
  info.num_partitions = partitioning.num_partitions;
  auto shape_of = [&](const std::vector<program::AttributeList>& attributes, size_t i,
                      const Type& type, auto& one) -> Status {
    const program::Logical logical =
        program::LogicalOf(i < attributes.size() ? attributes[i] : program::AttributeList(), type);
    std::optional<Split> split;
    if (logical.sharding) {
      PJRT_PLUGIN_ASSIGN_OR_RETURN(
          split, SplitOf(module, partitioning, *logical.sharding, logical.type.dims));
    }
    one.shape = backend::Shape{type.dtype, split ? split->local_dims : logical.type.dims,
                               logical.minor_to_major};
    one.sharding = ShardingOf(split, partitioning);
    one.memory_kind = MemoryKind(attributes, i);
    return Status();
  };
  for (size_t i = 0; i < main.body.arguments.size(); ++i) {
    backend::ParameterInfo parameter;
    PJRT_PLUGIN_RETURN_IF_ERROR(
        shape_of(main.argument_attributes, i, main.body.arguments[i]->type, parameter));
    parameter.donated_to_output = plan.arguments[i].donated_to_output;
    info.parameters.push_back(std::move(parameter));
  }
  const auto& results = main.body.terminator()->operands;
  for (size_t k = 0; k < results.size(); ++k) {
    backend::OutputInfo output;
    PJRT_PLUGIN_RETURN_IF_ERROR(shape_of(main.result_attributes, k, results[k]->type, output));
    info.outputs.push_back(std::move(output));
  }
  info.runs_apart = !plan.has_collectives;
  info.temp_bytes = int64_t(plan.temp_bytes);
  info.code_bytes = int64_t(plan.constants.size() + plan.buffers.size() * sizeof(Buffer));
  info.costs = {{"flops", float(plan.flops)}, {"bytes accessed", float(plan.bytes_accessed)}};
  return info;
}

// Frameworks before the Shardings extension read the shardings in the text of the program.
template <typename Infos>
std::vector<std::string> GspmdTexts(const Infos& infos) {
  std::vector<std::string> texts;
  for (const auto& info : infos)
    texts.push_back(program::GspmdText(info.sharding->tiles, info.sharding->devices));
  return texts;
}

// The program as frameworks can read it; takes its shardings from the module.
std::string OptimizedText(program::Module& module, const backend::ExecutableInfo& info) {
  if (info.num_partitions == 1) return program::ToString(module);
  program::DropShardings(module);
  const std::vector<std::string> outputs = GspmdTexts(info.outputs);
  if (!outputs.empty()) {
    module.attributes.push_back(
        {"mhlo.spmd_output_sharding",
         {outputs.size() == 1
              ? outputs[0]
              : "{" + program::Join(outputs, [](const std::string& text) { return text; }) + "}"}});
  }
  std::vector<program::Attribute> parameters;
  for (std::string& text : GspmdTexts(info.parameters)) parameters.push_back({std::move(text)});
  module.attributes.push_back({"mhlo.spmd_parameters_shardings", {std::move(parameters)}});
  return program::ToString(module);
}

// jit's compiler_options. Those of XLA itself say how XLA is to compile: programs that give them
// run here too, without their effect.
Status CheckOverrides(const std::vector<backend::Attribute>& overrides) {
  constexpr std::string_view kOfXla = "xla_";
  constexpr std::string_view kEfforts[] = {"exec_time_optimization_effort", "memory_fitting_effort",
                                           "memory_fitting_level", "optimization_level"};
  for (const backend::Attribute& one : overrides) {
    if (std::string_view(one.name).starts_with(kOfXla) ||
        std::ranges::find(kEfforts, one.name) != std::end(kEfforts))
      continue;
    return backend::InvalidArgument(
        "No such compile option: '" + one.name +
        "'; the reference backend takes those that begin with xla_, without effect, and has none "
        "of its own");
  }
  return {};
}

void WriteFile(const std::string& path, std::string_view text) {
  // A dump that cannot be written must not stop a compilation.
  std::ofstream(path, std::ios::binary).write(text.data(), std::streamsize(text.size()));
}

// A program that cannot be compiled is the one that somebody will want to look at.
void Dump(const std::string& folder, std::string_view code,
          const Result<std::shared_ptr<PlanExecutable>>& executable) {
  static std::atomic<int> number{0};
  char prefix[16];
  std::snprintf(prefix, sizeof(prefix), "/%04d.", number.fetch_add(1));
  const std::string path =
      folder + prefix + (executable.ok() ? (*executable)->info().name : std::string("failed"));
  WriteFile(path + ".program.mlirbc", code);
  if (!executable.ok()) return WriteFile(path + ".error.txt", executable.status().message());
  WriteFile(path + ".optimized.mlir", (*executable)->info().optimized_text);
  WriteFile(path + ".plan.txt", ToString((*executable)->plan()));
}

}  // namespace

Result<std::shared_ptr<PlanExecutable>> CompileModule(program::Module& module,
                                                      const Partitioning& partitioning,
                                                      std::shared_ptr<const std::string> serialized,
                                                      Runtime* runtime) {
  PlanBuilder builder(module, partitioning, runtime->pool.threads(), runtime->custom_calls);
  PJRT_PLUGIN_ASSIGN_OR_RETURN(Plan plan, builder.Build());
  PJRT_PLUGIN_ASSIGN_OR_RETURN(backend::ExecutableInfo info, InfoOf(module, plan, partitioning));
  info.optimized_text = OptimizedText(module, info);
  info.fingerprint = FingerprintOf(*serialized);
  return std::make_shared<PlanExecutable>(std::move(plan), std::move(info), partitioning,
                                          std::move(serialized), runtime);
}

Result<std::shared_ptr<PlanExecutable>> PlanCompiler::MakeExecutable(
    const backend::Program& program, const backend::CompileOptions& options) {
  if (program.format != "mlir")
    return backend::Unimplemented("a program of format '" + std::string(program.format) +
                                  "'; the reference backend compiles 'mlir' (StableHLO)");
  if (options.tupled_arguments)
    return backend::Unimplemented(
        "the compile option parameter_is_tupled_arguments; pass the arguments one by one");
  PJRT_PLUGIN_RETURN_IF_ERROR(CheckOverrides(options.overrides));
  PJRT_PLUGIN_ASSIGN_OR_RETURN(std::unique_ptr<program::Module> module,
                               program::ReadProgram(program.code));
  PJRT_PLUGIN_RETURN_IF_ERROR(program::RunPasses(*module));
  const Partitioning partitioning{std::max(options.num_replicas, 1),
                                  std::max(options.num_partitions, 1)};
  if (partitioning.num_replicas * partitioning.num_partitions > int(runtime_->workers.size()))
    return backend::InvalidArgument(
        "the program wants " + std::to_string(partitioning.num_replicas) + " replicas of " +
        std::to_string(partitioning.num_partitions) + " partitions, but there are " +
        std::to_string(runtime_->workers.size()) + " devices");
  auto serialized = std::make_shared<const std::string>(Serialize(partitioning, program.code));
  return CompileModule(*module, partitioning, std::move(serialized), runtime_);
}

Result<std::shared_ptr<backend::Executable>> PlanCompiler::Compile(
    const backend::Program& program, const backend::CompileOptions& options) {
  Result<std::shared_ptr<PlanExecutable>> executable = MakeExecutable(program, options);
  if (!dump_.empty()) Dump(dump_, program.code, executable);
  PJRT_PLUGIN_RETURN_IF_ERROR(executable.status());
  return std::shared_ptr<backend::Executable>(std::move(*executable));
}

Result<std::shared_ptr<backend::Executable>> PlanCompiler::Deserialize(std::string_view bytes) {
  PJRT_PLUGIN_ASSIGN_OR_RETURN(SerializedProgram program, reference::Deserialize(bytes));
  backend::CompileOptions options;
  options.num_replicas = program.partitioning.num_replicas;
  options.num_partitions = program.partitioning.num_partitions;
  return Compile({"mlir", program.code}, options);
}

}  // namespace PJRT_PLUGIN_NS::reference
