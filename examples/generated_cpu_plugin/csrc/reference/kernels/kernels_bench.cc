// kernels_bench [ISA] [PART OF A NAME]: the speed of the kernels, in GB/s of operands and results
// or in GFLOP/s.
//
// Not built by default: `cmake --build BUILD --target kernels_bench`. Each figure is the best of
// many short runs, so that other programs on the machine disturb it little.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "reference/kernels/kernel_table.h"

namespace PJRT_PLUGIN_NS::reference::kernels {
namespace {

using backend::DTypeBytes;

constexpr int64_t kBlock = 2048;
constexpr DType kDTypes[] = {DType::kPred, DType::kU8,  DType::kS32, DType::kU32, DType::kS64,
                             DType::kBF16, DType::kF16, DType::kF32, DType::kF64, DType::kC64};

const char* filter = "";

// Seconds of one call, the least of 15 measurements of about 200 microseconds.
double Time(const std::function<void()>& call) {
  using Clock = std::chrono::steady_clock;
  const auto run = [&](int64_t times) {
    const auto start = Clock::now();
    for (int64_t i = 0; i < times; ++i) call();
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  const int64_t times = std::clamp<int64_t>(int64_t(2e-4 / std::max(run(1), 1e-9)), 1, 100000);
  double best = run(times);
  for (int i = 0; i < 14; ++i) best = std::min(best, run(times));
  return best / double(times);
}

void Report(const std::string& name, double amount, const char* unit,
            const std::function<void()>& call) {
  if (name.find(filter) == std::string::npos) return;
  const double seconds = Time(call);
  std::printf("%-44s %9.2f %s  %10.3f us\n", name.c_str(), amount / seconds * 1e-9, unit,
              seconds * 1e6);
}

std::vector<unsigned char> Operand(DType t) {
  std::vector<unsigned char> bytes(size_t(kBlock) * 16);
  for (int64_t i = 0; i < kBlock; ++i) {
    // Between 0.5 and 2.5, where every function is at work.
    const float f = 0.5f + float(i % 256) / 128;
    const double d = f;
    unsigned char* at = &bytes[size_t(i) * DTypeBytes(t)];
    uint32_t bits;
    std::memcpy(&bits, &f, 4);
    const uint16_t half = t == DType::kBF16 ? uint16_t(bits >> 16) : uint16_t(0x3800 + i % 1024);
    if (t == DType::kF64) std::memcpy(at, &d, 8);
    if (t == DType::kF32 || t == DType::kC64) std::memcpy(at, &f, 4);
    if (t == DType::kBF16 || t == DType::kF16) std::memcpy(at, &half, 2);
    if (backend::IsInt(t) || t == DType::kPred) at[0] = t == DType::kPred ? i & 1 : 1 + i % 7;
  }
  return bytes;
}

void Elementwise() {
  const std::vector<unsigned char> pred = Operand(DType::kPred);
  std::vector<unsigned char> out(size_t(kBlock) * 16);
  for (DType t : kDTypes) {
    const std::vector<unsigned char> x = Operand(t), y = Operand(t);
#define PJRT_PLUGIN_KERNEL(name, arity, dtypes)                                 \
  if (const ElementwiseFn kernel = Kernels().Find(ElementwiseOp::k##name, t)) { \
    const bool select = ElementwiseOp::k##name == ElementwiseOp::kSelect;       \
    const void* in[3] = {select ? pred.data() : x.data(), y.data(), y.data()};  \
    Report(#name " " + std::string(DTypeName(t)),                               \
           double(kBlock) * double(arity + 1) * double(DTypeBytes(t)), "GB/s",  \
           [&] { kernel(in, 0, out.data(), kBlock); });                         \
  }
#include "reference/kernels/elementwise.inc"
#undef PJRT_PLUGIN_KERNEL
    for (DType to : kDTypes) {
      const ElementwiseFn convert = Kernels().Convert(t, to);
      const void* in[1] = {x.data()};
      Report("convert " + std::string(DTypeName(t)) + " to " + std::string(DTypeName(to)),
             double(kBlock) * double(DTypeBytes(t) + DTypeBytes(to)), "GB/s",
             [&] { convert(in, 0, out.data(), kBlock); });
    }
  }
}

void Reductions() {
  constexpr const char* kNames[] = {"add", "multiply", "maximum", "minimum", "and", "or", "xor"};
  std::vector<unsigned char> in(size_t(256) * 2048 * 8);
  std::vector<unsigned char> out(2048 * 16);
  for (size_t op = 0; op < kNumReduceOps; ++op)
    for (DType t : {DType::kU8, DType::kS32, DType::kBF16, DType::kF32, DType::kF64}) {
      const double bytes = 256.0 * 2048 * double(DTypeBytes(t));
      const std::string name = std::string(kNames[op]) + " " + std::string(DTypeName(t));
      if (const ReduceFn reduce = Kernels().ReduceInner(ReduceOp(op), t))
        Report("reduce rows by " + name, bytes, "GB/s",
               [&] { reduce(in.data(), 256, 2048, 2048, out.data()); });
      if (const ReduceFn reduce = Kernels().ReduceOuter(ReduceOp(op), t))
        Report("reduce columns by " + name, bytes, "GB/s",
               [&] { reduce(in.data(), 256, 2048, 2048, out.data()); });
    }
}

void Products() {
  struct Size {
    int64_t m, n, k;
  };
  for (DType t : {DType::kF32, DType::kF64, DType::kBF16, DType::kS32, DType::kC64})
    for (auto [m, n, k] :
         {Size{8, 8, 8}, Size{32, 32, 32}, Size{128, 128, 128}, Size{512, 512, 512},
          Size{1, 1024, 1024}, Size{1024, 1, 1024}, Size{128, 512, 784}, Size{128, 10, 512}})
      for (bool transposed : {false, true}) {
        const std::vector<unsigned char> a(size_t(m * k) * DTypeBytes(t)),
            b(size_t(k * n) * DTypeBytes(t));
        std::vector<unsigned char> c(size_t(m * n) * DTypeBytes(AccumulatorType(t)));
        const GemmArgs g{.m = m,
                         .n = n,
                         .k = k,
                         .a = a.data(),
                         .a_row = k,
                         .a_col = 1,
                         .b = b.data(),
                         .b_row = transposed ? 1 : n,
                         .b_col = transposed ? k : 1,
                         .c = c.data(),
                         .c_row = n};
        const size_t bytes = Kernels().gemm_scratch_bytes(t, m, n, k);
        const std::unique_ptr<void, decltype(&std::free)> scratch(
            std::aligned_alloc(64, (bytes + 127) / 64 * 64), &std::free);
        Report("gemm " + std::string(DTypeName(t)) + " " + std::to_string(m) + "x" +
                   std::to_string(n) + "x" + std::to_string(k) + (transposed ? " transposed" : ""),
               2.0 * double(m) * double(n) * double(k), "GFLOP/s",
               [&] { Kernels().gemm[size_t(t)](g, scratch.get()); });
      }
}

void Movement() {
  const int64_t n = 1024;
  std::vector<unsigned char> in(size_t(n * n) * 16), out(size_t(n * n) * 16);
  const int64_t dims[] = {n, n};
  for (int64_t size : {1, 2, 4, 8, 16})
    for (bool transpose : {false, true}) {
      const int64_t rows[] = {n * size, size}, columns[] = {size, n * size};
      const CopyArgs args{.rank = 2,
                          .dims = dims,
                          .in = in.data(),
                          .in_strides = transpose ? columns : rows,
                          .out = out.data(),
                          .out_strides = rows};
      Report((transpose ? "transpose 1024x1024 of " : "copy 1024x1024 of ") + std::to_string(size) +
                 " bytes",
             2.0 * double(n * n * size), "GB/s",
             [&] { Kernels().copy[SizeIndex(size_t(size))](args); });
    }
}

}  // namespace
}  // namespace PJRT_PLUGIN_NS::reference::kernels

int main(int argc, char** argv) {
  namespace kernels = PJRT_PLUGIN_NS::reference::kernels;
  if (argc > 2) kernels::filter = argv[2];
  const auto status = kernels::SelectIsa(argc > 1 ? argv[1] : "");
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
    return 2;
  }
  std::printf("instruction set: %s\n", std::string(kernels::ActiveIsa()).c_str());
  kernels::Elementwise();
  kernels::Reductions();
  kernels::Products();
  kernels::Movement();
}
