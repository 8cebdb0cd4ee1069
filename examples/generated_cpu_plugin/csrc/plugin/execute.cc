// PJRT_LoadedExecutable_Execute: from buffers to a launch, and from its results to buffers. The
// hottest function of the plugin: what can be decided when a program is loaded is decided there
// (Seat).

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "plugin/buffer.h"
#include "plugin/executable.h"
#include "plugin/execute_context.h"
#include "plugin/host_callbacks.h"
#include "plugin/host_copy.h"
#include "plugin/layer.h"
#include "plugin/profiler.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

constexpr char kFunction[] = "PJRT_LoadedExecutable_Execute";

// A donation must not begin before its readers end, but their failures are not its own.
Completion WhenOver(const Completion& use) {
  auto [over, promise] = backend::MakeCompletion();
  use.OnReady([promise = std::make_shared<backend::Promise>(std::move(promise))](const Status&) {
    promise->Set(Status());
  });
  return over;
}

// All that one call takes from the buffers it gets. Dropped without Start(), it gives everything
// back.
class Inputs {
 public:
  Inputs(const CompiledProgram& program, std::span<const Seat> seats,
         std::span<const int64_t> not_donatable)
      : program_(program), not_donatable_(not_donatable) {
    const size_t count = program.info().parameters.size();
    arguments_.reserve(seats.size() * count);
    uses_.reserve(seats.size() * count);
    marks_.reserve(seats.size());
  }
  ~Inputs() {
    for (auto& [buffer, donation] : donated_) buffer->TakeBack(std::move(donation));
  }
  Inputs(const Inputs&) = delete;
  Inputs& operator=(const Inputs&) = delete;

  // The arguments on one device. Fails for those that the program cannot take, and then nothing may
  // start.
  Status Add(const Seat& seat, PJRT_Buffer* const* buffers) {
    const auto& parameters = program_.info().parameters;
    for (size_t i = 0; i < parameters.size(); ++i) {
      Buffer* buffer = FromC(buffers[i]);
      if (buffer == nullptr || buffer->device != seat.device ||
          buffer->memory != seat.parameter_memories[i] ||
          !AreSameArrays(buffer->shape, parameters[i].shape)) {
        return Mismatch(seat, i, buffer);
      }
      PJRT_PLUGIN_RETURN_IF_ERROR(AddOne(buffer, i));
    }
    marks_.push_back({uses_.size(), after_.size()});
    return Status();
  }

  // The failure of an input that has already failed: nothing is launched, and all outputs carry it
  // on.
  const Status& poison() const { return poison_; }
  // Whether an input comes only after something that the caller has still to do.
  bool wait_for_caller() const { return wait_for_caller_; }

  std::vector<backend::Launch> Launches(std::span<const Seat> seats) const {
    std::vector<backend::Launch> launches;
    launches.reserve(seats.size());
    const size_t count = program_.info().parameters.size();
    for (size_t d = 0; d < seats.size(); ++d) {
      const size_t begin = d == 0 ? 0 : marks_[d - 1].after;
      launches.push_back({seats[d].device->impl, seats[d].replica, seats[d].partition,
                          std::span(arguments_).subspan(d * count, count),
                          std::span(after_).subspan(begin, marks_[d].after - begin)});
    }
    return launches;
  }

  // The launch is under way; the part on device `d` ends with `done`.
  void Started(size_t d, const Completion& done) {
    for (size_t i = d == 0 ? 0 : marks_[d - 1].uses; i < marks_[d].uses; ++i) uses_[i].End(done);
    donated_.clear();
  }

 private:
  // Ends of a device's parts of the lists.
  struct Mark {
    size_t uses;
    size_t after;
  };

