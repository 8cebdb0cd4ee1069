#ifndef REFERENCE_COMPILER_H_
#define REFERENCE_COMPILER_H_

// PlanCompiler: a StableHLO program in, a plan that runs on this driver's devices out. Nothing is
// kept between compilations, so they may run in parallel.

#include <memory>
#include <string>
#include <string_view>

#include "backend/compiler.h"
#include "generated/config.h"
#include "reference/executable.h"
#include "reference/runtime.h"

namespace PJRT_PLUGIN_NS::reference {

class PlanCompiler final : public backend::Compiler {
 public:
  // `runtime` outlives the compiler. Each compilation leaves its program, its optimized program and
  // its plan in the folder `dump`, if one is named; one that fails leaves its program and the
  // error.
  PlanCompiler(Runtime* runtime, std::string dump) : runtime_(runtime), dump_(std::move(dump)) {}

  Result<std::shared_ptr<backend::Executable>> Compile(
      const backend::Program& program, const backend::CompileOptions& options) override;
  Result<std::shared_ptr<backend::Executable>> Deserialize(std::string_view bytes) override;

 private:
  Result<std::shared_ptr<PlanExecutable>> MakeExecutable(const backend::Program& program,
                                                         const backend::CompileOptions& options);

  Runtime* runtime_;
  std::string dump_;
};

// ---- For tests: the way from a module in memory ----

Result<std::shared_ptr<PlanExecutable>> CompileModule(program::Module& module,
                                                      const Partitioning& partitioning,
                                                      std::shared_ptr<const std::string> serialized,
                                                      Runtime* runtime);

}  // namespace PJRT_PLUGIN_NS::reference

#endif  // REFERENCE_COMPILER_H_
