#ifndef REFERENCE_EXECUTABLE_H_
#define REFERENCE_EXECUTABLE_H_

// PlanExecutable: runs a plan on the devices of a driver.
//
// A program on one device whose inputs are ready runs at once, on the thread that launches it: it
// then costs no switch of threads, and the cores are shared among the elements of its loops
// instead. A program that waits for inputs or for the host, or runs on several devices, runs
// on the devices' workers.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/executable.h"
#include "generated/config.h"
#include "reference/plan.h"
#include "reference/runtime.h"
#include "reference/split.h"

namespace PJRT_PLUGIN_NS::reference {

class PlanExecutable final : public backend::Executable {
 public:
  // `runtime` outlives the executable. `serialized` is what Serialize returns.
  PlanExecutable(Plan plan, backend::ExecutableInfo info, Partitioning partitioning,
                 std::shared_ptr<const std::string> serialized, Runtime* runtime);
  ~PlanExecutable() override;

  const backend::ExecutableInfo& info() const override;
  Result<std::vector<backend::LaunchResult>> Execute(
      std::span<const backend::Launch> launches, const backend::LaunchOptions& options) override;
  Result<std::string> Serialize() const override { return *serialized_; }
  const Plan& plan() const;

 private:
  struct Shared;
  class Execution;
  class Job;

  // Shared with executions under way.
  std::shared_ptr<const Shared> shared_;
  std::shared_ptr<const std::string> serialized_;
  Runtime* runtime_;
};

}  // namespace PJRT_PLUGIN_NS::reference

#endif  // REFERENCE_EXECUTABLE_H_
