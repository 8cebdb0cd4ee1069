// Foreign functions for test_foreign_functions.py, which compiles them against the headers of the
// installed jaxlib.

#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace {

using Floats = ffi::Buffer<ffi::F32>;
using Integers = ffi::ResultBuffer<ffi::S64>;

ffi::Error Saxpy(float a, Floats x, Floats y, ffi::ResultBuffer<ffi::F32> out) {
  if (x.element_count() != y.element_count()) {
    return ffi::Error::InvalidArgument("x and y differ in size");
  }
  for (size_t i = 0; i < x.element_count(); ++i) {
    out->typed_data()[i] = a * x.typed_data()[i] + y.typed_data()[i];
  }
  return ffi::Error::Success();
}

// What it was called with, as numbers.
ffi::Error Attributes(int32_t i32, int64_t i64, uint8_t u8, float f32, double f64, bool yes,
                      std::string_view text, ffi::Span<const int32_t> list,
                      ffi::Span<const float> floats, ffi::Dictionary inner, Integers out) {
  const ffi::ErrorOr<int64_t> nested = inner.get<int64_t>("a");
  const ffi::ErrorOr<std::string_view> name = inner.get<std::string_view>("b");
  if (nested.has_error() || name.has_error()) return ffi::Error::InvalidArgument("inner");
  int64_t sum = 0;
  for (int32_t one : list) sum += one;
  const int64_t seen[] = {i32,
                          i64,
                          u8,
                          int64_t(f32 * 2),
                          int64_t(f64 * 4),
                          yes,
                          int64_t(text.size()),
                          int64_t(list.size()),
                          sum,
                          int64_t(floats.size()),
                          *nested,
                          int64_t(name->size())};
  if (out->element_count() != sizeof(seen) / sizeof(seen[0])) {
    return ffi::Error::InvalidArgument("wrong size");
  }
  std::memcpy(out->typed_data(), seen, sizeof(seen));
  return ffi::Error::Success();
}

ffi::Error Fail(std::string_view message, ffi::Result<ffi::AnyBuffer>) {
  return ffi::Error(ffi::ErrorCode::kFailedPrecondition, std::string(message));
}

ffi::Error Throw(ffi::Result<ffi::AnyBuffer>) { throw std::runtime_error("thrown on purpose"); }

// Writes one element of the result, and relies on the others being the argument's.
ffi::Error BumpFirst(Floats x, ffi::ResultBuffer<ffi::F32> out) {
  if (x.typed_data() != out->typed_data()) return ffi::Error::Internal("not the same memory");
  out->typed_data()[0] += 100;
  return ffi::Error::Success();
}

// The elements as they lie in memory.
ffi::Error InMemoryOrder(Floats x, ffi::ResultBuffer<ffi::F32> out) {
  std::memcpy(out->typed_data(), x.typed_data(), x.size_bytes());
  return ffi::Error::Success();
}

struct Counter {
  static ffi::TypeId id;
  int64_t start;
};
ffi::TypeId Counter::id = {};
ffi::TypeInfo counter_info = ffi::MakeTypeInfo<Counter>();

ffi::ErrorOr<std::unique_ptr<Counter>> MakeCounter(int64_t start) {
  if (start < 0) return ffi::Unexpected(ffi::Error::InvalidArgument("start is negative"));
  return std::make_unique<Counter>(Counter{start});
}

ffi::Error Count(Counter* counter, Integers out) {
  out->typed_data()[0] = counter->start + 1;
  return ffi::Error::Success();
}

// Ends on a thread of its own.
ffi::Future Later(Floats x, ffi::ResultBuffer<ffi::F32> out, bool fail) {
  ffi::Promise promise;
  ffi::Future future(promise);
  std::thread([=, to = out->typed_data(), promise = std::move(promise)]() mutable {
    for (size_t i = 0; i < x.element_count(); ++i) to[i] = -x.typed_data()[i];
    if (fail) {
      promise.SetError(ffi::Error::Internal("failed later"));
    } else {
      promise.SetAvailable();
    }
  }).detach();
  return future;
}

// Scratch memory, a task, and the place where it runs.
ffi::Error Context(ffi::ScratchAllocator scratch, ffi::ThreadPool pool, int32_t device,
                   Integers out) {
  const auto memory = scratch.Allocate(1000, 16);
  if (!memory.has_value()) return ffi::Error::Internal("no memory");
  std::memset(*memory, 7, 1000);
  out->typed_data()[0] = static_cast<unsigned char*>(*memory)[999];
  out->typed_data()[1] = pool.num_threads() >= 1;
  out->typed_data()[2] = device;
  return ffi::Error::Success();
}

}  // namespace

XLA_FFI_DEFINE_HANDLER_SYMBOL(
    SaxpyHandler, Saxpy,
    ffi::Ffi::Bind().Attr<float>("a").Arg<Floats>().Arg<Floats>().Ret<Floats>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(AttributesHandler, Attributes,
                              ffi::Ffi::Bind()
                                  .Attr<int32_t>("i32")
                                  .Attr<int64_t>("i64")
                                  .Attr<uint8_t>("u8")
                                  .Attr<float>("f32")
                                  .Attr<double>("f64")
                                  .Attr<bool>("yes")
                                  .Attr<std::string_view>("text")
                                  .Attr<ffi::Span<const int32_t>>("list")
                                  .Attr<ffi::Span<const float>>("floats")
                                  .Attr<ffi::Dictionary>("inner")
                                  .Ret<ffi::Buffer<ffi::S64>>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    FailHandler, Fail, ffi::Ffi::Bind().Attr<std::string_view>("message").Ret<ffi::AnyBuffer>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(ThrowHandler, Throw, ffi::Ffi::Bind().Ret<ffi::AnyBuffer>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(BumpFirstHandler, BumpFirst,
                              ffi::Ffi::Bind().Arg<Floats>().Ret<Floats>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(InMemoryOrderHandler, InMemoryOrder,
                              ffi::Ffi::Bind().Arg<Floats>().Ret<Floats>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(MakeCounterHandler, MakeCounter,
                              ffi::Ffi::BindInstantiate().Attr<int64_t>("start"));
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    CountHandler, Count, ffi::Ffi::Bind().Ctx<ffi::State<Counter>>().Ret<ffi::Buffer<ffi::S64>>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(LaterHandler, Later,
                              ffi::Ffi::Bind().Arg<Floats>().Ret<Floats>().Attr<bool>("fail"));
XLA_FFI_DEFINE_HANDLER_SYMBOL(ContextHandler, Context,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ScratchAllocator>()
                                  .Ctx<ffi::ThreadPool>()
                                  .Ctx<ffi::DeviceOrdinal>()
                                  .Ret<ffi::Buffer<ffi::S64>>());

extern "C" void* CounterTypeId() { return &Counter::id; }
extern "C" void* CounterTypeInfo() { return &counter_info; }
