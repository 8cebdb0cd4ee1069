#include "reference/driver.h"

#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "reference/testing_run.h"

namespace PJRT_PLUGIN_NS::reference {
namespace {

using backend::Code;

TEST(Driver, ShowsTheDevicesAskedFor) {
  auto driver = reference::CreateDriver(DefaultOptions({{"num_devices", int64_t{3}}}));
  ASSERT_TRUE(driver.ok());
  EXPECT_EQ((*driver)->devices().size(), size_t{3});
  EXPECT_EQ((*driver)->memories().size(), size_t{9});
  for (size_t i = 0; i < 3; ++i) {
    const backend::Device& device = *(*driver)->devices()[i];
    EXPECT_EQ(device.info().id, int(i));
    EXPECT_EQ(const_cast<backend::Device&>(device).memories()[0]->info().kind,
              std::string("device"));
  }
}

// pitfall 78: a subset of the devices is chosen twice over
TEST(Driver, VisibleDevicesAreNumberedAnew) {
  auto driver = reference::CreateDriver(DefaultOptions({{"visible_devices", std::string("2, 0")}}));
  ASSERT_TRUE(driver.ok());
  EXPECT_EQ((*driver)->devices().size(), size_t{2});
  EXPECT_EQ((*driver)->devices()[1]->info().id, 1);
  for (const char* wrong : {"9", "1,1", "a", "1,", ",", "-1", "0x1"}) {
    auto refused =
        reference::CreateDriver(DefaultOptions({{"visible_devices", std::string(wrong)}}));
    EXPECT_TRUE(refused.status().code() == Code::kInvalidArgument);
  }
}

TEST(Memory, LimitIsKept) {
  auto driver = reference::CreateDriver(DefaultOptions({{"memory_bytes", int64_t{1000}}}));
  ASSERT_TRUE(driver.ok());
  backend::Memory& memory = *(*driver)->devices()[0]->memories()[0];
  auto first = memory.Allocate(600);
  ASSERT_TRUE(first.ok());
  auto second = memory.Allocate(600);
  EXPECT_TRUE(second.status().code() == Code::kResourceExhausted);
  EXPECT_CONTAINS(second.status().message(), "600 bytes are in use");
  *first = nullptr;
  EXPECT_TRUE(memory.Allocate(1000).ok());
  EXPECT_EQ(memory.Stats()->bytes_in_use, int64_t{0});
  EXPECT_EQ(memory.Stats()->peak_bytes_in_use, int64_t{1000});
  EXPECT_EQ(memory.Stats()->bytes_limit, int64_t{1000});
}

TEST(Memory, BlocksAreAlignedAndNeverNull) {
  Harness run(1);
  for (size_t bytes : {0, 1, 63, 64, 65, 81, 1000, 100000, 5000000}) {
    auto block = *run.device().memories()[0]->Allocate(bytes);
    EXPECT_TRUE(block->address() != nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block->address()) % 64, uintptr_t{0});
    std::memset(block->address(), 1, bytes);
  }
}

// Whoever makes a copy's dependency ready may come after the client is gone.
TEST(Stream, ACopyThatWaitsIsDroppedWithTheDriver) {
  auto driver = *reference::CreateDriver(DefaultOptions());
  backend::Device& device = *driver->devices()[0];
  auto [ready, promise] = backend::MakeCompletion();
  const std::vector<char> from(4, 1);
  std::vector<char> to(4, 2);
  backend::Region region{*device.memories()[0]->Allocate(4), 0, 4};
  const backend::Completion waits[] = {ready};
  const backend::Completion in = device.stream().CopyFromHost(from.data(), region, waits);
  const backend::Completion out = device.stream().CopyToHost(region, to.data(), waits);
  region.block = nullptr;
  EXPECT_FALSE(in.IsReady());
  driver = nullptr;
  EXPECT_EQ(in.Await().code(), Code::kCancelled);
  EXPECT_EQ(out.Await().code(), Code::kCancelled);
  promise.Set(Status());
  EXPECT_EQ(to, std::vector<char>(4, 2));
}

// The memory of the one device goes before the stream of the other.
TEST(Stream, ACopyBetweenDevicesIsDroppedBeforeTheirMemoriesGo) {
  auto driver = *reference::CreateDriver(DefaultOptions());
  backend::Device& first = *driver->devices()[0];
  backend::Device& second = *driver->devices()[1];
  auto [ready, promise] = backend::MakeCompletion();
  const backend::Completion copy =
      second.stream().Copy({*second.memories()[0]->Allocate(4), 0, 4},
                           {*first.memories()[0]->Allocate(4), 0, 4}, {&ready, 1});
  driver = nullptr;
  EXPECT_EQ(copy.Await().code(), Code::kCancelled);
}

backend::Result<std::unique_ptr<backend::Driver>> CreateForTopology(
    backend::TopologyRequest request) {
  backend::DriverOptions options = DefaultOptions();
  options.topology = std::move(request);
  return reference::CreateDriver(options);
}

TEST(Topology, NamesAreDevicesAlongDimensions) {
  const std::pair<const char*, size_t> good[] = {{"8", 8},      {"2x4", 8}, {"2x2x1", 4},
                                                 {"v9:2x4", 8}, {":3", 3},  {"64x64", 4096}};
  for (const auto& [name, count] : good) {
    auto driver = CreateForTopology({name, {}});
    ASSERT_TRUE(driver.ok());
    EXPECT_EQ((*driver)->devices().size(), count);
  }
  for (const char* name : {"nowhere", "2x", "x2", "0", "-2", "2x2 ", "64x65", "v9:", "1e3",
                           "99999999999999999999", "4096x4096x4096x4096x4096x4096x4096"}) {
    const Status status = CreateForTopology({name, {}}).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_CONTAINS(status.message(), name);
  }
}

TEST(Topology, DevicesComeBackAsTheyWere) {
  backend::TopologyRequest request;
  {
    auto driver = CreateForTopology({"2", {}});
    for (const backend::Device* device : (*driver)->devices()) {
      request.devices.push_back(device->info());
    }
  }
  request.devices[1].id = 7;
  auto driver = CreateForTopology(request);
  ASSERT_TRUE(driver.ok());
  EXPECT_EQ((*driver)->devices()[1]->info().id, 7);
  EXPECT_EQ((*driver)->devices()[1]->memories().size(), (*driver)->devices()[0]->memories().size());
  request.devices[0].kind = "another";
  EXPECT_CONTAINS(CreateForTopology(request).status().message(), "'another'");
}

// They come as bytes, from anywhere: no number in them may overflow another.
TEST(Topology, RefusesDevicesThatCannotBeNumbered) {
  auto driver = CreateForTopology({"1", {}});
  backend::TopologyRequest request;
  request.devices = {(*driver)->devices()[0]->info()};
  for (int id : {std::numeric_limits<int>::max(), -1}) {
    request.devices[0].id = id;
    EXPECT_CONTAINS(CreateForTopology(request).status().message(), "id " + std::to_string(id));
  }
  request.devices.resize(5000, request.devices[0]);
  EXPECT_CONTAINS(CreateForTopology(request).status().message(), "5000 devices");
}

TEST(Memory, ClearedStatisticsBeginAnew) {
  Harness run;
  backend::Memory& memory = *run.device().memories()[0];
  auto kept = *memory.Allocate(100);
  (void)memory.Allocate(1000);
  EXPECT_TRUE(memory.Stats()->peak_bytes_in_use >= 1100);
  EXPECT_TRUE(memory.ClearStats().ok());
  EXPECT_EQ(memory.Stats()->peak_bytes_in_use, memory.Stats()->bytes_in_use);
  EXPECT_EQ(memory.Stats()->num_allocs, int64_t{0});
  EXPECT_EQ(memory.Stats()->largest_alloc_size, int64_t{0});
}

TEST(Stream, CopiesWaitForWhatTheyNeed) {
  Harness run(2);
  auto from = run.Put(Bytes<int32_t>({1, 2, 3}));
  auto to = run.Put(Bytes<int32_t>({0, 0, 0}), 1);
  auto [ready, promise] = backend::MakeCompletion();
  backend::Completion copy =
      run.device().stream().Copy({from, 4, 8}, {to, 0, 8}, std::span(&ready, 1));
  EXPECT_FALSE(copy.IsReady());
  promise.Set(Status());
  EXPECT_TRUE(copy.Await().ok());
  EXPECT_EQ(Values<int32_t>(to->address(), 12), (std::vector<int32_t>{2, 3, 0}));
  EXPECT_TRUE(run.device().stream().Copy({from, 8, 8}, {to, 0, 8}, {}).status().code() ==
              Code::kInvalidArgument);
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::reference
