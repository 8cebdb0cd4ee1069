#include "plugin/ffi_call.h"

#include <algorithm>
#include <array>
#include <exception>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

namespace PJRT_PLUGIN_NS::plugin {
namespace {

using backend::DType;

// X(DType enumerator, name of the XLA_FFI_DataType)
#define PJRT_PLUGIN_FFI_TYPES(X)   \
  X(kPred, PRED)                   \
  X(kS1, S1)                       \
  X(kS2, S2)                       \
  X(kS4, S4)                       \
  X(kS8, S8)                       \
  X(kS16, S16)                     \
  X(kS32, S32)                     \
  X(kS64, S64)                     \
  X(kU1, U1)                       \
  X(kU2, U2)                       \
  X(kU4, U4)                       \
  X(kU8, U8)                       \
  X(kU16, U16)                     \
  X(kU32, U32)                     \
  X(kU64, U64)                     \
  X(kF4E2M1FN, F4E2M1FN)           \
  X(kF8E3M4, F8E3M4)               \
  X(kF8E4M3, F8E4M3)               \
  X(kF8E4M3FN, F8E4M3FN)           \
  X(kF8E4M3FNUZ, F8E4M3FNUZ)       \
  X(kF8E4M3B11FNUZ, F8E4M3B11FNUZ) \
  X(kF8E5M2, F8E5M2)               \
  X(kF8E5M2FNUZ, F8E5M2FNUZ)       \
  X(kF8E8M0FNU, F8E8M0FNU)         \
  X(kBF16, BF16)                   \
  X(kF16, F16)                     \
  X(kF32, F32)                     \
  X(kF64, F64)                     \
  X(kC64, C64)                     \
  X(kC128, C128)

// INVALID for the few that the FFI does not know.
XLA_FFI_DataType FfiDataType(DType dtype) {
  switch (dtype) {
#define PJRT_PLUGIN_X(ours, theirs) \
  case DType::ours:                 \
    return XLA_FFI_DataType_##theirs;
    PJRT_PLUGIN_FFI_TYPES(PJRT_PLUGIN_X)
#undef PJRT_PLUGIN_X
    default:
      return XLA_FFI_DataType_INVALID;
  }
}

XLA_FFI_Buffer BufferOf(const std::optional<backend::Shape>& shape) {
  XLA_FFI_Buffer buffer = {};
  buffer.struct_size = XLA_FFI_Buffer_STRUCT_SIZE;
  buffer.dtype = shape.has_value() ? FfiDataType(shape->dtype) : XLA_FFI_DataType_TOKEN;
  if (!shape.has_value()) return buffer;
  buffer.rank = int64_t(shape->dims.size());
  buffer.dims = const_cast<int64_t*>(shape->dims.data());  // handlers only read
  return buffer;
}

// Looks for types that handlers cannot be given.
Status CheckTypes(const std::vector<std::optional<backend::Shape>>& shapes, const char* what) {
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (!shapes[i].has_value() || FfiDataType(shapes[i]->dtype) != XLA_FFI_DataType_INVALID)
      continue;
    return Unimplemented(what + (" " + std::to_string(i)) + " has the element type " +
                         std::string(backend::DTypeName(shapes[i]->dtype)) +
                         ", which XLA's FFI C API does not have");
  }
  return Status();
}

}  // namespace

XLA_FFI_CallFrame EmptyCallFrame(XLA_FFI_ExecutionStage stage) {
  XLA_FFI_CallFrame frame = {};
  frame.struct_size = XLA_FFI_CallFrame_STRUCT_SIZE;
  frame.api = FfiApi();
  frame.stage = stage;
  frame.args.struct_size = XLA_FFI_Args_STRUCT_SIZE;
  frame.rets.struct_size = XLA_FFI_Rets_STRUCT_SIZE;
  frame.attrs.struct_size = XLA_FFI_Attrs_STRUCT_SIZE;
  return frame;
}