  Status AddOne(Buffer* buffer, size_t i) {
    if (!buffer->ready.IsReady()) {
      after_.push_back(buffer->ready);
      wait_for_caller_ = wait_for_caller_ || buffer->waits_for_caller;
    } else if (!buffer->ready.status().ok()) {
      return AddFailed(buffer, i);
    }
    Buffer::Donation donation;
    if (MayDonate(i) && buffer->Donate(&donation)) {
      for (const Completion& use : donation.uses) {
        if (!use.IsReady()) after_.push_back(WhenOver(use));
      }
      arguments_.push_back({donation.block, true});
      donated_.emplace_back(buffer, std::move(donation));
      return Status();
    }
    Result<Buffer::Use> use = buffer->Read(kFunction);
    if (!use.ok()) {
      // An alias may have failed since the look at it above.
      const bool failed = buffer->ready.IsReady() && !buffer->ready.status().ok();
      return failed ? AddFailed(buffer, i) : Refuse(i, use.status());
    }
    arguments_.push_back({use->TakeBlock(), false});
    uses_.push_back(*std::move(use));
    return Status();
  }

  // Of a buffer whose `ready` has failed.
  Status AddFailed(Buffer* buffer, size_t i) {
    if (buffer->IsDeleted()) return Refuse(i, buffer->DeletedError(kFunction));
    if (poison_.ok()) poison_ = buffer->ready.status();
    arguments_.push_back({});
    return Status();
  }

  bool MayDonate(size_t i) const {
    return program_.info().parameters[i].donated_to_output.has_value() &&
           std::find(not_donatable_.begin(), not_donatable_.end(), int64_t(i)) ==
               not_donatable_.end();
  }

  Status Refuse(size_t i, const Status& status) const {
    return status.Annotated("argument " + std::to_string(i) + " of " + program_.info().name);
  }

  Status Mismatch(const Seat& seat, size_t i, const Buffer* buffer) const {
    const std::string where =
        std::string(kFunction) + ": argument " + std::to_string(i) + " of " + program_.info().name;
    if (buffer == nullptr) return InvalidArgument(where + " is null");
    const backend::Shape& wanted = program_.info().parameters[i].shape;
    if (buffer->shape.dtype != wanted.dtype || buffer->shape.dims != wanted.dims) {
      return InvalidArgument(where + " is " + ShowShape(buffer->shape) +
                             ", but the program takes " + ShowShape(wanted));
    }
    if (!AreSameArrays(buffer->shape, wanted)) {
      return InvalidArgument(where + " has the layout of " + ShowLayout(buffer->shape) +
                             ", but the program takes " + ShowLayout(wanted) +
                             "; compile it for the array's layout, or put the array in this one");
    }
    if (buffer->client != program_.client) {
      return InvalidArgument(where + " belongs to another client; copy it through the host");
    }
    return InvalidArgument(
        where + " is on device " + std::to_string(buffer->device->impl->info().id) + " in " +
        buffer->memory->impl->info().debug_string + ", but the program takes it on device " +
        std::to_string(seat.device->impl->info().id) + " in " +
        seat.parameter_memories[i]->impl->info().debug_string);
  }

  const CompiledProgram& program_;
  const std::span<const int64_t> not_donatable_;
  std::vector<backend::Argument> arguments_;  // device by device
  std::vector<Completion> after_;
  std::vector<Buffer::Use> uses_;
  std::vector<Mark> marks_;
  std::vector<std::pair<Buffer*, Buffer::Donation>> donated_;
  Status poison_;
  bool wait_for_caller_ = false;
};

// A list for each device, of `count` buffers.
template <typename Lists>
Status CheckLists(Lists lists, size_t devices, size_t count, const char* what,
                  const std::string& name, const char* why) {
  if (count == 0) return Status();
  const bool all =
      lists != nullptr && std::all_of(lists, lists + devices, [](auto list) { return list; });
  if (all) return Status();
  return InvalidArgument(std::string(kFunction) + ": " + what +
                         " is null, or has a null list, but " + name + why);
}

