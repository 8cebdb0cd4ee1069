#include "reference/driver.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "reference/compiler.h"
#include "reference/kernels/kernel_table.h"
#include "reference/memory.h"
#include "reference/runtime.h"
#include "reference/serialized.h"
#include "reference/stream.h"

namespace PJRT_PLUGIN_NS::reference {
namespace {

using backend::OptionSpec;

constexpr int64_t kMaxDevices = 64;
constexpr int64_t kMaxTopology = 4096;  // devices to compile for only
constexpr int kMaxDeviceId = 1 << 24;   // memories are numbered by it

constexpr OptionSpec kOptions[] = {
    {.name = "num_devices",
     .help = "how many devices to simulate; 0 is a machine without them",
     .default_value = int64_t{kDefaultNumDevices},
     .min = 0,
     .max = kMaxDevices},
    {.name = "memory_bytes",
     .help = "memory of each device in bytes; 0 sets no limit",
     .default_value = int64_t{0},
     .min = 0},
    {.name = "visible_devices",
     .help = "the devices to show, by their numbers with commas between; empty shows all",
     .default_value = std::string_view()},
    {.name = "force_isa",
     .help =
         "the instruction set of the kernels: baseline, avx2, avx512 or neon; empty takes the best",
     .default_value = std::string_view()},
};

// "0,2" of four devices -> {0, 2}
backend::Result<std::vector<int>> VisibleDevices(std::string_view text, int count) {
  std::vector<int> ids;
  if (text.empty() || count == 0) {
    for (int i = 0; i < count; ++i) ids.push_back(i);
    return ids;
  }
  const backend::Status wrong = backend::InvalidArgument(
      "visible_devices is '" + std::string(text) + "'; give different numbers from 0 to " +
      std::to_string(count - 1) + " with commas between, for example 0,1");
  while (true) {
    std::string_view word = text.substr(0, text.find(','));
    size_t rest = std::min(word.size() + 1, text.size());
    while (!word.empty() && word.front() == ' ') word.remove_prefix(1);
    while (!word.empty() && word.back() == ' ') word.remove_suffix(1);
    int id = -1;
    auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (error != std::errc() || end != word.data() + word.size() || id < 0 || id >= count ||
        std::find(ids.begin(), ids.end(), id) != ids.end())
      return wrong;
    ids.push_back(id);
    const bool last = word.data() + word.size() >= text.data() + text.size() ||
                      text.find(',') == std::string_view::npos;
    text.remove_prefix(rest);
    if (last) break;
  }
  return ids;
}

std::string Capitalized(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = char(text[0] - 'a' + 'A');
  return text;
}

std::string DeviceKind() { return Capitalized(kPlatformName) + " simulator"; }

// The device of that place among those of this process.
backend::DeviceInfo DescribeDevice(int id, int hardware) {
  backend::DeviceInfo info;
  info.id = id;
  info.local_hardware_id = id;
  info.kind = DeviceKind();
  info.debug_string = std::string(kPlatformName) + ":" + std::to_string(id) + " (process 0)";
  info.to_string = Capitalized(kPlatformName) + "Device(id=" + std::to_string(id) + ")";
  info.attributes = {{"simulated", true}, {"hardware_id", int64_t{hardware}}};
  return info;
}

class SimulatedDevice final : public backend::Device {
 public:
  SimulatedDevice(backend::DeviceInfo info, size_t memory_limit, Runtime* runtime)
      : info_(std::move(info)) {
    const int id = info_.id;
    constexpr std::string_view kKinds[] = {backend::kDeviceMemoryKind,
                                           backend::kPinnedHostMemoryKind,
                                           backend::kUnpinnedHostMemoryKind};
    int memory_id = id * int(std::size(kKinds));
    for (std::string_view kind : kKinds) {
      backend::MemoryInfo memory;
      memory.id = memory_id++;
      memory.kind = std::string(kind);
      memory.host_accessible = true;
      memory.debug_string =
          std::string(kPlatformName) + ":" + std::to_string(id) + " " + memory.kind + " memory";
      const size_t limit = kind == backend::kDeviceMemoryKind ? memory_limit : 0;
      memories_.push_back(
          std::make_unique<HostMemory>(std::move(memory), this, limit, &runtime->blocks));
      pointers_.push_back(memories_.back().get());
    }
  }

  const backend::DeviceInfo& info() const override { return info_; }
  std::span<backend::Memory* const> memories() const override { return pointers_; }
  backend::Stream& stream() override { return stream_; }
  void Finish() { stream_.Finish(); }

 private:
  backend::DeviceInfo info_;
  std::vector<std::unique_ptr<HostMemory>> memories_;
  std::vector<backend::Memory*> pointers_;
  HostStream stream_;
};

class ReferenceDriver final : public backend::Driver {
 public:
  ReferenceDriver(std::vector<backend::DeviceInfo> infos, size_t memory_limit, std::string dump,
                  const backend::DriverOptions& options)
      : runtime_(infos.size()), compiler_(&runtime_, std::move(dump)) {
    runtime_.custom_calls = options.custom_calls;
    runtime_.recorder = options.recorder;
    version_ = std::string(kPlatformName) + " reference " + kPluginVersion + " (" +
               std::string(kernels::ActiveIsa()) + ")";
    for (backend::DeviceInfo& info : infos) {
      devices_.push_back(
          std::make_unique<SimulatedDevice>(std::move(info), memory_limit, &runtime_));
      pointers_.push_back(devices_.back().get());
      for (backend::Memory* memory : devices_.back()->memories()) memories_.push_back(memory);
    }
  }