Result<Completion> CallFfi(XLA_FFI_Handler* handler, XLA_FFI_CallFrame* frame) {
  const backend::CallbackScope scope;
  try {
    PJRT_PLUGIN_RETURN_IF_ERROR(TakeFfiError(handler(frame)));
  } catch (const std::exception& error) {
    return Status(Code::kUnknown, std::string("the handler threw an exception: ") + error.what());
  } catch (...) {
    return Status(Code::kUnknown, "the handler threw something that is no std::exception");
  }
  return TakeFfiFuture(frame->future);
}

// ---- Attributes ----

FfiAttributes::FfiAttributes(backend::CallAttributes attributes)
    : attributes_(std::move(attributes)) {
  // Handlers look names up by bisection.
  std::ranges::sort(attributes_, {}, &backend::NamedCallAttribute::name);
  names_.reserve(attributes_.size());  // its elements are pointed to
  for (backend::NamedCallAttribute& attribute : attributes_) {
    names_.push_back({attribute.name.data(), attribute.name.size()});
    name_pointers_.push_back(&names_.back());
    if (auto* numbers = std::get_if<backend::CallNumbers>(&attribute.value.value)) {
      const XLA_FFI_DataType dtype = FfiDataType(numbers->dtype);
      void* data = numbers->bytes.data();
      const size_t count = numbers->bytes.size() / backend::DTypeBytes(numbers->dtype);
      types_.push_back(numbers->is_scalar ? XLA_FFI_AttrType_SCALAR : XLA_FFI_AttrType_ARRAY);
      values_.push_back(
          numbers->is_scalar
              ? static_cast<void*>(&scalars_.emplace_back(XLA_FFI_Scalar{dtype, data}))
              : &arrays_.emplace_back(XLA_FFI_Array{dtype, count, data}));
    } else if (auto* text = std::get_if<std::string>(&attribute.value.value)) {
      types_.push_back(XLA_FFI_AttrType_STRING);
      values_.push_back(&strings_.emplace_back(XLA_FFI_ByteSpan{text->data(), text->size()}));
    } else {
      types_.push_back(XLA_FFI_AttrType_DICTIONARY);
      auto& inner = std::get<backend::CallAttributes>(attribute.value.value);
      values_.push_back(&dictionaries_.emplace_back(std::move(inner)).c_);
    }
  }
  c_.struct_size = XLA_FFI_Attrs_STRUCT_SIZE;
  c_.size = int64_t(attributes_.size());
  c_.types = types_.data();
  c_.names = name_pointers_.data();
  c_.attrs = values_.data();
}

// ---- Calls ----

FfiCall::FfiCall(const FfiHandler& handler, const backend::CallSignature& signature)
    : handler_(handler),
      signature_(signature),
      attributes_(signature.attributes),
      argument_types_(signature.arguments.size(), XLA_FFI_ArgType_BUFFER),
      result_types_(signature.results.size(), XLA_FFI_RetType_BUFFER) {
  for (const auto& shape : signature_.arguments) arguments_.push_back(BufferOf(shape));
  for (const auto& shape : signature_.results) results_.push_back(BufferOf(shape));
}

Result<std::unique_ptr<backend::CustomCall>> FfiCall::Create(
    const FfiHandler& handler, const backend::CallSignature& signature) {
  PJRT_PLUGIN_RETURN_IF_ERROR(CheckTypes(signature.arguments, "operand"));
  PJRT_PLUGIN_RETURN_IF_ERROR(CheckTypes(signature.results, "result"));
  std::unique_ptr<FfiCall> call(new FfiCall(handler, signature));
  PJRT_PLUGIN_RETURN_IF_ERROR(call->Explain(call->Instantiate()));
  return std::unique_ptr<backend::CustomCall>(std::move(call));
}

Status FfiCall::Explain(const Status& status) const {
  return status.Annotated("the FFI handler '" + signature_.target + "'");
}