Status CheckArgs(const PJRT_LoadedExecutable_Execute_Args& args, const LoadedExecutable& loaded) {
  const CompiledProgram& program = *loaded.program;
  PJRT_PLUGIN_RETURN_IF_ERROR(program.client->CheckProcess(kFunction));
  const std::string& name = program.info().name;
  if (loaded.deleted.load(std::memory_order_relaxed)) {
    return FailedPrecondition(std::string(kFunction) + ": the executable of " + name +
                              " has been deleted");
  }
  if (args.execute_device == nullptr && loaded.seats.empty()) {
    return InvalidArgument(std::string(kFunction) + ": " + name +
                           " was compiled to be portable; say where it runs with execute_device");
  }
  const int wanted = program.options.num_replicas * program.options.num_partitions;
  if (args.execute_device != nullptr && wanted != 1 && !program.info().runs_apart) {
    return InvalidArgument(std::string(kFunction) + ": execute_device is given, but " + name +
                           " was compiled for " + std::to_string(wanted) +
                           " devices, which wait for each other; leave it null");
  }
  const size_t devices = args.execute_device != nullptr ? 1 : loaded.seats.size();
  if (args.num_devices != devices) {
    return InvalidArgument(
        std::string(kFunction) + ": " + name + " runs on " + std::to_string(devices) +
        " devices of this process, but num_devices is " + std::to_string(args.num_devices));
  }
  if (args.num_args != program.info().parameters.size()) {
    return InvalidArgument(std::string(kFunction) + ": " + name + " takes " +
                           std::to_string(program.info().parameters.size()) +
                           " arguments, but num_args is " + std::to_string(args.num_args));
  }
  PJRT_PLUGIN_RETURN_IF_ERROR(CheckLists(args.argument_lists, devices, args.num_args,
                                         "argument_lists", name, " takes arguments"));
  PJRT_PLUGIN_RETURN_IF_ERROR(CheckLists(args.output_lists, devices, program.info().outputs.size(),
                                         "output_lists", name, " has outputs"));
  if (args.options == nullptr) return Status();
  PJRT_PLUGIN_RETURN_IF_ERROR(CheckLists(args.options->send_callbacks, devices,
                                         args.options->num_send_ops, "send_callbacks", name,
                                         " is run with num_send_ops"));
  PJRT_PLUGIN_RETURN_IF_ERROR(CheckLists(args.options->recv_callbacks, devices,
                                         args.options->num_recv_ops, "recv_callbacks", name,
                                         " is run with num_recv_ops"));
  return CheckPointer(args.options->non_donatable_input_indices,
                      args.options->num_non_donatable_input_indices * sizeof(int64_t),
                      "non_donatable_input_indices", kFunction);
}

void ReturnOutputs(const PJRT_LoadedExecutable_Execute_Args& args, const CompiledProgram& program,
                   const Seat& seat, size_t d, std::vector<Block> blocks, const Completion& done,
                   bool waits_for_caller) {
  const auto& outputs = program.info().outputs;
  for (size_t o = 0; o < outputs.size(); ++o) {
    Buffer* const output =
        new Buffer(program.client, seat.device, seat.output_memories[o], outputs[o].shape,
                   blocks.empty() ? nullptr : std::move(blocks[o]), done);
    output->waits_for_caller = waits_for_caller;
    args.output_lists[d][o] = ToC(output);
  }
  if (args.device_complete_events != nullptr) args.device_complete_events[d] = NewEvent(done);
}

void RecordLaunches(const CompiledProgram& program, std::span<const backend::Launch> launches,
                    int64_t launch_id, int64_t start_ns,
                    std::span<const backend::LaunchResult> results) {
  const int64_t run_id = NextRunId();
  for (size_t d = 0; d < std::min(launches.size(), results.size()); ++d) {
    RecordLaunch({.device = launches[d].device->info().id,
                  .program = program.info().name,
                  .run_id = run_id,
                  .launch_id = launch_id,
                  .replica = launches[d].replica,
                  .partition = launches[d].partition},
                 start_ns, results[d].done, launches[d].after);
  }
}

