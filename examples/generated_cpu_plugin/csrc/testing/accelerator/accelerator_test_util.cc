#include "testing/accelerator/accelerator_test_util.h"

#include <chrono>
#include <thread>
#include <utility>

#include "plugin/compile_options.h"
#include "plugin/proto.h"
#include "testing/accelerator/driver.h"
#include "testing/test.h"

namespace PJRT_PLUGIN_NS::accelerator {
namespace {

using backend::Status;
using plugin::Api;
using plugin::Fake;
using plugin::Make;
using plugin::Text;

constexpr auto kPatience = std::chrono::minutes(1);

Status GiveUp(const char* what) { return Status(backend::Code::kDeadlineExceeded, what); }

}  // namespace

Bench::Bench(Settings settings, plugin::FakeConfig fake)
    : control(std::make_shared<Control>(std::move(settings))) {
  fake.wrap = [control = control](std::unique_ptr<backend::Driver> inner) {
    return Accelerate(std::move(inner), control);
  };
  Fake::Reset(std::move(fake));
  client = std::make_unique<plugin::TestClient>();
  EXPECT_EQ(client->error, "");
}

Bench::~Bench() {
  client = nullptr;
  EXPECT_TRUE(Eventually([] { return Fake::LiveDrivers() == 0; }));
  EXPECT_EQ(Fake::LiveBlocks(), 0);
  EXPECT_EQ(Fake::LiveExecutables(), 0);
  EXPECT_EQ(control->Complaints(), "");
  Fake::Reset();
}

PJRT_LoadedExecutable* Bench::Compile(std::string_view program, const std::vector<int>& devices) {
  std::string build, options;
  plugin::PutVarint(4, 1, &build);
  plugin::PutVarint(5, devices.size(), &build);
  plugin::PutBytes(9, plugin::WriteDeviceAssignment({devices}), &build);
  plugin::PutBytes(3, build, &options);
  PJRT_LoadedExecutable* const loaded = client->CompileWith(program, options);
  EXPECT_EQ(client->error, "");
  return loaded;
}

PJRT_Buffer* Bench::Put(const Floats& data, PJRT_HostBufferSemantics semantics, PJRT_Event** done,
                        PJRT_Memory* memory) {
  const int64_t dims[] = {int64_t(data.size())};
  auto args = Make<PJRT_Client_BufferFromHostBuffer_Args>();
  args.client = client->client;
  args.data = data.data();
  args.type = PJRT_Buffer_Type_F32;
  args.dims = dims;
  args.num_dims = 1;
  args.host_buffer_semantics = semantics;
  args.device = memory == nullptr ? client->device(0) : nullptr;
  args.memory = memory;
  EXPECT_EQ(Text(Api().PJRT_Client_BufferFromHostBuffer(&args)), "");
  *done = args.done_with_host_buffer;
  return args.buffer;
}

std::function<Status(const Record&)> Gate::Hook() {
  return [this](const Record& record) {
    if (record.work != work_ || (device_ != Fault::kAny && device_ != record.device)) {
      return Status();
    }
    std::unique_lock lock(mutex_);
    ++arrivals_;
    changed_.notify_all();
    const bool opened = changed_.wait_for(lock, kPatience, [&] { return open_; });
    return opened ? Status() : GiveUp("nobody opened the gate");
  };
}

void Gate::Open() {
  std::lock_guard lock(mutex_);
  open_ = true;
  changed_.notify_all();
}

bool Gate::AwaitArrivals(int count) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, kPatience, [&] { return arrivals_ >= count; });
}

std::function<Status(const Record&)> Meeting::Hook() {
  return [this](const Record& record) {
    if (record.work != work_) return Status();
    std::unique_lock lock(mutex_);
    ++arrivals_;
    changed_.notify_all();
    const bool met = changed_.wait_for(lock, kPatience, [&] { return arrivals_ >= count_; });
    return met ? Status() : GiveUp("the others did not come");
  };
}

PJRT_Event* ReadyEvent(PJRT_Buffer* buffer) {
  auto args = Make<PJRT_Buffer_ReadyEvent_Args>();
  args.buffer = buffer;
  EXPECT_EQ(Text(Api().PJRT_Buffer_ReadyEvent(&args)), "");
  return args.event;
}

std::string ReadyText(PJRT_Buffer* buffer) { return plugin::Finish(ReadyEvent(buffer)); }

PJRT_Event* ToHost(PJRT_Buffer* buffer, Floats* target) {
  auto args = Make<PJRT_Buffer_ToHostBuffer_Args>();
  args.src = buffer;
  args.dst = target->data();
  args.dst_size = target->size() * sizeof(float);
  EXPECT_EQ(Text(Api().PJRT_Buffer_ToHostBuffer(&args)), "");
  return args.event;
}

void OnReady(PJRT_Event* event, void (*callback)(PJRT_Error*, void*), void* user_arg) {
  auto args = Make<PJRT_Event_OnReady_Args>();
  args.event = event;
  args.callback = callback;
  args.user_arg = user_arg;
  EXPECT_EQ(Text(Api().PJRT_Event_OnReady(&args)), "");
}

void Delete(PJRT_Buffer* buffer) {
  auto args = Make<PJRT_Buffer_Delete_Args>();
  args.buffer = buffer;
  EXPECT_EQ(Text(Api().PJRT_Buffer_Delete(&args)), "");
}

bool Eventually(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace PJRT_PLUGIN_NS::accelerator
