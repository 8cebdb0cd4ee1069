#include "reference/executable.h"

#include <atomic>
#include <cstring>
#include <exception>
#include <new>
#include <utility>

#include "reference/collectives.h"

namespace PJRT_PLUGIN_NS::reference {
namespace {

using backend::Allocation;
using backend::Completion;
using backend::Launch;
using backend::LaunchResult;
using backend::Memory;

// Working memory of small programs on the stack of the running thread.
constexpr size_t kStackArena = size_t{8} << 10;

Memory* MemoryOf(const backend::Device& device, std::string_view kind) {
  for (Memory* memory : const_cast<backend::Device&>(device).memories())
    if (memory->info().kind == kind) return memory;
  return nullptr;
}

}  // namespace

struct PlanExecutable::Shared {
  Plan plan;
  backend::ExecutableInfo info;
  Partitioning partitioning;
};

// One device's part of one execution.
class PlanExecutable::Execution {
 public:
  static Result<Execution> Prepare(std::shared_ptr<const Shared> shared, Runtime* runtime,
                                   const Launch& launch, const backend::LaunchOptions& options) {
    Execution execution(std::move(shared), runtime, launch, options);
    PJRT_PLUGIN_RETURN_IF_ERROR(execution.Allocate());
    return execution;
  }

  // Runs the plan on this thread. Does not throw.
  Status Run(Collectives* collectives) const {
    try {
      alignas(64) std::byte stack[kStackArena];
      std::byte* arena = arena_ == nullptr ? stack : static_cast<std::byte*>(arena_->address());
      // The table lies behind the temps, whose size is a multiple of the alignment.
      auto** addresses = reinterpret_cast<std::byte**>(arena + shared_->plan.temp_bytes);
      return RunIn(arena, addresses, collectives);
    } catch (const std::bad_alloc&) {
      return backend::ResourceExhausted("the host has no more memory for " + shared_->info.name);
    } catch (const std::exception& error) {
      return backend::Internal("running " + shared_->info.name + ": " + error.what());
    }
  }

  const std::vector<std::shared_ptr<Allocation>>& outputs() const { return outputs_; }
  size_t worker() const { return worker_; }

 private:
  Execution(std::shared_ptr<const Shared> shared, Runtime* runtime, const Launch& launch,
            const backend::LaunchOptions& options)
      : shared_(std::move(shared)),
        runtime_(runtime),
        device_(launch.device),
        replica_(launch.replica),
        partition_(launch.partition),
        host_(launch.host),
        options_(options),
        arguments_(launch.arguments.begin(), launch.arguments.end()),
        worker_(size_t(launch.device->info().local_hardware_id)) {}

  Status Allocate() {
    const Plan& plan = shared_->plan;
    if (arguments_.size() != plan.arguments.size())
      return backend::InvalidArgument(shared_->info.name + " takes " +
                                      std::to_string(plan.arguments.size()) + " arguments, but " +
                                      std::to_string(arguments_.size()) + " were passed");
    outputs_.resize(plan.outputs.size());
    for (size_t i = 0; i < plan.arguments.size(); ++i) {
      const PlanArgument& parameter = plan.arguments[i];
      const backend::Argument& argument = arguments_[i];
      if (argument.block == nullptr || argument.block->bytes() < parameter.bytes)
        return backend::InvalidArgument(
            shared_->info.name + ": argument " + std::to_string(i) + " has " +
            std::to_string(argument.block == nullptr ? 0 : argument.block->bytes()) +
            " bytes where the program wants " + std::to_string(parameter.bytes));
      if (argument.donated && parameter.donated_to_output)
        outputs_[size_t(*parameter.donated_to_output)] = argument.block;
    }
    made_in_ = outputs_;
    for (size_t k = 0; k < plan.outputs.size(); ++k) {
      bool shared = false;
      for (const PlanArgument& parameter : plan.arguments)
        shared = shared || (parameter.shares_output && parameter.donated_to_output == int(k));
      if (outputs_[k] != nullptr && shared) continue;
      Memory* memory = MemoryOf(*device_, shared_->info.outputs[k].memory_kind);
      if (memory == nullptr)
        return backend::InvalidArgument(
            "output " + std::to_string(k) + " of " + shared_->info.name + " belongs in " +
            shared_->info.outputs[k].memory_kind + " memory, which the device has not");
      PJRT_PLUGIN_ASSIGN_OR_RETURN(made_in_[k], memory->Allocate(plan.outputs[k].bytes));
      if (outputs_[k] == nullptr) outputs_[k] = made_in_[k];
    }
    const size_t arena = plan.temp_bytes + plan.buffers.size() * sizeof(std::byte*);
    if (arena > kStackArena) {
      PJRT_PLUGIN_ASSIGN_OR_RETURN(arena_, device_->memories()[0]->Allocate(arena));
    }
    return Status();
  }

