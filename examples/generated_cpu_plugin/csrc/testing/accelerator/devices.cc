#include "testing/accelerator/devices.h"

#include <functional>
#include <thread>
#include <utility>

#include "backend/completion.h"
#include "backend/stream.h"

namespace PJRT_PLUGIN_NS::accelerator {
namespace {

using backend::Completion;
using backend::Region;
using backend::Result;
using backend::Status;

// The same part of the block underneath.
Result<Region> InnerPart(const Region& region) {
  PJRT_PLUGIN_ASSIGN_OR_RETURN(BackendBlock block, Inner(region.block));
  return Region{std::move(block), region.offset, region.bytes};
}

class Stream final : public backend::Stream {
 public:
  Stream(backend::Device* device, size_t place, Queues* queues, std::shared_ptr<Control> control)
      : inner_(device->stream()),
        device_id_(device->info().id),
        place_(place),
        queues_(queues),
        control_(std::move(control)) {}

  Completion CopyFromHost(const void* host, Region to, std::span<const Completion> after) override {
    return Submit(after, {}, std::move(to), [this, host](const Region&, const Region& to) {
      return inner_.CopyFromHost(host, to, {});
    });
  }
  Completion CopyToHost(Region from, void* host, std::span<const Completion> after) override {
    return Submit(after, std::move(from), {}, [this, host](const Region& from, const Region&) {
      return inner_.CopyToHost(from, host, {});
    });
  }
  Completion Copy(Region from, Region to, std::span<const Completion> after) override {
    return Submit(
        after, std::move(from), std::move(to),
        [this](const Region& from, const Region& to) { return inner_.Copy(from, to, {}); });
  }

 private:
  using Work = std::function<Completion(const Region& from, const Region& to)>;

  struct Job {
    Verdict verdict;
    Region from, to;  // without a block: the host's side
    Work work;
    backend::Promise promise;

    // Whoever hears of the end may count on the blocks being free.
    void End(Status status) {
      from = to = {};
      promise.Set(std::move(status));
    }
  };

  Completion Submit(std::span<const Completion> after, Region from, Region to, Work work) {
    const Verdict verdict = control_->Ask(accelerator::Work::kCopy, device_id_);
    if (Status status = verdict.at_once(); !status.ok()) return Completion(status);
    auto [done, promise] = backend::MakeCompletion();
    auto job = std::make_shared<Job>(
        Job{verdict, std::move(from), std::move(to), std::move(work), std::move(promise)});
    queues_->Submit({.devices = {place_},
                     .run = [this, job](size_t) { job->End(Run(*job)); },
                     .fail = [job](const Status& status) { job->End(status); }},
                    after);
    return done;
  }

  Status Run(const Job& job) {
    PJRT_PLUGIN_RETURN_IF_ERROR(control_->Start(job.verdict));
    Region from, to;
    if (job.from.block != nullptr) {
      PJRT_PLUGIN_ASSIGN_OR_RETURN(from, InnerPart(job.from));
    }
    if (job.to.block != nullptr) {
      PJRT_PLUGIN_ASSIGN_OR_RETURN(to, InnerPart(job.to));
    }
    std::this_thread::sleep_for(control_->settings().copy_time);
    PJRT_PLUGIN_RETURN_IF_ERROR(job.work(from, to).Await());
    return control_->End(job.verdict);
  }

  backend::Stream& inner_;
  const int device_id_;
  const size_t place_;
  Queues* const queues_;
  const std::shared_ptr<Control> control_;
};

}  // namespace

Device::Device(backend::Device* inner, size_t place, Queues* queues,
               const std::shared_ptr<Control>& control)
    : inner_(inner), place_(place) {
  for (backend::Memory* memory : inner->memories()) {
    memories_.push_back(std::make_unique<Memory>(memory, this, control));
    pointers_.push_back(memories_.back().get());
  }
  stream_ = std::make_unique<Stream>(inner, place, queues, control);
}

Device::~Device() = default;

Memory* Device::FindMemory(std::string_view kind) const {
  for (const auto& memory : memories_) {
    if (memory->info().kind == kind) return memory.get();
  }
  return nullptr;
}

}  // namespace PJRT_PLUGIN_NS::accelerator
