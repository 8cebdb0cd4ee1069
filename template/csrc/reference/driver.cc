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

constexpr OptionSpec kOptions[] = {
    {.name = "num_devices",
     .help = "how many devices to simulate",
     .default_value = int64_t{kDefaultNumDevices},
     .min = 1,
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
  if (text.empty()) {
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

class SimulatedDevice final : public backend::Device {
 public:
  SimulatedDevice(int id, int local_id, int hardware, int process, size_t memory_limit,
                  Runtime* runtime) {
    const std::string name = Capitalized(kPlatformName);
    info_.id = id;
    info_.local_hardware_id = local_id;
    info_.process_index = process;
    info_.kind = name + " simulator";
    info_.debug_string = std::string(kPlatformName) + ":" + std::to_string(id) + " (process " +
                         std::to_string(process) + ")";
    info_.to_string = name + "Device(id=" + std::to_string(id) + ")";
    info_.attributes = {{"simulated", true}, {"hardware_id", int64_t{hardware}}};
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

 private:
  backend::DeviceInfo info_;
  std::vector<std::unique_ptr<HostMemory>> memories_;
  std::vector<backend::Memory*> pointers_;
  HostStream stream_;
};

class ReferenceDriver final : public backend::Driver {
 public:
  ReferenceDriver(const std::vector<int>& visible, size_t memory_limit, std::string dump)
      : runtime_(visible.size()), compiler_(&runtime_, std::move(dump)) {
    version_ = std::string(kPlatformName) + " reference " + kPluginVersion + " (" +
               std::string(kernels::ActiveIsa()) + ")";
    for (size_t i = 0; i < visible.size(); ++i) {
      devices_.push_back(std::make_unique<SimulatedDevice>(int(i), int(i), visible[i], 0,
                                                           memory_limit, &runtime_));
      pointers_.push_back(devices_.back().get());
      for (backend::Memory* memory : devices_.back()->memories()) memories_.push_back(memory);
    }
  }

  // Before the memories go.
  ~ReferenceDriver() override { runtime_.Finish(); }

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

}  // namespace

std::span<const OptionSpec> DriverOptionSpecs() { return kOptions; }

backend::Result<std::unique_ptr<backend::Driver>> CreateDriver(
    const backend::DriverOptions& options) {
  if (options.num_processes > 1)
    return backend::Unimplemented(
        "the reference backend simulates its devices in one process, but the job has " +
        std::to_string(options.num_processes) + "; start one process");
  PJRT_PLUGIN_RETURN_IF_ERROR(kernels::SelectIsa(options.options.String("force_isa")));
  PJRT_PLUGIN_ASSIGN_OR_RETURN(std::vector<int> visible,
                               VisibleDevices(options.options.String("visible_devices"),
                                              int(options.options.Int("num_devices"))));
  const char* dump = std::getenv(PJRT_PLUGIN_ENV "_DUMP");
  return std::unique_ptr<backend::Driver>(std::make_unique<ReferenceDriver>(
      visible, size_t(options.options.Int("memory_bytes")), dump == nullptr ? "" : dump));
}

}  // namespace PJRT_PLUGIN_NS::reference