  std::byte* AddressOf(const Buffer& root, std::byte* arena) const {
    switch (root.kind) {
      case BufferKind::kArgument:
        return static_cast<std::byte*>(arguments_[size_t(root.index)].block->address());
      case BufferKind::kOutput:
        return static_cast<std::byte*>(made_in_[size_t(root.index)]->address());
      case BufferKind::kConstant:
        return shared_->plan.constant_base() + root.offset;
      case BufferKind::kTemp:
        break;
    }
    return arena + root.offset;
  }

  Status RunIn(std::byte* arena, std::byte** addresses, Collectives* collectives) const {
    const Plan& plan = shared_->plan;
    for (size_t i = 0; i < plan.buffers.size(); ++i)
      addresses[i] = AddressOf(plan.buffers[size_t(plan.buffers[i].root)], arena);
    for (size_t i = 0; i < plan.arguments.size(); ++i) {
      const PlanArgument& parameter = plan.arguments[i];
      // Not donated after all: the output starts as a copy.
      if (parameter.shares_output && !arguments_[i].donated && parameter.bytes != 0)
        std::memcpy(addresses[parameter.buffer], arguments_[i].block->address(), parameter.bytes);
    }
    Frame frame;
    frame.addresses = addresses;
    frame.pool = &runtime_->pool;
    frame.collectives = collectives;
    frame.host = host_.get();
    frame.device = device_;
    frame.launch = &options_;
    frame.replica = replica_;
    frame.partition = partition_;
    if (runtime_->recorder->recording()) frame.recorder = runtime_->recorder;
    PJRT_PLUGIN_RETURN_IF_ERROR(plan.body.Run(frame));
    for (size_t k = 0; k < outputs_.size(); ++k)
      if (outputs_[k] != made_in_[k] && plan.outputs[k].bytes != 0)
        std::memcpy(outputs_[k]->address(), made_in_[k]->address(), plan.outputs[k].bytes);
    return Status();
  }

  std::shared_ptr<const Shared> shared_;
  Runtime* runtime_;
  backend::Device* device_;
  int replica_;
  int partition_;
  std::shared_ptr<backend::HostTransfers> host_;
  backend::LaunchOptions options_;
  std::vector<backend::Argument> arguments_;
  size_t worker_;
  std::vector<std::shared_ptr<Allocation>> outputs_;  // what the caller gets
  std::vector<std::shared_ptr<Allocation>>
      made_in_;  // where they are made; differs for some donated ones
  std::shared_ptr<Allocation> arena_;
};

// An execution on several devices, or one that waits.
class PlanExecutable::Job {
 public:
  void Add(Execution execution, backend::Promise promise) {
    executions_.push_back(std::move(execution));
    promises_.push_back(std::move(promise));
  }

  // Once the inputs are ready, or failed. Touches the runtime no more after it has let go of
  // launch_order.
  static void Start(const std::shared_ptr<Job>& job, Runtime* runtime, const Status& inputs) {
    const size_t count = inputs.ok() ? job->executions_.size() : 0;
    job->outcomes_.assign(job->promises_.size(), inputs);
    job->left_ = count;
    std::vector<std::pair<size_t, Status>> dropped;
    {
      std::lock_guard lock(runtime->launch_order);
      for (size_t i = 0; i < count; ++i) {
        Worker& worker = runtime->workers[job->executions_[i].worker()];
        Status queued = worker.Enqueue([job, i] { job->RunOne(i); });
        if (!queued.ok()) dropped.emplace_back(i, std::move(queued));
      }
      --runtime->launches_waiting;
      runtime->launched.notify_all();
    }
    // Outside the lock: this may run callbacks.
    for (auto& [i, status] : dropped) job->EndOne(i, std::move(status));
    if (!inputs.ok()) job->Finish();
  }

