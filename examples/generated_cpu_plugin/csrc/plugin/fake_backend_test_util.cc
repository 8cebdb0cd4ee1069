#include "plugin/fake_backend_test_util.h"

#include <atomic>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace PJRT_PLUGIN_NS::plugin {
namespace {

using backend::Completion;
using backend::Region;
using backend::Result;
using backend::Shape;
using backend::Status;
using Block = std::shared_ptr<backend::Allocation>;

struct State {
  FakeConfig config;
  std::mutex mutex;
  std::deque<std::function<void()>> queue;
  std::vector<backend::ProcessInfo> processes;
  std::thread::id last_driver_thread;  // written before `drivers`
  std::atomic<int> drivers{0}, blocks{0}, executables{0}, launches{0}, reused{0}, mapped{0},
      cleared{0};
};
State& state() {
  static State* const state = new State;
  return *state;
}

// Runs `work` after `after`: now, when asked to, or on the thread that ends what it waits for.
Completion RunAfter(std::span<const Completion> after, std::function<Status()> work) {
  auto [done, promise] = backend::MakeCompletion();
  auto shared = std::make_shared<backend::Promise>(std::move(promise));
  const Completion all = backend::WhenAll(after);
  auto held = std::make_shared<std::function<Status()>>(std::move(work));
  auto start = [all, held, shared] {
    all.OnReady([held, shared](const Status& s) {
      Status outcome = s.ok() ? (*held)() : s;
      *held = nullptr;  // the blocks go before anyone hears of the end
      shared->Set(std::move(outcome));
    });
  };
  if (state().config.manual) {
    std::lock_guard lock(state().mutex);
    state().queue.push_back(std::move(start));
  } else {
    start();
  }
  return done;
}

class FakeBlock final : public backend::Allocation {
 public:
  FakeBlock(backend::Memory* memory, size_t bytes)
      : Allocation(memory, ::operator new(std::max<size_t>(bytes, 1)), bytes), owned_(true) {
    ++state().blocks;
  }
  FakeBlock(backend::Memory* memory, size_t bytes, std::shared_ptr<std::atomic<size_t>> in_use)
      : FakeBlock(memory, bytes) {
    in_use_ = std::move(in_use);
  }
  FakeBlock(backend::Memory* memory, void* address, size_t bytes)
      : Allocation(memory, address, bytes), owned_(false) {
    ++state().blocks;
  }
  ~FakeBlock() override {
    if (owned_) ::operator delete(address());
    if (in_use_ != nullptr) *in_use_ -= bytes();
    --state().blocks;
  }

 private:
  const bool owned_;
  std::shared_ptr<std::atomic<size_t>> in_use_;
};

class FakeMemory final : public backend::Memory {
 public:
  FakeMemory(backend::Device* device, int id, std::string_view kind, bool host_accessible)
      : info_{id, std::string(kind), host_accessible, "fake " + std::string(kind)},
        devices_{device},
        limit_(state().config.memory_bytes != 0 && kind == backend::kDeviceMemoryKind
                   ? state().config.memory_bytes
                   : size_t{1} << 40) {}
  const backend::MemoryInfo& info() const override { return info_; }
  std::span<backend::Device* const> devices() const override { return devices_; }
  Result<Block> Allocate(size_t bytes) override {
    if (in_use_->fetch_add(bytes) + bytes > limit_) {
      *in_use_ -= bytes;
      return backend::ResourceExhausted("fake memory is full");
    }
    return Block(std::make_shared<FakeBlock>(this, bytes, in_use_));
  }
  Result<Block> Wrap(void* address, size_t bytes) override {
    if (!state().config.can_wrap) return backend::Unimplemented("no");
    return Block(std::make_shared<FakeBlock>(this, address, bytes));
  }
  Status ClearStats() override {
    if (!state().config.can_clear_stats) return Memory::ClearStats();
    ++state().cleared;
    return Status();
  }
  Result<backend::MemoryStats> Stats() const override {
    backend::MemoryStats stats;
    stats.bytes_in_use = 7;
    stats.bytes_limit = 1000;
    return stats;
  }

