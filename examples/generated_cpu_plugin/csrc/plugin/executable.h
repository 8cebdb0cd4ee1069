#ifndef PLUGIN_EXECUTABLE_H_
#define PLUGIN_EXECUTABLE_H_

// Executable: a compiled program and the answers about it, in the form in which the C API asks.
// LoadedExecutable: the same, bound to devices, ready to run. Both share what they are about, so
// either may be destroyed first.

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/compiler.h"
#include "backend/executable.h"
#include "generated/config.h"
#include "generated/features.h"
#include "generated/pjrt_c_api.h"
#include "plugin/attributes.h"
#include "plugin/client.h"
#include "plugin/error.h"
#include "plugin/handle.h"
#include "plugin/layout.h"

namespace PJRT_PLUGIN_NS::plugin {

// Strings as the C API lists them.
struct StringList {
  void Add(std::string_view text) {
    data.push_back(text.data());
    sizes.push_back(text.size());
  }
  std::vector<const char*> data;
  std::vector<size_t> sizes;
};

// What is known of a program, constant. Holds the client, whose driver made the executable.
struct CompiledProgram {
  CompiledProgram(std::shared_ptr<Client> client, std::shared_ptr<backend::Executable> impl,
                  backend::CompileOptions options);

  const backend::ExecutableInfo& info() const { return impl->info(); }

  const std::shared_ptr<Client> client;
  const std::shared_ptr<backend::Executable> impl;
  const backend::CompileOptions options;

  std::vector<PJRT_Buffer_Type> output_types;
  std::vector<int64_t> output_dims;  // of all outputs, one after the other
  std::vector<size_t> output_ranks;
  StringList output_memory_kinds;
  StringList parameter_memory_kinds;
  // OpSharding messages; empty lists where they are not known.
  std::vector<std::string> output_sharding_bytes;
  std::vector<std::string> parameter_sharding_bytes;
  StringList output_shardings;
  StringList parameter_shardings;
  std::vector<Layout*> output_layouts;
  std::vector<Layout*> parameter_layouts;
  NamedValues costs;
};

struct Executable : Handle<Tag::kExecutable> {
  explicit Executable(std::shared_ptr<const CompiledProgram> program)
      : program(std::move(program)) {}
  const std::shared_ptr<const CompiledProgram> program;
};
PJRT_PLUGIN_HANDLE(PJRT_Executable, Executable)

// A device that runs the program, and the memories of its parameters and outputs there.
struct Seat {
  Device* device;
  int replica;
  int partition;
  std::vector<Memory*> parameter_memories;
  std::vector<Memory*> output_memories;
};

struct LoadedExecutable : Handle<Tag::kLoadedExecutable> {
  // Binds the program to the devices that its options name, or to the first ones. INVALID_ARGUMENT
  // when there are no such devices.
  static Result<std::unique_ptr<LoadedExecutable>> Load(
      std::shared_ptr<const CompiledProgram> program, const char* function);

  // The seat for one run on one device: any of the client's for a program of one device, else one
  // of those that it was compiled for.
  Result<Seat> SeatOn(Device* device, const char* function) const;

  std::shared_ptr<const CompiledProgram> program;
  std::vector<std::vector<int>>
      device_assignment;         // ids [replica][partition]; empty in a portable one
  std::vector<Seat> seats;       // of this process, in the order of the assignment
  std::vector<Device*> devices;  // of the seats
#if PJRT_SCAFFOLD_HAS_PJRT_LogicalDeviceIds
  std::vector<PJRT_LogicalDeviceIds> logical_ids;  // of the seats
#endif
  std::atomic<bool> deleted{false};
};
PJRT_PLUGIN_HANDLE(PJRT_LoadedExecutable, LoadedExecutable)

}  // namespace PJRT_PLUGIN_NS::plugin

#endif  // PLUGIN_EXECUTABLE_H_
