#ifndef REFERENCE_TESTING_RUN_H_
#define REFERENCE_TESTING_RUN_H_

// Compiles a hand-made module and runs it on simulated devices, in tests.
//
//   Harness run;
//   std::vector<float> y = run.One<float>(builder.module(), {Bytes<float>({1, 2})});

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "generated/config.h"
#include "program/testing_builder.h"
#include "reference/compiler.h"
#include "reference/driver.h"
#include "reference/plan_builder.h"
#include "testing/test.h"

namespace PJRT_PLUGIN_NS::reference {

using Data = std::vector<std::byte>;

template <typename T>
Data Bytes(const std::vector<T>& values) {
  Data data(values.size() * sizeof(T));
  if (!data.empty()) std::memcpy(data.data(), values.data(), data.size());
  return data;
}
template <typename T>
std::vector<T> Values(const void* data, size_t bytes) {
  std::vector<T> values(bytes / sizeof(T));
  if (bytes != 0) std::memcpy(values.data(), data, bytes);
  return values;
}

// The options of a driver: the declared defaults, but for those given.
inline backend::DriverOptions DefaultOptions(
    std::vector<std::pair<std::string, backend::Options::Value>> changes = {}) {
  backend::DriverOptions options;
  for (const backend::OptionSpec& spec : DriverOptionSpecs()) {
    std::visit(
        [&](auto value) {
          if constexpr (std::is_same_v<decltype(value), std::string_view>) {
            options.options.Set(spec.name, std::string(value));
          } else {
            options.options.Set(spec.name, value);
          }
        },
        spec.default_value);
  }
  for (auto& [name, value] : changes) options.options.Set(name, value);
  return options;
}

class Harness {
 public:
  explicit Harness(int num_devices = 4, backend::CustomCalls* custom_calls = nullptr)
      : runtime_(size_t(num_devices)),
        driver_(std::move(
            *reference::CreateDriver(DefaultOptions({{"num_devices", int64_t{num_devices}}})))) {
    runtime_.custom_calls = custom_calls;
  }

  backend::Driver& driver() { return *driver_; }
  backend::Device& device(size_t i = 0) { return *driver_->devices()[i]; }

  Result<std::shared_ptr<PlanExecutable>> Compile(program::Module& module,
                                                  Partitioning partitioning = {}) {
    return CompileModule(module, partitioning, std::make_shared<const std::string>("test"),
                         &runtime_);
  }

  std::shared_ptr<backend::Allocation> Put(const Data& data, size_t device_index = 0) {
    auto block = *device(device_index).memories()[0]->Allocate(data.size());
    if (!data.empty()) std::memcpy(block->address(), data.data(), data.size());
    return block;
  }

  // Runs on as many devices as the program wants; arguments by device.
  Result<std::vector<backend::LaunchResult>> Launch(
      PlanExecutable& executable, const std::vector<std::vector<backend::Argument>>& arguments,
      std::vector<backend::Completion> after = {}) {
    std::vector<backend::Launch> launches;
    const int partitions = executable.info().num_partitions;
    for (size_t i = 0; i < arguments.size(); ++i) {
      backend::Launch launch;
      launch.device = &device(i);
      launch.replica = int(i) / partitions;
      launch.partition = int(i) % partitions;
      launch.arguments = arguments[i];
      launch.after = after;
      launches.push_back(launch);
    }
    return executable.Execute(launches, {});
  }

  // All results of a program on one device; none when something fails, which is a test failure.
  std::vector<Data> All(program::Module& module, const std::vector<Data>& inputs) {
    auto executable = Compile(module);
    if (!Check(executable.status())) return {};
    std::vector<backend::Argument> arguments;
    for (const Data& one : inputs) arguments.push_back({Put(one), false});
    auto results = Launch(**executable, {arguments});
    if (!Check(results.status()) || !Check((*results)[0].done.Await())) return {};
    std::vector<Data> data;
    for (const auto& block : (*results)[0].outputs)
      data.push_back(Values<std::byte>(block->address(), block->bytes()));
    return data;
  }
  template <typename T>
  std::vector<T> One(program::Module& module, const std::vector<Data>& inputs) {
    std::vector<Data> all = All(module, inputs);
    return all.empty() ? std::vector<T>() : Values<T>(all[0].data(), all[0].size());
  }

 private:
  static bool Check(const Status& status) {
    if (!status.ok()) ADD_FAILURE() << std::string(status.message());
    return status.ok();
  }

  Runtime runtime_;
  std::unique_ptr<backend::Driver> driver_;
};

}  // namespace PJRT_PLUGIN_NS::reference

#endif  // REFERENCE_TESTING_RUN_H_