  // Before the memories go, of which a stream may hold blocks of any.
  ~ReferenceDriver() override {
    runtime_.Finish();
    for (const auto& device : devices_) device->Finish();
  }

  std::string_view platform_version() const override { return version_; }
  std::span<backend::Device* const> devices() const override { return pointers_; }
  std::span<backend::Memory* const> memories() const override { return memories_; }
  backend::Compiler& compiler() override { return compiler_; }
  // The devices are the host: they reach all of its memory as it is.
  backend::Status MapHostMemory(void*, size_t) override { return backend::Status(); }
  backend::Status UnmapHostMemory(void*) override { return backend::Status(); }

 private:
  std::string version_;
  Runtime runtime_;  // before all that uses it
  PlanCompiler compiler_;
  std::vector<std::unique_ptr<SimulatedDevice>> devices_;
  std::vector<backend::Device*> pointers_;
  std::vector<backend::Memory*> memories_;
};

// "2x4", or "anything:2x4", as other platforms have them -> 8
backend::Result<int> CountDevices(std::string_view topology_name) {
  const size_t colon = topology_name.find(':');
  std::string_view text =
      colon == std::string_view::npos ? topology_name : topology_name.substr(colon + 1);
  int64_t count = 1;
  while (true) {
    int64_t dim = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), dim);
    const bool last = error == std::errc() && end == text.data() + text.size();
    if (error != std::errc() || dim < 1 || dim > kMaxTopology || (count *= dim) > kMaxTopology ||
        (!last && *end != 'x')) {
      return backend::InvalidArgument(
          "the topology is named '" + std::string(topology_name) +
          "'; give the devices along each dimension, for example 8 or 2x4, at most " +
          std::to_string(kMaxTopology) + " in all");
    }
    if (last) return int(count);
    text.remove_prefix(size_t(end - text.data()) + 1);
  }
}

backend::Result<std::vector<backend::DeviceInfo>> ListDevices(
    const backend::DriverOptions& options) {
  std::vector<backend::DeviceInfo> infos;
  if (options.topology.has_value() && !options.topology->devices.empty()) {
    const std::vector<backend::DeviceInfo>& devices = options.topology->devices;
    if (devices.size() > size_t(kMaxTopology)) {
      return backend::InvalidArgument("the topology has " + std::to_string(devices.size()) +
                                      " devices; this backend compiles for at most " +
                                      std::to_string(kMaxTopology));
    }
    for (const backend::DeviceInfo& info : devices) {
      if (info.id < 0 || info.id > kMaxDeviceId) {
        return backend::InvalidArgument("the topology has a device with id " +
                                        std::to_string(info.id) + "; ids are from 0 to " +
                                        std::to_string(kMaxDeviceId));
      }
      if (info.kind == DeviceKind()) continue;
      return backend::InvalidArgument("the topology has a device of kind '" + info.kind +
                                      "'; this backend compiles for '" + DeviceKind() + "'");
    }
    return devices;
  }
  if (options.topology.has_value() && !options.topology->name.empty()) {
    PJRT_PLUGIN_ASSIGN_OR_RETURN(const int count, CountDevices(options.topology->name));
    for (int id = 0; id < count; ++id) infos.push_back(DescribeDevice(id, id));
    return infos;
  }
  PJRT_PLUGIN_ASSIGN_OR_RETURN(const std::vector<int> visible,
                               VisibleDevices(options.options.String("visible_devices"),
                                              int(options.options.Int("num_devices"))));
  for (int hardware : visible) infos.push_back(DescribeDevice(int(infos.size()), hardware));
  return infos;
}

}  // namespace

std::span<const OptionSpec> DriverOptionSpecs() { return kOptions; }

backend::Result<std::unique_ptr<backend::Driver>> CreateDriver(
    const backend::DriverOptions& options) {
  if (options.num_processes > 1)
    return backend::Unimplemented(
        "the reference backend simulates its devices in one process, but the job has " +
        std::to_string(options.num_processes) + "; start one process");
  PJRT_PLUGIN_RETURN_IF_ERROR(kernels::SelectIsa(options.options.String("force_isa")));
  PJRT_PLUGIN_ASSIGN_OR_RETURN(std::vector<backend::DeviceInfo> infos, ListDevices(options));
  const char* dump = std::getenv(PJRT_PLUGIN_ENV "_DUMP");
  return std::unique_ptr<backend::Driver>(std::make_unique<ReferenceDriver>(
      std::move(infos), size_t(options.options.Int("memory_bytes")), dump == nullptr ? "" : dump,
      options));
}

}  // namespace PJRT_PLUGIN_NS::reference