Status FfiCall::Instantiate() {
  if (handler_.instantiate == nullptr) return Status();
  FfiContext context;
  context.minor = handler_.minor;
  context.states[XLA_FFI_ExecutionStage_INSTANTIATE] = &state_;
  XLA_FFI_CallFrame frame = EmptyCallFrame(XLA_FFI_ExecutionStage_INSTANTIATE);
  frame.ctx = context.c();
  frame.attrs = attributes_.c();
  PJRT_PLUGIN_ASSIGN_OR_RETURN(const Completion done, CallFfi(handler_.instantiate, &frame));
  return done.Await();
}

// All that one execution shows to the handler; stays until the handler's work is done.
class FfiCall::Execution {
 public:
  Execution(FfiCall& call, std::span<void* const> arguments, std::span<void* const> results,
            backend::CallContext& context)
      : call_(call), arguments_(call.arguments_), results_(call.results_) {
    argument_pointers_ = Place(arguments_, arguments);
    result_pointers_ = Place(results_, results);
    context_.minor = call.handler_.minor;
    context_.execution = &context;
    context_.states[XLA_FFI_ExecutionStage_INSTANTIATE] = &call.state_;
    context_.states[XLA_FFI_ExecutionStage_PREPARE] = &states_[0];
    context_.states[XLA_FFI_ExecutionStage_INITIALIZE] = &states_[1];
  }
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  // Null: the handler has nothing to do in that stage.
  Result<Completion> Call(XLA_FFI_Handler* handler, XLA_FFI_ExecutionStage stage) {
    if (handler == nullptr) return Completion();
    XLA_FFI_CallFrame frame = EmptyCallFrame(stage);
    frame.ctx = context_.c();
    frame.args.size = int64_t(arguments_.size());
    frame.args.types = call_.argument_types_.data();
    frame.args.args = argument_pointers_.data();
    frame.rets.size = int64_t(results_.size());
    frame.rets.types = call_.result_types_.data();
    frame.rets.rets = result_pointers_.data();
    frame.attrs = call_.attributes_.c();
    return CallFfi(handler, &frame);
  }

 private:
  static std::vector<void*> Place(std::vector<XLA_FFI_Buffer>& buffers,
                                  std::span<void* const> addresses) {
    std::vector<void*> pointers(buffers.size());
    for (size_t i = 0; i < buffers.size(); ++i) {
      buffers[i].data = addresses[i];
      pointers[i] = &buffers[i];
    }
    return pointers;
  }

  FfiCall& call_;
  std::vector<XLA_FFI_Buffer> arguments_;
  std::vector<XLA_FFI_Buffer> results_;
  std::vector<void*> argument_pointers_;
  std::vector<void*> result_pointers_;
  std::array<FfiState, 2> states_;  // of the stages prepare and initialize
  FfiContext context_;
};

Completion FfiCall::Run(std::span<void* const> arguments, std::span<void* const> results,
                        backend::CallContext& context) {
  if (arguments.size() != arguments_.size() || results.size() != results_.size()) {
    return Completion(
        Explain(Internal("the backend calls it with " + std::to_string(arguments.size()) +
                         " arguments and " + std::to_string(results.size()) + " results")));
  }
  const auto execution = std::make_shared<Execution>(*this, arguments, results, context);
  for (auto [handler, stage] :
       {std::pair(handler_.prepare, XLA_FFI_ExecutionStage_PREPARE),
        std::pair(handler_.initialize, XLA_FFI_ExecutionStage_INITIALIZE)}) {
    Result<Completion> done = execution->Call(handler, stage);
    const Status status = done.ok() ? done->Await() : done.status();
    if (!status.ok()) return Completion(Explain(status));
  }
  Result<Completion> done = execution->Call(handler_.execute, XLA_FFI_ExecutionStage_EXECUTE);
  if (!done.ok()) return Completion(Explain(done.status()));
  if (done->IsReady()) return Completion(Explain(done->status()));
  auto [ended, promise] = backend::MakeCompletion();
  done->OnReady(
      [execution, target = signature_.target,
       promise = std::make_shared<backend::Promise>(std::move(promise))](const Status& status) {
        promise->Set(status.Annotated("the FFI handler '" + target + "'"));
      });
  return ended;
}

}  // namespace PJRT_PLUGIN_NS::plugin
