// PJRT_Client_CreateAliasBuffer and PJRT_Client_FulfillAliasBuffer: a buffer that can be passed on
// before it is known which buffer it will be.

#include <memory>
#include <string>
#include <utility>

#include "plugin/alias_block.h"
#include "plugin/buffer.h"
#include "plugin/host_copy.h"
#include "plugin/layer.h"
#include "plugin/profiler.h"

#if PJRT_SCAFFOLD_HAS_PJRT_Client_CreateAliasBuffer

namespace PJRT_PLUGIN_NS::plugin {

// What the caller holds until it knows the buffer. It outlives the alias, and keeps the client.
struct AliasFulfillment : Handle<Tag::kAliasFulfillment> {
  AliasFulfillment(std::shared_ptr<Client> client, Memory* memory, backend::Shape shape,
                   backend::Promise promise)
      : client(std::move(client)),
        memory(memory),
        shape(std::move(shape)),
        block(std::make_shared<AliasBlock>(memory, this->shape.byte_size())),
        promise(std::make_shared<const backend::Promise>(std::move(promise))) {}

  // Makes `real` the alias, which takes its memory and is ready when it is. On failure `real` stays
  // as it is.
  Status Fulfill(Buffer* real, const char* function) const;

  const std::shared_ptr<Client> client;
  Memory* const memory;
  const backend::Shape shape;
  const std::shared_ptr<AliasBlock> block;
  const std::shared_ptr<const backend::Promise> promise;  // of the alias's `ready`
};
PJRT_PLUGIN_HANDLE(PJRT_FulfillAliasBufferCallback, AliasFulfillment)

Status AliasFulfillment::Fulfill(Buffer* real, const char* function) const {
  PJRT_PLUGIN_RETURN_IF_ERROR(client->CheckProcess(function));
  if (real == nullptr) {
    return InvalidArgument(std::string(function) +
                           ": buffer is null, but status_code is OK; give a buffer or a failure");
  }
  if (real->memory != memory || !AreSameArrays(real->shape, shape)) {
    return InvalidArgument(std::string(function) + ": the buffer is " + ShowLayout(real->shape) +
                           " in " + real->memory->impl->info().debug_string +
                           ", but the alias was made for " + ShowLayout(shape) + " in " +
                           memory->impl->info().debug_string);
  }
  PJRT_PLUGIN_ASSIGN_OR_RETURN(Buffer::Donation from, real->HandOver(function));
  Completion ready = real->ready;
  const Block source = from.block;
  if (source != nullptr) {  // else `ready` says why there are no contents
    const Block target = block->Give(std::move(from));
    if (target == source) {  // it would wait for itself
      return InvalidArgument(std::string(function) +
                             ": the buffer is the alias itself; give another one");
    }
    const size_t bytes = shape.byte_size();
    if (target != nullptr && bytes != 0) {
      const Recording recording(real->device->impl->info().id, Work::kDeviceToDevice, bytes,
                                {&real->ready, 1});
      ready = real->device->impl->stream().Copy({source, 0, bytes}, {target, 0, bytes},
                                                {&real->ready, 1});
      recording.Until(ready);
      client->work.Add(ready, real->IsWaitingForCaller());
    }
  }
  ready.OnReady([promise = promise](const Status& status) { promise->Set(status); });
  return Status();
}

PJRT_Error* Layer::Client_CreateAliasBuffer(PJRT_Client_CreateAliasBuffer_Args* args) {
  constexpr char kFunction[] = "PJRT_Client_CreateAliasBuffer";
  Client* client = FromC(args->client);
  PJRT_PLUGIN_RETURN_IF_C_ERROR(client->CheckProcess(kFunction));
  Memory* memory = FromC(args->memory);
  if (memory == nullptr || memory->client != client) {
    return MakeError(
        InvalidArgument(std::string(kFunction) + ": memory is null or another client's"));
  }
  PJRT_PLUGIN_ASSIGN_OR_RETURN_C(
      backend::Shape shape,
      MakeShape(args->shape_element_type, args->shape_dims, args->shape_num_dims, kFunction));
  PJRT_PLUGIN_RETURN_IF_C_ERROR(SetLayout(args->shape_layout, kFunction, &shape));
  auto [ready, promise] = backend::MakeCompletion();
  auto fulfillment = std::make_unique<AliasFulfillment>(client->shared_from_this(), memory,
                                                        std::move(shape), std::move(promise));
  args->alias_buffer = ToC(new Buffer(fulfillment->client, memory->devices.front(), memory,
                                      fulfillment->shape, fulfillment->block, std::move(ready)));
  args->fulfill_alias_buffer_cb = ToC(fulfillment.release());
  return nullptr;
}

PJRT_Error* Layer::Client_FulfillAliasBuffer(PJRT_Client_FulfillAliasBuffer_Args* args) {
  constexpr char kFunction[] = "PJRT_Client_FulfillAliasBuffer";
  // Over after this call, whatever comes of it. args->client is not looked at: frameworks leave it
  // unset.
  const std::unique_ptr<const AliasFulfillment> fulfillment(FromC(args->fulfill_alias_buffer_cb));
  Status failure = MakeStatus(args->status_code, args->error_message, args->error_message_size);
  if (!failure.ok()) {
    fulfillment->promise->Set(std::move(failure));
    return nullptr;
  }
  const Status status = fulfillment->Fulfill(FromC(args->buffer), kFunction);
  if (!status.ok()) fulfillment->promise->Set(status);
  return MakeError(status);
}

}  // namespace PJRT_PLUGIN_NS::plugin

#endif
