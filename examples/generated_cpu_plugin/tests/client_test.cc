// The plugin as a framework meets it: the built library, loaded at run time, with everything that
// links and loads it as it will be on a user's machine.

#include "client.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "testing/test.h"

namespace {

using client::Api;
using client::Call;
using client::Make;
using Floats = std::vector<float>;

// x + x on f32[4], where `attributes` are those of the argument.
std::string Twice(const std::string& attributes = "") {
  return R"("builtin.module"() ({
  "func.func"() <{arg_attrs = [{)" +
         attributes +
         R"(}], function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<4xf32>):
    %y = "stablehlo.add"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%y) : (tensor<4xf32>) -> ()
  }) : () -> ()
}) : () -> ()
)";
}
const char kDonated[] = "tf.aliasing_output = 0 : i32";

// A client with a device.
class Framework : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    ASSERT_NE(client::LoadApi(&why), nullptr) << why;
    client_ = client::NewClient(&error_);
    ASSERT_EQ(error_, "");
    devices_ = client::Devices(client_);
    ASSERT_FALSE(devices_.empty());
    device_ = devices_[0];
  }
  void TearDown() override {
    if (client_ != nullptr) EXPECT_EQ(client::Destroy(client_), "");
  }

  PJRT_LoadedExecutable* Compile(const std::string& code, PJRT_Device* device) {
    return client::Compile(client_, code, client::IdOf(device), &error_);
  }
  PJRT_LoadedExecutable* Compile(const std::string& code) { return Compile(code, device_); }

  std::string error_;
  PJRT_Client* client_ = nullptr;
  std::vector<PJRT_Device*> devices_;
  PJRT_Device* device_ = nullptr;
};

// Skipped where the plugin compiles no programs yet.
class Programs : public Framework {
 protected:
  void SetUp() override {
    Framework::SetUp();
    if (HasFatalFailure()) return;
    PJRT_LoadedExecutable* twice = Compile(Twice());
    if (error_.starts_with("12: ")) GTEST_SKIP() << error_;  // UNIMPLEMENTED
    ASSERT_EQ(error_, "");
    EXPECT_EQ(client::Destroy(twice), "");
  }
};

TEST(Library, TellsItsVersionAndSizes) {
  std::string why;
  const PJRT_Api* api = client::LoadApi(&why);
  ASSERT_NE(api, nullptr) << why;
  EXPECT_EQ(api, client::LoadApi());
  EXPECT_EQ(api->pjrt_api_version.major_version, PJRT_API_MAJOR);
  EXPECT_EQ(api->pjrt_api_version.minor_version, PJRT_API_MINOR);
  EXPECT_EQ(api->struct_size, size_t{PJRT_Api_STRUCT_SIZE});
  std::set<const PJRT_Extension_Base*> seen;
  for (const PJRT_Extension_Base* e = api->extension_start; e != nullptr; e = e->next) {
    EXPECT_GE(e->struct_size, sizeof(PJRT_Extension_Base));
    ASSERT_TRUE(seen.insert(e).second) << "the chain of extensions is a ring";
  }
}

TEST_F(Framework, InitializesTwice) {
  for (int i = 0; i < 2; ++i) {
    auto args = Make<PJRT_Plugin_Initialize_Args>();
    EXPECT_EQ(Call(Api().PJRT_Plugin_Initialize, args), "");
  }
}

TEST_F(Framework, DevicesHaveIdsOfTheirOwn) {
  std::set<int> ids;
  for (PJRT_Device* device : devices_) EXPECT_TRUE(ids.insert(client::IdOf(device)).second);
}

TEST_F(Framework, DataComesBackFromEveryDevice) {
  for (PJRT_Device* device : devices_) {
    for (size_t size : {0, 1, 1000, 1 << 20}) {
      const Floats data(size, 1.5f);
      PJRT_Buffer* buffer = client::Put(client_, device, data, &error_);
      ASSERT_EQ(error_, "");
      EXPECT_EQ(client::Get(buffer, &error_), data);
      EXPECT_EQ(error_, "");
      EXPECT_EQ(client::Destroy(buffer), "");
    }
  }
}

TEST_F(Framework, ABufferOutlivesItsClient) {
  PJRT_Buffer* buffer = client::Put(client_, device_, {1, 2, 3});
  EXPECT_EQ(client::Destroy(std::exchange(client_, nullptr)), "");
  EXPECT_EQ(client::Get(buffer), (Floats{1, 2, 3}));
  EXPECT_EQ(client::Destroy(buffer), "");
}

