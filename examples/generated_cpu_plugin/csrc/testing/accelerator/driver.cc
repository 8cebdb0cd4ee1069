#include "testing/accelerator/driver.h"

#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "testing/accelerator/devices.h"
#include "testing/accelerator/executable.h"
#include "testing/accelerator/queues.h"

namespace PJRT_PLUGIN_NS::accelerator {
namespace {

using backend::Result;
using backend::Status;
using Program = std::shared_ptr<backend::Executable>;

class Compiler final : public backend::Compiler {
 public:
  Compiler(backend::Compiler* inner, Queues* queues, std::shared_ptr<Control> control)
      : inner_(inner), queues_(queues), control_(std::move(control)) {}

  Result<Program> Compile(const backend::Program& program,
                          const backend::CompileOptions& options) override {
    PJRT_PLUGIN_RETURN_IF_ERROR(control_->Ask(Work::kCompile, Fault::kAny).at_once());
    return Wrap(inner_->Compile(program, options));
  }
  Result<Program> Deserialize(std::string_view bytes) override {
    return Wrap(inner_->Deserialize(bytes));
  }

 private:
  Result<Program> Wrap(Result<Program> program) const {
    if (!program.ok()) return program;
    return Program(std::make_shared<Executable>(*std::move(program), queues_, control_));
  }

  backend::Compiler* const inner_;
  Queues* const queues_;
  const std::shared_ptr<Control> control_;
};

class Driver final : public backend::Driver {
 public:
  Driver(std::unique_ptr<backend::Driver> inner, std::shared_ptr<Control> control)
      : inner_(std::move(inner)),
        control_(std::move(control)),
        queues_(inner_->devices().size()),
        compiler_(&inner_->compiler(), &queues_, control_) {
    for (backend::Device* device : inner_->devices()) {
      owned_.push_back(std::make_unique<Device>(device, owned_.size(), &queues_, control_));
      devices_.push_back(owned_.back().get());
      const std::span<backend::Memory* const> memories = owned_.back()->memories();
      memories_.insert(memories_.end(), memories.begin(), memories.end());
    }
  }
  ~Driver() override {
    if (queues_.OnDevice()) {
      control_->Complain("the driver is destroyed on a thread of its own");
      return;  // waiting for that thread would be for ever
    }
    queues_.Finish();
  }

  std::string_view platform_version() const override { return inner_->platform_version(); }
  std::span<backend::Device* const> devices() const override { return devices_; }
  std::span<backend::Memory* const> memories() const override { return memories_; }
  backend::Compiler& compiler() override { return compiler_; }
  Status MapHostMemory(void* address, size_t bytes) override {
    return inner_->MapHostMemory(address, bytes);
  }
  Status UnmapHostMemory(void* address) override { return inner_->UnmapHostMemory(address); }
  void UpdateProcesses(std::span<const backend::ProcessInfo> processes) override {
    inner_->UpdateProcesses(processes);
  }

 private:
  const std::unique_ptr<backend::Driver> inner_;
  const std::shared_ptr<Control> control_;
  Queues queues_;
  Compiler compiler_;
  std::vector<std::unique_ptr<Device>> owned_;
  std::vector<backend::Device*> devices_;
  std::vector<backend::Memory*> memories_;
};

}  // namespace

std::unique_ptr<backend::Driver> Accelerate(std::unique_ptr<backend::Driver> inner,
                                            std::shared_ptr<Control> control) {
  return std::make_unique<Driver>(std::move(inner), std::move(control));
}

}  // namespace PJRT_PLUGIN_NS::accelerator