 private:
  void RunOne(size_t i) {
    const bool several = executions_.size() > 1;
    EndOne(i, executions_[i].Run(several ? &collectives_ : nullptr));
  }

  void EndOne(size_t i, Status outcome) {
    if (!outcome.ok()) collectives_.Break(outcome);
    outcomes_[i] = std::move(outcome);
    if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) Finish();
  }

  // The last device lets go of all blocks, which the others may have looked at, before anyone hears
  // that the work is done.
  void Finish() {
    executions_.clear();
    for (size_t i = 0; i < promises_.size(); ++i) promises_[i].Set(outcomes_[i]);
  }

  std::vector<Execution> executions_;
  std::vector<backend::Promise> promises_;
  std::vector<Status> outcomes_;
  std::atomic<size_t> left_{0};
  Collectives collectives_;
};

PlanExecutable::PlanExecutable(Plan plan, backend::ExecutableInfo info, Partitioning partitioning,
                               std::shared_ptr<const std::string> serialized, Runtime* runtime)
    : shared_(
          std::make_shared<const Shared>(Shared{std::move(plan), std::move(info), partitioning})),
      serialized_(std::move(serialized)),
      runtime_(runtime) {}

PlanExecutable::~PlanExecutable() = default;

const backend::ExecutableInfo& PlanExecutable::info() const { return shared_->info; }
const Plan& PlanExecutable::plan() const { return shared_->plan; }

Result<std::vector<LaunchResult>> PlanExecutable::Execute(std::span<const Launch> launches,
                                                          const backend::LaunchOptions& options) {
  const Partitioning& partitioning = shared_->partitioning;
  const size_t devices = size_t(partitioning.num_replicas) * size_t(partitioning.num_partitions);
  if (launches.size() != devices && !(shared_->info.runs_apart && launches.size() == 1))
    return backend::InvalidArgument(shared_->info.name + " runs on " + std::to_string(devices) +
                                    " devices, but was launched on " +
                                    std::to_string(launches.size()));
  std::vector<LaunchResult> results(launches.size());
  bool ready = true;
  for (const Launch& launch : launches)
    for (const Completion& one : launch.after) ready = ready && one.IsReady();

  // What waits for the host must not keep the thread that the host may need for its answer.
  if (launches.size() == 1 && ready && !shared_->plan.has_host_transfers) {
    PJRT_PLUGIN_ASSIGN_OR_RETURN(Execution execution,
                                 Execution::Prepare(shared_, runtime_, launches[0], options));
    results[0].outputs = execution.outputs();
    Completion inputs = backend::WhenAll(launches[0].after);
    results[0].done = inputs.status().ok() ? Completion(execution.Run(nullptr)) : inputs;
    return results;
  }

  auto job = std::make_shared<Job>();
  std::vector<Completion> after;
  for (size_t i = 0; i < launches.size(); ++i) {
    PJRT_PLUGIN_ASSIGN_OR_RETURN(Execution execution,
                                 Execution::Prepare(shared_, runtime_, launches[i], options));
    results[i].outputs = execution.outputs();
    auto [done, promise] = backend::MakeCompletion();
    results[i].done = std::move(done);
    job->Add(std::move(execution), std::move(promise));
    after.insert(after.end(), launches[i].after.begin(), launches[i].after.end());
  }
  {
    std::lock_guard lock(runtime_->launch_order);
    ++runtime_->launches_waiting;
  }
  // Workers never wait for inputs, only for each other and for the host.
  backend::WhenAll(after).OnReady(
      [job, runtime = runtime_](const Status& inputs) { job->Start(job, runtime, inputs); });
  return results;
}

}  // namespace PJRT_PLUGIN_NS::reference
