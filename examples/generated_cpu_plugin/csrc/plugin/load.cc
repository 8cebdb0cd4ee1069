// From a program to something that runs: compile, load, serialize and deserialize.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "plugin/bytes.h"
#include "plugin/compile_options.h"
#include "plugin/executable.h"
#include "plugin/layer.h"
#include "plugin/profiler.h"

namespace PJRT_PLUGIN_NS::plugin {
namespace {

// The memories of kinds that a program wants, on one device.
template <typename Infos>
Status ResolveMemories(const Device* device, const Infos& infos, std::string_view what,
                       std::vector<Memory*>* memories) {
  for (size_t i = 0; i < infos.size(); ++i) {
    Memory* memory = device->FindMemory(infos[i].memory_kind);
    if (memory == nullptr) {
      return InvalidArgument(std::string(what) + " " + std::to_string(i) +
                             " of the program is in memory kind " + infos[i].memory_kind +
                             ", which device " + std::to_string(device->impl->info().id) +
                             " does not have");
    }
    memories->push_back(memory);
  }
  return Status();
}

// Options that come apart from the program they are for, which is then for a number of devices
// already.
Status CheckCounts(const backend::ExecutableInfo& info, const backend::CompileOptions& options,
                   const char* function) {
  if (info.num_replicas == options.num_replicas && info.num_partitions == options.num_partitions) {
    return Status();
  }
  auto count = [](int replicas, int partitions) {
    return std::to_string(replicas) + " replicas of " + std::to_string(partitions) + " partitions";
  };
  return InvalidArgument(std::string(function) + ": " + info.name + " was compiled for " +
                         count(info.num_replicas, info.num_partitions) +
                         ", but the compile options are for " +
                         count(options.num_replicas, options.num_partitions));
}

Result<Seat> MakeSeat(const CompiledProgram& program, Device* device, int replica, int partition) {
  Seat seat = {device, replica, partition, {}, {}};
  PJRT_PLUGIN_RETURN_IF_ERROR(
      ResolveMemories(device, program.info().parameters, "parameter", &seat.parameter_memories));
  PJRT_PLUGIN_RETURN_IF_ERROR(
      ResolveMemories(device, program.info().outputs, "output", &seat.output_memories));
  return seat;
}

// The devices in order of id, as many as the program wants.
Result<std::vector<std::vector<int>>> DefaultAssignment(const Client& client,
                                                        const backend::CompileOptions& options) {
  const int64_t wanted = int64_t(options.num_replicas) * options.num_partitions;
  if (wanted > int64_t(client.devices.size())) {
    return InvalidArgument("the program is for " + std::to_string(wanted) +
                           " devices, the client has " + std::to_string(client.devices.size()));
  }
  std::vector<std::vector<int>> ids(options.num_replicas, std::vector<int>(options.num_partitions));
  size_t next = 0;
  for (std::vector<int>& replica : ids) {
    for (int& id : replica) id = client.devices[next++]->impl->info().id;
  }
  return ids;
}

Result<std::shared_ptr<const CompiledProgram>> CompileProgram(Client& client,
                                                              const PJRT_Program* program,
                                                              const char* options,
                                                              size_t options_size,
                                                              const char* function) {
  PJRT_PLUGIN_RETURN_IF_ERROR(client.CheckProcess(function));
  if (program->code == nullptr || program->format == nullptr) {
    return InvalidArgument(std::string(function) + ": the program has no code or no format");
  }
  PJRT_PLUGIN_RETURN_IF_ERROR(CheckPointer(options, options_size, "compile_options", function));
  PJRT_PLUGIN_ASSIGN_OR_RETURN(backend::CompileOptions compile_options,
                               ReadCompileOptions({options, options_size}, function));
  const backend::Program code = {{program->format, program->format_size},
                                 {program->code, program->code_size}};
  const int64_t start_ns = Recording::Start();
  Result<std::shared_ptr<backend::Executable>> compiled =
      client.driver->compiler().Compile(code, compile_options);
  if (!compiled.ok()) return compiled.status().Annotated(function);
  if (start_ns != 0) RecordOnHost("compile " + (*compiled)->info().name, start_ns);
  return std::make_shared<const CompiledProgram>(client.shared_from_this(), *std::move(compiled),
                                                 std::move(compile_options));
}

// What PJRT_Executable_Serialize hands out: this mark, a hash of all that follows, the size of the
// compile options, the options, and the backend's bytes. Numbers have eight bytes, little-endian.
// The options are part of it because the program's devices are in them; the hash is there because
// caches lie on disks, which lose ends of files.
constexpr std::string_view kMark = "PJRTEXE2";
constexpr size_t kNumberBytes = 8;

std::string Number(uint64_t value) {
  std::string bytes;
  for (size_t i = 0; i < kNumberBytes; ++i) bytes.push_back(char(value >> (8 * i)));
  return bytes;
}

// The number that `bytes` begins with, taken off; nothing when it is not all there.
std::optional<uint64_t> TakeNumber(std::string_view* bytes) {
  if (bytes->size() < kNumberBytes) return std::nullopt;
  uint64_t value = 0;
  for (size_t i = 0; i < kNumberBytes; ++i) value |= uint64_t(uint8_t((*bytes)[i])) << (8 * i);
  bytes->remove_prefix(kNumberBytes);
  return value;
}

std::string Pack(std::string_view options, std::string_view code) {
  const std::string content = Number(options.size()) + std::string(options) + std::string(code);
  return std::string(kMark) + Number(Fnv1a(content)) + content;
}

struct Packed {
  std::string_view options;
  std::string_view code;
};

Result<Packed> Unpack(std::string_view bytes, const char* function) {
  if (!bytes.starts_with(kMark)) {
    return InvalidArgument(std::string(function) +
                           ": the bytes are no executable that this plugin serialized");
  }
  bytes.remove_prefix(kMark.size());
  const std::optional<uint64_t> hash = TakeNumber(&bytes);
  if (!hash.has_value() || *hash != Fnv1a(bytes)) {
    return InvalidArgument(std::string(function) +
                           ": the bytes of the executable are damaged or cut off; compile it anew");
  }
  const std::optional<uint64_t> size = TakeNumber(&bytes);
  if (!size.has_value() || *size > bytes.size()) {
    return InvalidArgument(std::string(function) + ": the serialized executable is malformed");
  }
  return Packed{bytes.substr(0, *size), bytes.substr(*size)};
}

Result<std::unique_ptr<LoadedExecutable>> Deserialize(
    const PJRT_Executable_DeserializeAndLoad_Args& args) {
  constexpr char kFunction[] = "PJRT_Executable_DeserializeAndLoad";
  Client& client = *FromC(args.client);
  PJRT_PLUGIN_RETURN_IF_ERROR(client.CheckProcess(kFunction));
  PJRT_PLUGIN_ASSIGN_OR_RETURN(
      Packed packed,
      Unpack({args.serialized_executable, args.serialized_executable_size}, kFunction));
#if PJRT_SCAFFOLD_HAS_PJRT_Executable_DeserializeAndLoad_Args_overridden_serialized_compile_options
  // The program may be wanted on other devices than it was compiled for.
  if (args.overridden_serialized_compile_options != nullptr) {
    packed.options = {args.overridden_serialized_compile_options,
                      args.overridden_serialized_compile_options_size};
  }
#endif
  PJRT_PLUGIN_ASSIGN_OR_RETURN(backend::CompileOptions options,
                               ReadCompileOptions(packed.options, kFunction));
  Result<std::shared_ptr<backend::Executable>> impl =
      client.driver->compiler().Deserialize(packed.code);
  if (!impl.ok()) return impl.status().Annotated(kFunction);
  PJRT_PLUGIN_RETURN_IF_ERROR(CheckCounts((*impl)->info(), options, kFunction));
  return LoadedExecutable::Load(
      std::make_shared<const CompiledProgram>(client.shared_from_this(), *std::move(impl),
                                              std::move(options)),
      kFunction);
}

#if PJRT_SCAFFOLD_HAS_PJRT_Client_Load
// A program of another client, a topology's for one, for this client: through its bytes.
Result<std::shared_ptr<const CompiledProgram>> Rebind(const CompiledProgram& program,
                                                      Client& client, const char* function) {
  const Result<std::string> code = program.impl->Serialize();
  if (!code.ok()) return code.status().Annotated(function);
  Result<std::shared_ptr<backend::Executable>> impl = client.driver->compiler().Deserialize(*code);
  if (!impl.ok()) return impl.status().Annotated(function);
  return std::make_shared<const CompiledProgram>(client.shared_from_this(), *std::move(impl),
                                                 program.options);
}
#endif

}  // namespace

Result<std::unique_ptr<LoadedExecutable>> LoadedExecutable::Load(
    std::shared_ptr<const CompiledProgram> program, const char* function) {
  const Client& client = *program->client;
  auto loaded = std::make_unique<LoadedExecutable>();
  loaded->program = std::move(program);
  const backend::CompileOptions& options = loaded->program->options;
  if (options.portable) return loaded;  // the caller names the device of each run
  loaded->device_assignment = options.device_assignment;
  if (options.device_assignment.empty()) {
    Result<std::vector<std::vector<int>>> ids = DefaultAssignment(client, options);
    if (!ids.ok()) return ids.status().Annotated(function);
    loaded->device_assignment = *std::move(ids);
  }
  std::set<int> seen;
  for (size_t replica = 0; replica < loaded->device_assignment.size(); ++replica) {
    const std::vector<int>& partitions = loaded->device_assignment[replica];
    for (size_t partition = 0; partition < partitions.size(); ++partition) {
      const int id = partitions[partition];
      Device* device = client.FindDevice(id);
      if (device == nullptr || !seen.insert(id).second) {
        return InvalidArgument(std::string(function) + ": the device assignment names device " +
                               std::to_string(id) +
                               (device == nullptr ? ", which the client does not have" : " twice"));
      }
      if (!device->addressable) continue;
      Result<Seat> seat = MakeSeat(*loaded->program, device, int(replica), int(partition));
      if (!seat.ok()) return seat.status().Annotated(function);
      loaded->seats.push_back(*std::move(seat));
      loaded->devices.push_back(device);
#if PJRT_SCAFFOLD_HAS_PJRT_LogicalDeviceIds
      loaded->logical_ids.push_back({int(replica), int(partition)});
#endif
    }
  }
  if (loaded->seats.empty()) {
    return InvalidArgument(std::string(function) +
                           ": the device assignment names no device of this process");
  }
  return loaded;
}

Result<Seat> LoadedExecutable::SeatOn(Device* device, const char* function) const {
  if (device->client != program->client.get() || !device->addressable) {
    return InvalidArgument(std::string(function) +
                           ": execute_device is not one of this client's addressable devices");
  }
  if (program->options.num_replicas * program->options.num_partitions == 1) {
    return MakeSeat(*program, device, 0, 0);
  }
  const auto seat = std::ranges::find(seats, device, &Seat::device);
  if (seat != seats.end()) return *seat;
  return InvalidArgument(std::string(function) + ": execute_device is device " +
                         std::to_string(device->impl->info().id) + ", for which " +
                         program->info().name + " was not compiled");
}

PJRT_Error* Layer::Client_Compile(PJRT_Client_Compile_Args* args) {
  constexpr char kFunction[] = "PJRT_Client_Compile";
  PJRT_PLUGIN_ASSIGN_OR_RETURN_C(
      std::shared_ptr<const CompiledProgram> program,
      CompileProgram(*FromC(args->client), args->program, args->compile_options,
                     args->compile_options_size, kFunction));
  PJRT_PLUGIN_ASSIGN_OR_RETURN_C(std::unique_ptr<LoadedExecutable> loaded,
                                 LoadedExecutable::Load(std::move(program), kFunction));
  args->executable = ToC(loaded.release());
  return nullptr;
}

PJRT_Error* Layer::Compile(PJRT_Compile_Args* args) {
  PJRT_PLUGIN_ASSIGN_OR_RETURN_C(
      std::shared_ptr<const CompiledProgram> program,
      CompileProgram(*FromC(args->topology)->client, args->program, args->compile_options,
                     args->compile_options_size, "PJRT_Compile"));
  args->executable = ToC(new Executable(std::move(program)));
  return nullptr;
}

PJRT_Error* Layer::Executable_Serialize(PJRT_Executable_Serialize_Args* args) {
  const CompiledProgram& program = *FromC(args->executable)->program;
  PJRT_PLUGIN_ASSIGN_OR_RETURN_C(const std::string code, program.impl->Serialize());
  GiveBytes(Pack(program.options.serialized, code), &args->serialized_bytes,
            &args->serialized_bytes_size, &args->serialized_executable,
            &args->serialized_executable_deleter);
  return nullptr;
}

PJRT_Error* Layer::Executable_DeserializeAndLoad(PJRT_Executable_DeserializeAndLoad_Args* args) {
  PJRT_PLUGIN_ASSIGN_OR_RETURN_C(std::unique_ptr<LoadedExecutable> loaded, Deserialize(*args));
  args->loaded_executable = ToC(loaded.release());
  return nullptr;
}

PJRT_Error* Layer::LoadedExecutable_Destroy(PJRT_LoadedExecutable_Destroy_Args* args) {
  delete FromC(args->executable);
  return nullptr;
}

PJRT_Error* Layer::LoadedExecutable_GetExecutable(PJRT_LoadedExecutable_GetExecutable_Args* args) {
  args->executable = ToC(new Executable(FromC(args->loaded_executable)->program));
  return nullptr;
}

PJRT_Error* Layer::LoadedExecutable_AddressableDevices(
    PJRT_LoadedExecutable_AddressableDevices_Args* args) {
  const std::vector<Device*>& devices = FromC(args->executable)->devices;
  args->addressable_devices = reinterpret_cast<PJRT_Device* const*>(devices.data());
  args->num_addressable_devices = devices.size();
  return nullptr;
}

PJRT_Error* Layer::LoadedExecutable_Delete(PJRT_LoadedExecutable_Delete_Args* args) {
  FromC(args->executable)->deleted = true;
  return nullptr;
}

PJRT_Error* Layer::LoadedExecutable_IsDeleted(PJRT_LoadedExecutable_IsDeleted_Args* args) {
  args->is_deleted = FromC(args->executable)->deleted;
  return nullptr;
}

#if PJRT_SCAFFOLD_HAS_PJRT_LoadedExecutable_GetDeviceAssignment
PJRT_Error* Layer::LoadedExecutable_GetDeviceAssignment(
    PJRT_LoadedExecutable_GetDeviceAssignment_Args* args) {
  GiveBytes(WriteDeviceAssignment(FromC(args->executable)->device_assignment),
            &args->serialized_bytes, &args->serialized_bytes_size,
            &args->serialized_device_assignment, &args->serialized_device_assignment_deleter);
  return nullptr;
}
#endif

#if PJRT_SCAFFOLD_HAS_PJRT_LoadedExecutable_AddressableDeviceLogicalIds
PJRT_Error* Layer::LoadedExecutable_AddressableDeviceLogicalIds(
    PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args* args) {
  std::vector<PJRT_LogicalDeviceIds>& ids = FromC(args->executable)->logical_ids;
  args->addressable_device_logical_ids = ids.data();
  args->num_addressable_device_logical_ids = ids.size();
  return nullptr;
}
#endif

#if PJRT_SCAFFOLD_HAS_PJRT_Client_Load
PJRT_Error* Layer::Client_Load(PJRT_Client_Load_Args* args) {
  constexpr char kFunction[] = "PJRT_Client_Load";
  Client* client = FromC(args->client);
  PJRT_PLUGIN_RETURN_IF_C_ERROR(client->CheckProcess(kFunction));
  std::shared_ptr<const CompiledProgram> program = FromC(args->executable)->program;
  if (program->client.get() != client) {
    PJRT_PLUGIN_ASSIGN_OR_RETURN_C(program, Rebind(*program, *client, kFunction));
  }
  if (args->compile_options != nullptr && args->compile_options_size != 0) {
    PJRT_PLUGIN_ASSIGN_OR_RETURN_C(
        backend::CompileOptions options,
        ReadCompileOptions({args->compile_options, args->compile_options_size}, kFunction));
    PJRT_PLUGIN_RETURN_IF_C_ERROR(CheckCounts(program->info(), options, kFunction));
    program =
        std::make_shared<const CompiledProgram>(program->client, program->impl, std::move(options));
  }
  PJRT_PLUGIN_ASSIGN_OR_RETURN_C(std::unique_ptr<LoadedExecutable> loaded,
                                 LoadedExecutable::Load(std::move(program), kFunction));
  args->loaded_executable = ToC(loaded.release());
  return nullptr;
}
#endif

}  // namespace PJRT_PLUGIN_NS::plugin
