#include "testing/accelerator/executable.h"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "testing/accelerator/devices.h"
#include "testing/accelerator/memory.h"

namespace PJRT_PLUGIN_NS::accelerator {

using backend::Completion;
using backend::Launch;
using backend::LaunchResult;
using backend::Result;
using backend::Status;

// One execution. The devices meet; the last to come starts the program of the backend underneath,
// on all of them, and each waits for its own part.
class Executable::Job {
 public:
  Job(std::shared_ptr<backend::Executable> program, backend::LaunchOptions options,
      std::shared_ptr<Control> control, std::shared_ptr<std::atomic<int>> running)
      : program_(std::move(program)),
        options_(std::move(options)),
        control_(std::move(control)),
        running_(std::move(running)) {}

  // Takes the launch's part of the execution. RESOURCE_EXHAUSTED when its outputs find no room.
  Result<LaunchResult> Add(const Launch& launch) {
    const auto& device = static_cast<const Device&>(*launch.device);
    const Verdict verdict = control_->Ask(Work::kLaunch, device.info().id);
    PJRT_PLUGIN_RETURN_IF_ERROR(verdict.at_once());
    const backend::ExecutableInfo& info = program_->info();
    std::vector<backend::Argument> arguments(launch.arguments.begin(), launch.arguments.end());
    std::vector<BackendBlock> outputs(info.outputs.size());
    for (size_t i = 0; i < arguments.size() && i < info.parameters.size(); ++i) {
      const std::optional<int> output = info.parameters[i].donated_to_output;
      if (arguments[i].donated && output.has_value()) {
        outputs[size_t(*output)] = arguments[i].block;
      }
    }
    for (size_t k = 0; k < outputs.size(); ++k) {
      if (outputs[k] != nullptr) continue;
      Memory* const memory = device.FindMemory(info.outputs[k].memory_kind);
      if (memory == nullptr) {
        return backend::InvalidArgument("the device has no memory of kind " +
                                        info.outputs[k].memory_kind);
      }
      PJRT_PLUGIN_ASSIGN_OR_RETURN(outputs[k], memory->Reserve(info.outputs[k].shape.byte_size()));
    }
    auto [done, promise] = backend::MakeCompletion();
    parts_.push_back({verdict, &device, launch.replica, launch.partition, std::move(arguments),
                      outputs, launch.host, std::move(promise)});
    return LaunchResult{std::move(outputs), std::move(done)};
  }

  std::vector<size_t> Devices() const {
    std::vector<size_t> places;
    for (const Part& part : parts_) places.push_back(part.device->place());
    return places;
  }

  void Started() { running_->fetch_add(int(parts_.size())); }

  // On the thread of that part's device.
  void Run(size_t i) { End(i, RunPart(i)); }

  void FailAll(const Status& status) {
    for (size_t i = 0; i < parts_.size(); ++i) End(i, status);
  }

 private:
  struct Part {
    Verdict verdict;
    const Device* device;
    int replica, partition;
    std::vector<backend::Argument> arguments;
    std::vector<BackendBlock> outputs;
    std::shared_ptr<backend::HostTransfers> host;
    backend::Promise promise;
  };

  // Whoever hears of the end may count on the blocks being free, and may destroy the executable.
  void End(size_t i, Status status) {
    Part& part = parts_[i];
    part.arguments.clear();
    part.outputs.clear();
    part.host = nullptr;
    running_->fetch_sub(1);
    part.promise.Set(std::move(status));
  }

  Status RunPart(size_t i) {
    Part& part = parts_[i];
    const Status begun = control_->Start(part.verdict);
    PJRT_PLUGIN_RETURN_IF_ERROR(Meet(begun));
    LaunchResult& result = results_[i];
    PJRT_PLUGIN_RETURN_IF_ERROR(result.done.Await());
    for (size_t k = 0; k < part.outputs.size(); ++k) {
      PJRT_PLUGIN_RETURN_IF_ERROR(Hold(part.outputs[k], std::move(result.outputs[k])));
    }
    return control_->End(part.verdict);
  }

  // Waits for all devices, and for the last of them to start the program: a failure on one is that
  // of all.
  Status Meet(const Status& begun) {
    std::unique_lock lock(mutex_);
    if (outcome_.ok()) outcome_ = begun;
    if (++arrived_ == parts_.size()) {
      if (outcome_.ok()) outcome_ = StartProgram();
      started_ = true;
      met_.notify_all();
    }
    met_.wait(lock, [&] { return started_; });
    return outcome_;
  }

  Status StartProgram() {
    std::this_thread::sleep_for(control_->settings().launch_time);
    // Kept until the program has started: the launches show them.
    std::vector<std::vector<backend::Argument>> arguments(parts_.size());
    std::vector<Launch> launches;
    for (size_t i = 0; i < parts_.size(); ++i) {
      const Part& part = parts_[i];
      for (const backend::Argument& argument : part.arguments) {
        PJRT_PLUGIN_ASSIGN_OR_RETURN(BackendBlock block, Inner(argument.block));
        arguments[i].push_back({std::move(block), argument.donated});
      }
      Launch& launch = launches.emplace_back();
      launch.device = part.device->inner();
      launch.replica = part.replica;
      launch.partition = part.partition;
      launch.arguments = arguments[i];
      launch.host = part.host;
    }
    try {
      PJRT_PLUGIN_ASSIGN_OR_RETURN(results_, program_->Execute(launches, options_));
    } catch (const std::exception& error) {
      return backend::Internal(std::string("the program threw an exception: ") + error.what());
    }
    for (size_t i = 0; i < parts_.size(); ++i) {
      if (results_.size() == parts_.size() &&
          results_[i].outputs.size() == parts_[i].outputs.size()) {
        continue;
      }
      return backend::Internal("the program gave other results than its info says");
    }
    return Status();
  }

  const std::shared_ptr<backend::Executable> program_;
  const backend::LaunchOptions options_;
  const std::shared_ptr<Control> control_;
  const std::shared_ptr<std::atomic<int>> running_;
  std::vector<Part> parts_;

  std::mutex mutex_;
  std::condition_variable met_;
  size_t arrived_ = 0;
  bool started_ = false;
  Status outcome_;
  std::vector<LaunchResult> results_;  // of the backend underneath
};

Executable::Executable(std::shared_ptr<backend::Executable> inner, Queues* queues,
                       std::shared_ptr<Control> control)
    : inner_(std::move(inner)), queues_(queues), control_(std::move(control)) {}

Executable::~Executable() {
  if (*running_ == 0) return;
  control_->Complain("the executable of " + info().name + " is destroyed while it runs on " +
                     std::to_string(*running_) + " devices");
}

Result<std::vector<LaunchResult>> Executable::Execute(std::span<const Launch> launches,
                                                      const backend::LaunchOptions& options) {
  auto job = std::make_shared<Job>(inner_, options, control_, running_);
  std::vector<LaunchResult> results;
  std::vector<Completion> after;
  for (const Launch& launch : launches) {
    PJRT_PLUGIN_ASSIGN_OR_RETURN(LaunchResult result, job->Add(launch));
    results.push_back(std::move(result));
    after.insert(after.end(), launch.after.begin(), launch.after.end());
  }
  job->Started();
  queues_->Submit({.devices = job->Devices(),
                   .run = [job](size_t i) { job->Run(i); },
                   .fail = [job](const Status& status) { job->FailAll(status); }},
                  after);
  return results;
}

}  // namespace PJRT_PLUGIN_NS::accelerator
