// Functions that put another buffer in the place of one: its memory goes over, nothing is copied.

#include <memory>
#include <string>
#include <utility>

#include "plugin/buffer.h"
#include "plugin/host_copy.h"
#include "plugin/layer.h"

namespace PJRT_PLUGIN_NS::plugin {

#if PJRT_SCAFFOLD_HAS_PJRT_Buffer_Bitcast
namespace {

// Elements narrower than a byte take one byte each, so their bytes mean nothing to other types.
bool IsPadded(backend::DType dtype) {
  return dtype != backend::DType::kPred && DTypeBits(dtype) < 8 * DTypeBytes(dtype);
}

Status CheckBitcast(const backend::Shape& from, const backend::Shape& to, const char* function) {
  const auto both = [&] { return ShowShape(from) + " to " + ShowShape(to); };
  if (from.byte_size() != to.byte_size()) {
    return InvalidArgument(std::string(function) + ": cannot bitcast " + both() +
                           ": that is from " + std::to_string(from.byte_size()) + " bytes to " +
                           std::to_string(to.byte_size()));
  }
  if (DTypeBits(from.dtype) != DTypeBits(to.dtype) &&
      (IsPadded(from.dtype) || IsPadded(to.dtype))) {
    return Unimplemented(std::string(function) + ": cannot bitcast " + both() +
                         ": this plugin keeps elements narrower than a byte in a byte each");
  }
  return Status();
}

}  // namespace

PJRT_Error* Layer::Buffer_Bitcast(PJRT_Buffer_Bitcast_Args* args) {
  constexpr char kFunction[] = "PJRT_Buffer_Bitcast";
  Buffer& buffer = *FromC(args->buffer);
  PJRT_PLUGIN_ASSIGN_OR_RETURN_C(
      backend::Shape shape, MakeShape(args->element_type, args->dims, args->num_dims, kFunction));
  PJRT_PLUGIN_RETURN_IF_C_ERROR(SetLayout(args->device_layout, kFunction, &shape));
  PJRT_PLUGIN_RETURN_IF_C_ERROR(CheckBitcast(buffer.shape, shape, kFunction));
  PJRT_PLUGIN_ASSIGN_OR_RETURN_C(Buffer::Donation from, buffer.HandOver(kFunction));
  Buffer* const cast = new Buffer(buffer.client, buffer.device, buffer.memory, std::move(shape),
                                  std::move(from), buffer.ready);
  cast->waits_for_caller = buffer.IsWaitingForCaller();
  args->out_buffer = ToC(cast);
  return nullptr;
}
#endif

#if PJRT_SCAFFOLD_HAS_PJRT_Buffer_DonateWithControlDependency
namespace {

// The caller says once that the dependency is over, and how it ended.
void EndDependency(PJRT_Buffer_DonateWithControlDependency_Callback_Args* args) noexcept {
  const std::unique_ptr<const backend::Promise> promise(
      static_cast<const backend::Promise*>(args->callback_data));
  try {
    promise->Set(MakeStatus(args->error_code, args->error_message, args->error_message_size));
  } catch (...) {
    // There is nobody to tell but the buffer, which a dropped promise fails.
  }
}

}  // namespace

PJRT_Error* Layer::Buffer_DonateWithControlDependency(
    PJRT_Buffer_DonateWithControlDependency_Args* args) {
  constexpr char kFunction[] = "PJRT_Buffer_DonateWithControlDependency";
  Buffer& buffer = *FromC(args->buffer);
  PJRT_PLUGIN_RETURN_IF_C_ERROR(buffer.client->CheckProcess(kFunction));
  PJRT_PLUGIN_ASSIGN_OR_RETURN_C(Buffer::Donation from, buffer.HandOver(kFunction));
  auto [dependency, promise] = backend::MakeCompletion();
  // A buffer that stands for a failure has nothing to wait for.
  const Completion both[] = {buffer.ready, std::move(dependency)};
  Completion ready = from.block == nullptr ? buffer.ready : backend::WhenAll(both);
  args->callback_data = new backend::Promise(std::move(promise));
  args->dependency_ready_callback = EndDependency;
  Buffer* const out = new Buffer(buffer.client, buffer.device, buffer.memory, buffer.shape,
                                 std::move(from), std::move(ready));
  out->waits_for_caller = true;
  args->out_buffer = ToC(out);
  return nullptr;
}
#endif

}  // namespace PJRT_PLUGIN_NS::plugin