TEST_F(Programs, RunOnEveryDevice) {
  for (PJRT_Device* device : devices_) {
    PJRT_LoadedExecutable* twice = Compile(Twice(), device);
    ASSERT_EQ(error_, "");
    PJRT_Buffer* x = client::Put(client_, device, {1, 2, 3, 4});
    PJRT_Buffer* y = client::Execute(twice, {x}, &error_);
    ASSERT_EQ(error_, "");
    EXPECT_EQ(client::Get(y), (Floats{2, 4, 6, 8}));
    EXPECT_EQ(client::Destroy(x), "");
    EXPECT_EQ(client::Destroy(y), "");
    EXPECT_EQ(client::Destroy(twice), "");
  }
}

TEST_F(Programs, ADonatedBufferIsGone) {
  PJRT_LoadedExecutable* twice = Compile(Twice(kDonated));
  ASSERT_EQ(error_, "");
  PJRT_Buffer* x = client::Put(client_, device_, {1, 2, 3, 4});
  PJRT_Buffer* y = client::Execute(twice, {x}, &error_);
  ASSERT_EQ(error_, "");
  EXPECT_TRUE(client::IsDeleted(x));
  EXPECT_EQ(client::Execute(twice, {x}, &error_), nullptr);
  EXPECT_CONTAINS(error_, "donated");
  EXPECT_EQ(client::Get(y), (Floats{2, 4, 6, 8}));
  EXPECT_EQ(client::Destroy(x), "");
  EXPECT_EQ(client::Destroy(y), "");
  EXPECT_EQ(client::Destroy(twice), "");
}

TEST_F(Programs, BadProgramsAreRefusedWithAReason) {
  for (std::string code : {std::string(), std::string("MLIR"), std::string("ML\xefR\x01"),
                           Twice("tf.aliasing_output = 7 : i32")}) {
    EXPECT_EQ(Compile(code), nullptr);
    EXPECT_NE(error_, "");
  }
}

TEST_F(Programs, SerializeAndLoadInAnotherClient) {
  PJRT_LoadedExecutable* twice = Compile(Twice());
  auto get = Make<PJRT_LoadedExecutable_GetExecutable_Args>();
  get.loaded_executable = twice;
  ASSERT_EQ(Call(Api().PJRT_LoadedExecutable_GetExecutable, get), "");
  auto bytes = Make<PJRT_Executable_Serialize_Args>();
  bytes.executable = get.executable;
  ASSERT_EQ(Call(Api().PJRT_Executable_Serialize, bytes), "");
  const std::string serialized(bytes.serialized_bytes, bytes.serialized_bytes_size);
  bytes.serialized_executable_deleter(bytes.serialized_executable);
  EXPECT_EQ(client::Destroy(get.executable), "");
  EXPECT_EQ(client::Destroy(twice), "");

  PJRT_Client* other = client::NewClient(&error_);
  ASSERT_EQ(error_, "");
  auto load = Make<PJRT_Executable_DeserializeAndLoad_Args>();
  load.client = other;
  load.serialized_executable = serialized.data();
  load.serialized_executable_size = serialized.size();
  ASSERT_EQ(Call(Api().PJRT_Executable_DeserializeAndLoad, load), "");
  PJRT_Buffer* x = client::Put(other, client::Devices(other)[0], {1, 2, 3, 4});
  PJRT_Buffer* y = client::Execute(load.loaded_executable, {x}, &error_);
  ASSERT_EQ(error_, "");
  EXPECT_EQ(client::Get(y), (Floats{2, 4, 6, 8}));
  EXPECT_EQ(client::Destroy(x), "");
  EXPECT_EQ(client::Destroy(y), "");
  EXPECT_EQ(client::Destroy(load.loaded_executable), "");
  EXPECT_EQ(client::Destroy(other), "");
}