Status Execute(const PJRT_LoadedExecutable_Execute_Args& args, const LoadedExecutable& loaded,
               std::span<const Seat> seats) {
  const CompiledProgram& program = *loaded.program;
  std::span<const int64_t> not_donatable;
  backend::LaunchOptions options;
  if (args.options != nullptr) {
    options.launch_id = args.options->launch_id;
#if PJRT_SCAFFOLD_HAS_PJRT_ExecuteOptions_context
    const ExecuteContext* context = FromC(args.options->context);
    if (context != nullptr && !context->user_data->empty()) options.user_data = context->user_data;
#endif
    not_donatable = {args.options->non_donatable_input_indices,
                     args.options->num_non_donatable_input_indices};
  }
  Inputs inputs(program, seats, not_donatable);
  for (size_t d = 0; d < seats.size(); ++d) {
    PJRT_Buffer* const* const buffers = args.num_args == 0 ? nullptr : args.argument_lists[d];
    PJRT_PLUGIN_RETURN_IF_ERROR(inputs.Add(seats[d], buffers));
  }
  if (!inputs.poison().ok()) {
    const Completion failed(inputs.poison());
    for (size_t d = 0; d < seats.size(); ++d) {
      ReturnOutputs(args, program, seats[d], d, {}, failed, /*waits_for_caller=*/false);
    }
    return Status();
  }
  std::vector<backend::Launch> launches = inputs.Launches(seats);
  const bool calls_back = HasHostCallbacks(args.options);
  for (size_t d = 0; d < seats.size() && calls_back; ++d) {
    launches[d].host = std::make_shared<HostCallbacks>(*args.options, d);
  }
  const int64_t start_ns = Recording::Start();
  auto launched =
      program.client->work.Retry([&] { return program.impl->Execute(launches, options); });
  if (!launched.ok()) return launched.status().Annotated(program.info().name);
  std::vector<backend::LaunchResult>& results = *launched;
  const bool complete = results.size() == seats.size() &&
                        std::ranges::all_of(results, [&](const backend::LaunchResult& result) {
                          return result.outputs.size() == program.info().outputs.size() &&
                                 std::ranges::find(result.outputs, nullptr) == result.outputs.end();
                        });
  const bool waits_for_caller = calls_back || inputs.wait_for_caller();
  const size_t started = std::min(seats.size(), results.size());
  for (size_t d = 0; d < started; ++d) inputs.Started(d, results[d].done);
  if (start_ns != 0) RecordLaunches(program, launches, options.launch_id, start_ns, results);
  for (size_t d = 0; d < started; ++d) {
    // From here on what the outputs wait for. Callers keep their callbacks until the event is
    // ready: it must not be before the work ends.
    results[d].done = program.client->work.AddLaunch(results[d].done, loaded.program,
                                                     {.device = seats[d].device,
                                                      .id = options.launch_id,
                                                      .waits_for_caller = waits_for_caller,
                                                      .may_be_poisoned = !calls_back});
  }
  if (!complete) {
    return Internal(std::string(kFunction) + ": the backend's launch of " + program.info().name +
                    " gave results for " + std::to_string(results.size()) + " devices of " +
                    std::to_string(seats.size()) + ", or not " +
                    std::to_string(program.info().outputs.size()) + " outputs each");
  }
  for (size_t d = 0; d < seats.size(); ++d) {
    ReturnOutputs(args, program, seats[d], d, std::move(results[d].outputs), results[d].done,
                  waits_for_caller);
  }
  return Status();
}

}  // namespace

PJRT_Error* Layer::LoadedExecutable_Execute(PJRT_LoadedExecutable_Execute_Args* args) {
  const LoadedExecutable& loaded = *FromC(args->executable);
  PJRT_PLUGIN_RETURN_IF_C_ERROR(CheckArgs(*args, loaded));
  if (args->execute_device == nullptr) return MakeError(Execute(*args, loaded, loaded.seats));
  PJRT_PLUGIN_ASSIGN_OR_RETURN_C(const Seat seat,
                                 loaded.SeatOn(FromC(args->execute_device), kFunction));
  return MakeError(Execute(*args, loaded, {&seat, 1}));
}

}  // namespace PJRT_PLUGIN_NS::plugin