 private:
  const backend::MemoryInfo info_;
  const std::vector<backend::Device*> devices_;
  const size_t limit_;
  const std::shared_ptr<std::atomic<size_t>> in_use_ = std::make_shared<std::atomic<size_t>>(0);
};

class FakeStream final : public backend::Stream {
 public:
  Completion CopyFromHost(const void* host, Region to, std::span<const Completion> after) override {
    return RunAfter(after, [=] { return Move(At(to), host, to.bytes); });
  }
  Completion CopyToHost(Region from, void* host, std::span<const Completion> after) override {
    return RunAfter(after, [=] { return Move(host, At(from), from.bytes); });
  }
  Completion Copy(Region from, Region to, std::span<const Completion> after) override {
    return RunAfter(after, [=] { return Move(At(to), At(from), to.bytes); });
  }

 private:
  static std::byte* At(const Region& region) {
    return static_cast<std::byte*>(region.block->address()) + region.offset;
  }
  static Status Move(void* to, const void* from, size_t bytes) {
    std::memcpy(to, from, bytes);
    return Status();
  }
};

class FakeDevice final : public backend::Device {
 public:
  explicit FakeDevice(backend::DeviceInfo info)
      : info_(std::move(info)),
        memory_(this, 2 * info_.id, backend::kDeviceMemoryKind, state().config.host_accessible),
        host_(this, 2 * info_.id + 1, backend::kPinnedHostMemoryKind, true),
        memories_{&memory_, &host_} {}
  static backend::DeviceInfo Describe(int id) {
    return {.id = id,
            .local_hardware_id = id,
            .process_index = 0,
            .kind = "fake",
            .debug_string = "fake:" + std::to_string(id),
            .to_string = "Fake(" + std::to_string(id) + ")",
            .attributes = {{"coords", std::vector<int64_t>{id, 0}}, {"fast", true}}};
  }
  const backend::DeviceInfo& info() const override { return info_; }
  std::span<backend::Memory* const> memories() const override { return memories_; }
  backend::Stream& stream() override { return stream_; }