// Everything that a run leaves, destroyed in every order while the run may still go on.
TEST_F(Programs, DestroyedInAnyOrder) {
  std::array<int, 5> order = {0, 1, 2, 3, 4};
  do {
    PJRT_Client* one = client::NewClient(&error_);
    ASSERT_EQ(error_, "");
    PJRT_Device* device = client::Devices(one)[0];
    PJRT_LoadedExecutable* twice = client::Compile(one, Twice(), client::IdOf(device), &error_);
    ASSERT_EQ(error_, "");
    PJRT_Buffer* x = client::Put(one, device, {1, 2, 3, 4});
    PJRT_Event* done = nullptr;
    PJRT_Buffer* y = client::Execute(twice, {x}, &error_, &done);
    ASSERT_EQ(error_, "");
    for (int what : order) {
      if (what == 0) EXPECT_EQ(client::Destroy(one), "");
      if (what == 1) EXPECT_EQ(client::Destroy(twice), "");
      if (what == 2) EXPECT_EQ(client::Destroy(x), "");
      if (what == 3) EXPECT_EQ(client::Destroy(y), "");
      if (what == 4) {
        auto args = Make<PJRT_Event_Destroy_Args>();
        args.event = done;
        EXPECT_EQ(Call(Api().PJRT_Event_Destroy, args), "");
      }
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

// Callbacks arrive once for each event, and may destroy it.
TEST_F(Programs, CallbacksMayDestroyTheirEvent) {
  static std::atomic<int> called;
  called = 0;
  PJRT_LoadedExecutable* twice = Compile(Twice());
  PJRT_Buffer* x = client::Put(client_, device_, {1, 2, 3, 4});
  constexpr int kRuns = 50;
  std::vector<PJRT_Buffer*> outputs;
  for (int i = 0; i < kRuns; ++i) {
    PJRT_Event* done = nullptr;
    outputs.push_back(client::Execute(twice, {x}, &error_, &done));
    ASSERT_EQ(error_, "");
    auto args = Make<PJRT_Event_OnReady_Args>();
    args.event = done;
    args.user_arg = done;
    args.callback = [](PJRT_Error* error, void* event) {
      EXPECT_EQ(error, nullptr);
      auto destroy = Make<PJRT_Event_Destroy_Args>();
      destroy.event = static_cast<PJRT_Event*>(event);
      EXPECT_EQ(Call(Api().PJRT_Event_Destroy, destroy), "");
      ++called;
    };
    EXPECT_EQ(Call(Api().PJRT_Event_OnReady, args), "");
  }
  for (PJRT_Buffer* y : outputs) {
    EXPECT_EQ(client::Get(y), (Floats{2, 4, 6, 8}));
    EXPECT_EQ(client::Destroy(y), "");
  }
  EXPECT_EQ(client::Destroy(x), "");
  EXPECT_EQ(client::Destroy(twice), "");
  EXPECT_EQ(client::Destroy(std::exchange(client_, nullptr)), "");
  for (int i = 0; i < 1000 && called < kRuns; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(called, kRuns);
}

// One client, one program, one input, used by all threads; each donates buffers of its own, and
// clients come and go beside.
TEST_F(Programs, ManyThreads) {
  PJRT_LoadedExecutable* twice = Compile(Twice());
  PJRT_LoadedExecutable* donating = Compile(Twice(kDonated));
  PJRT_Buffer* shared = client::Put(client_, device_, {1, 2, 3, 4});
  const auto work = [&](int thread) {
    std::string error;
    for (int round = 0; round < 20; ++round) {
      PJRT_Buffer* y = client::Execute(twice, {shared}, &error);
      ASSERT_EQ(error, "");
      PJRT_Buffer* z = client::Execute(donating, {y}, &error);
      ASSERT_EQ(error, "");
      EXPECT_EQ(client::Get(z), (Floats{4, 8, 12, 16}));
      EXPECT_TRUE(client::IsDeleted(y));
      EXPECT_EQ(client::Destroy(y), "");
      EXPECT_EQ(client::Destroy(z), "");
      PJRT_Device* device = devices_[size_t(thread) % devices_.size()];
      PJRT_LoadedExecutable* own = client::Compile(client_, Twice(), client::IdOf(device), &error);
      EXPECT_EQ(error, "");
      EXPECT_EQ(client::Destroy(own), "");
      PJRT_Client* passing = client::NewClient(&error);
      EXPECT_EQ(error, "");
      EXPECT_EQ(client::Destroy(passing), "");
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(client::Destroy(shared), "");
  EXPECT_EQ(client::Destroy(twice), "");
  EXPECT_EQ(client::Destroy(donating), "");
}

}  // namespace
