#ifndef TESTING_ACCELERATOR_EXECUTABLE_H_
#define TESTING_ACCELERATOR_EXECUTABLE_H_

// Executable: a program of the backend underneath, launched on the accelerator's devices.

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/executable.h"
#include "generated/config.h"
#include "testing/accelerator/control.h"
#include "testing/accelerator/queues.h"

namespace PJRT_PLUGIN_NS::accelerator {

class Executable final : public backend::Executable {
 public:
  // `queues` outlives the executable.
  Executable(std::shared_ptr<backend::Executable> inner, Queues* queues,
             std::shared_ptr<Control> control);
  ~Executable() override;

  const backend::ExecutableInfo& info() const override { return inner_->info(); }
  backend::Result<std::string> Serialize() const override { return inner_->Serialize(); }
  backend::Result<std::vector<backend::LaunchResult>> Execute(
      std::span<const backend::Launch> launches, const backend::LaunchOptions& options) override;

 private:
  class Job;

  const std::shared_ptr<backend::Executable> inner_;
  Queues* const queues_;
  const std::shared_ptr<Control> control_;
  // Parts of launches that have not ended. Shared, so that who destroys the executable before them
  // gets a complaint, not a crash.
  const std::shared_ptr<std::atomic<int>> running_ = std::make_shared<std::atomic<int>>(0);
};

}  // namespace PJRT_PLUGIN_NS::accelerator

#endif  // TESTING_ACCELERATOR_EXECUTABLE_H_