 private:
  const backend::DeviceInfo info_;
  FakeMemory memory_, host_;
  const std::vector<backend::Memory*> memories_;
  FakeStream stream_;
};

float* Floats(const Block& block) { return static_cast<float*>(block->address()); }

class FakeExecutable final : public backend::Executable,
                             public std::enable_shared_from_this<FakeExecutable> {
 public:
  FakeExecutable(std::string kind, int replicas, int partitions) : kind_(std::move(kind)) {
    ++state().executables;
    info_.name = kind_;
    info_.num_replicas = replicas;
    info_.num_partitions = partitions;
    info_.runs_apart = kind_ != "psum";
    const Shape shape = {backend::DType::kF32, DimsOf(kind_),
                         kind_ == "columns" ? std::vector<int64_t>{0, 1} : std::vector<int64_t>{}};
    info_.parameters.resize(kind_ == "add" ? 2 : kind_ == "ones" ? 0 : 1);
    for (auto& parameter : info_.parameters) parameter.shape = shape;
    info_.outputs.resize(1);
    info_.outputs[0].shape = shape;
    if (info_.parameters.size() == 1) info_.parameters[0].donated_to_output = 0;
    info_.fingerprint = "print of " + kind_;
    info_.costs = {{"flops", 4.0f}};
    if (kind_ == "psum") {
      backend::Sharding sharding{{partitions}, {}};
      for (int i = 0; i < partitions; ++i) sharding.devices.push_back(i);
      info_.parameters[0].sharding = info_.outputs[0].sharding = sharding;
    }
  }
  ~FakeExecutable() override { --state().executables; }

  const backend::ExecutableInfo& info() const override { return info_; }
  Result<std::string> Serialize() const override {
    return kind_ + " " + std::to_string(info_.num_replicas) + " " +
           std::to_string(info_.num_partitions);
  }

  Result<std::vector<backend::LaunchResult>> Execute(std::span<const backend::Launch> launches,
                                                     const backend::LaunchOptions&) override {
    if (kind_ == "refuse") return backend::ResourceExhausted("no room to run");
    if (kind_ == "throw") throw std::runtime_error("the backend threw");
    ++state().launches;
    state().reused = 0;
    struct Part {
      std::vector<backend::Argument> arguments;
      Block output;
      std::shared_ptr<backend::HostTransfers> host = nullptr;
    };
    auto parts = std::make_shared<std::vector<Part>>();
    std::vector<Completion> after;
    std::vector<backend::LaunchResult> results;
    for (const backend::Launch& launch : launches) {
      Part part{{launch.arguments.begin(), launch.arguments.end()}, nullptr};
      if (!part.arguments.empty() && part.arguments[0].donated) {
        part.output = part.arguments[0].block;
        ++state().reused;
      } else {
        auto block = launch.device->memories()[0]->Allocate(info_.outputs[0].shape.byte_size());
        if (!block.ok()) return block.status();
        part.output = *std::move(block);
      }
      part.host = launch.host;
      results.push_back({{kind_ == "hollow" ? nullptr : part.output}, Completion()});
      parts->push_back(std::move(part));
      after.insert(after.end(), launch.after.begin(), launch.after.end());
    }
    if (kind_ == "echo") {
      const Completion inputs = RunAfter(after, [] { return Status(); });
      for (size_t i = 0; i < parts->size(); ++i) {
        const Part& part = (*parts)[i];
        results[i].done = Echo(inputs, part.arguments[0].block, part.output, part.host);
      }
      return results;
    }
    const Completion done = RunAfter(after, [this, self = shared_from_this(), parts] {
      if (kind_ == "late") return backend::Internal("it broke while running");
      const size_t count = size_t(info_.outputs[0].shape.num_elements());
      std::vector<float> sum(count, kind_ == "inc" || kind_ == "ones" ? 1.0f : 0.0f);
      for (const Part& part : *parts) {
        for (size_t i = 0; i < count && kind_ == "psum"; ++i) {
          sum[i] += Floats(part.arguments[0].block)[i];
        }
      }
      for (const Part& part : *parts) {
        for (size_t i = 0; i < count; ++i) {
          float value = sum[i];
          for (const backend::Argument& argument : part.arguments) {
            value += Floats(argument.block)[i];
          }
          Floats(part.output)[i] = value;
        }
      }
      return Status();
    });
    for (auto& result : results) result.done = done;
    return results;
  }

 private:
  static Completion Echo(const Completion& inputs, const Block& from, const Block& to,
                         const std::shared_ptr<backend::HostTransfers>& host) {
    auto [done, promise] = backend::MakeCompletion();
    inputs.OnReady(
        [from, to, host,
         promise = std::make_shared<backend::Promise>(std::move(promise))](const Status& ready) {
          if (!ready.ok() || host == nullptr) {
            promise->Set(ready.ok() ? backend::FailedPrecondition("echo wants callbacks") : ready);
            return;
          }
          if (Status sent = host->Send(1, from->address(), from->bytes()); !sent.ok()) {
            promise->Set(sent);
            return;
          }
          auto write = [to](const void* data, size_t offset, size_t bytes) {
            return RunAfter({}, [=] {
              std::memcpy(static_cast<std::byte*>(to->address()) + offset, data, bytes);
              return Status();
            });
          };
          host->Receive(2, to->bytes(), write).OnReady([promise, to, host](const Status& received) {
            promise->Set(received);
          });
        });
    return done;
  }

  static std::vector<int64_t> DimsOf(std::string_view kind) {
    if (kind == "add") return {};
    if (kind == "psum") return {2};
    if (kind == "empty") return {0};
    if (kind == "columns") return {2, 3};
    return {4};
  }

  const std::string kind_;
  backend::ExecutableInfo info_;
};

class FakeCompiler final : public backend::Compiler {
 public:
  Result<std::shared_ptr<backend::Executable>> Compile(
      const backend::Program& program, const backend::CompileOptions& options) override {
    if (program.format != "mlir") return backend::Unimplemented("fake programs are mlir");
    if (program.code == "broken") return backend::InvalidArgument("no such program");
    return std::shared_ptr<backend::Executable>(std::make_shared<FakeExecutable>(
        std::string(program.code), options.num_replicas, options.num_partitions));
  }
  Result<std::shared_ptr<backend::Executable>> Deserialize(std::string_view bytes) override {
    std::string kind;
    int replicas = 0, partitions = 0;
    if (!(std::istringstream{std::string(bytes)} >> kind >> replicas >> partitions)) {
      return backend::FailedPrecondition("serialized by another compiler");
    }
    return std::shared_ptr<backend::Executable>(
        std::make_shared<FakeExecutable>(kind, replicas, partitions));
  }
};

class FakeDriver final : public backend::Driver {
 public:
  explicit FakeDriver(const std::vector<backend::DeviceInfo>& infos) {
    ++state().drivers;
    for (const backend::DeviceInfo& info : infos) {
      owned_.push_back(std::make_unique<FakeDevice>(info));
      devices_.push_back(owned_.back().get());
      for (backend::Memory* memory : owned_.back()->memories()) memories_.push_back(memory);
    }
  }
  ~FakeDriver() override {
    state().last_driver_thread = std::this_thread::get_id();
    --state().drivers;
  }
  std::string_view platform_version() const override { return "fake 1"; }
  std::span<backend::Device* const> devices() const override { return devices_; }
  std::span<backend::Memory* const> memories() const override { return memories_; }
  backend::Compiler& compiler() override { return compiler_; }
  Status MapHostMemory(void* address, size_t bytes) override {
    if (!state().config.can_map) return Driver::MapHostMemory(address, bytes);
    ++state().mapped;
    return Status();
  }
  void UpdateProcesses(std::span<const backend::ProcessInfo> processes) override {
    state().processes.assign(processes.begin(), processes.end());
  }
  Status UnmapHostMemory(void*) override {
    --state().mapped;
    return Status();
  }

 private:
  FakeCompiler compiler_;
  std::vector<std::unique_ptr<FakeDevice>> owned_;
  std::vector<backend::Device*> devices_;
  std::vector<backend::Memory*> memories_;
};

}  // namespace

void Fake::Reset(FakeConfig config) {
  RunQueued();
  state().config = config;
  state().launches = 0;
  state().cleared = 0;
  state().processes.clear();
}

void Fake::RunQueued() {
  for (;;) {
    std::function<void()> work;
    {
      std::lock_guard lock(state().mutex);
      if (state().queue.empty()) return;
      work = std::move(state().queue.front());
      state().queue.pop_front();
    }
    work();
  }
}

size_t Fake::Queued() {
  std::lock_guard lock(state().mutex);
  return state().queue.size();
}
int Fake::LiveDrivers() { return state().drivers; }
int Fake::LiveBlocks() { return state().blocks; }
int Fake::LiveExecutables() { return state().executables; }
std::thread::id Fake::LastDriverThread() { return state().last_driver_thread; }
int Fake::Launches() { return state().launches; }
int Fake::BlocksReused() { return state().reused; }
int Fake::Mapped() { return state().mapped; }
std::vector<backend::ProcessInfo> Fake::Processes() { return state().processes; }
int Fake::StatsCleared() { return state().cleared; }

}  // namespace PJRT_PLUGIN_NS::plugin

namespace PJRT_PLUGIN_NS::backend {

Status InitializePlugin() { return Status(); }

StablehloRange StablehloVersions() { return {{1, 0, 0}, {1, 13, 0}}; }

std::span<const OptionSpec> DriverOptionSpecs() {
  static constexpr OptionSpec kSpecs[] = {
      {.name = "speed", .help = "how fast", .default_value = 1.0}};
  return kSpecs;
}

Result<std::unique_ptr<Driver>> CreateDriver(const DriverOptions& options) {
  int count = plugin::state().config.num_devices;
  std::vector<DeviceInfo> infos;
  if (options.topology.has_value()) {
    if (!options.topology->name.empty()) {
      std::istringstream name(options.topology->name);
      if (!(name >> count)) return InvalidArgument("fake topologies are numbers of devices");
    }
    infos = options.topology->devices;
  }
  if (infos.empty()) {
    for (int id = 0; id < count; ++id) infos.push_back(plugin::FakeDevice::Describe(id));
  }
  if (infos.empty()) return Status(Code::kUnavailable, "no fake device");
  std::unique_ptr<Driver> driver = std::make_unique<plugin::FakeDriver>(infos);
  const auto& wrap = plugin::state().config.wrap;
  return wrap == nullptr ? std::move(driver) : wrap(std::move(driver));
}

}  // namespace PJRT_PLUGIN_NS::backend
