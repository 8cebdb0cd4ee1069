// fft: one dimension after the other, lines of it side by side as lanes.

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <tuple>
#include <utility>
#include <vector>

#include "program/op_table.h"
#include "reference/fft.h"
#include "reference/lowerings.h"

namespace PJRT_PLUGIN_NS::reference {
namespace {

using program::FftType;

constexpr int64_t kFftLanes = 8;
constexpr int64_t kFftCacheBytes = int64_t{1} << 18;  // for the lanes of one block

// The transforms along one dimension of a dense array. `type` is what happens to this one: only the
// last dimension of a real transform has a real side.
struct FftLines {
  FftType type;
  int64_t n, inner, lines;  // inner: elements between two of a line

  bool inverse() const { return type == FftType::kIfft || type == FftType::kIrfft; }
  bool real() const { return type == FftType::kRfft || type == FftType::kIrfft; }
  int64_t half() const { return n / 2 + 1; }  // what is kept of a real transform
  // Real lines of even length are complex ones of half the length.
  bool folded() const { return real() && n % 2 == 0; }
};

// T is the type of the array, W that of the computation: wider where a convolution would lose too
// much.
template <typename T, typename W>
class LineTransform {
 public:
  explicit LineTransform(const FftLines& shape)
      : shape_(shape), fft_(shape.folded() ? shape.n / 2 : shape.n) {
    lanes_ = shape.lines >= kFftLanes / 2 &&
                     4 * kFftLanes * fft_.size() * int64_t(sizeof(W)) <= kFftCacheBytes
                 ? kFftLanes
                 : 1;
    if (shape.folded()) {
      for (int64_t k = 0; k <= fft_.size(); ++k) {
        const double angle = -2 * std::numbers::pi * double(k) / double(shape.n);
        roots_.push_back(W(std::cos(angle)));
        roots_.push_back(W(std::sin(angle)));
      }
    }
  }

  // For one worker.
  size_t scratch_bytes() const {
    return size_t(2 * fft_.size() * lanes_ + fft_.scratch_elements(lanes_)) * sizeof(W);
  }
  int64_t blocks() const { return (shape_.lines + lanes_ - 1) / lanes_; }

  void Block(const T* in, T* out, int64_t block, W* scratch) const {
    const int64_t first = block * lanes_, count = std::min(lanes_, shape_.lines - first);
    const int64_t size = fft_.size() * lanes_;
    Lanes data{scratch, scratch + size};
    // A lane too many does again what the first one does.
    int64_t from[kFftLanes], to[kFftLanes];
    for (int64_t l = 0; l < lanes_; ++l) {
      const int64_t line = first + (l < count ? l : 0);
      const int64_t outer = line / shape_.inner, inside = line % shape_.inner;
      const bool real_in = shape_.type == FftType::kRfft, real_out = shape_.type == FftType::kIrfft;
      from[l] = outer * (real_out ? shape_.half() : shape_.n) * shape_.inner + inside;
      to[l] = outer * (real_in ? shape_.half() : shape_.n) * shape_.inner + inside;
    }
    switch (shape_.type) {
      case FftType::kRfft:
        LoadReal(in, from, data);
        break;
      case FftType::kIrfft:
        LoadHalf(in, from, data);
        break;
      default:
        LoadComplex(in, from, data);
    }
    if (shape_.inverse()) std::swap(data.re, data.im);
    data = fft_.Run(data, lanes_, scratch + 2 * size);
    if (shape_.inverse()) std::swap(data.re, data.im);
    switch (shape_.type) {
      case FftType::kRfft:
        return StoreHalf(data, to, count, out);
      case FftType::kIrfft:
        return StoreReal(data, to, count, out);
      default:
        return StoreComplex(data, to, count, out);
    }
  }

 private:
  using Lanes = typename Fft<W>::Lanes;

  void LoadComplex(const T* in, const int64_t* from, Lanes data) const {
    for (int64_t j = 0; j < shape_.n; ++j)
      for (int64_t l = 0; l < lanes_; ++l) {
        const T* x = in + 2 * (from[l] + j * shape_.inner);
        data.re[j * lanes_ + l] = W(x[0]);
        data.im[j * lanes_ + l] = W(x[1]);
      }
  }
  void StoreComplex(Lanes data, const int64_t* to, int64_t count, T* out) const {
    const W scale = shape_.inverse() ? W(1) / W(shape_.n) : W(1);
    for (int64_t j = 0; j < shape_.n; ++j)
      for (int64_t l = 0; l < count; ++l) {
        T* x = out + 2 * (to[l] + j * shape_.inner);
        x[0] = T(data.re[j * lanes_ + l] * scale);
        x[1] = T(data.im[j * lanes_ + l] * scale);
      }
  }

  void LoadReal(const T* in, const int64_t* from, Lanes data) const {
    const bool folded = shape_.folded();
    for (int64_t j = 0; j < fft_.size(); ++j)
      for (int64_t l = 0; l < lanes_; ++l) {
        const T* x = in + from[l] + (folded ? 2 * j : j) * shape_.inner;
        data.re[j * lanes_ + l] = W(x[0]);
        data.im[j * lanes_ + l] = folded ? W(x[shape_.inner]) : W(0);
      }
  }
  void StoreReal(Lanes data, const int64_t* to, int64_t count, T* out) const {
    const bool folded = shape_.folded();
    const W scale = W(1) / W(shape_.n);
    for (int64_t j = 0; j < fft_.size(); ++j)
      for (int64_t l = 0; l < count; ++l) {
        T* x = out + to[l] + (folded ? 2 * j : j) * shape_.inner;
        x[0] = T(data.re[j * lanes_ + l] * scale);
        if (folded) x[shape_.inner] = T(data.im[j * lanes_ + l] * scale);
      }
  }

  // The first half of the transform of real numbers, out of which the other one follows. Of a
  // folded line, the transforms of the even and of the odd elements come apart first.
  void StoreHalf(Lanes data, const int64_t* to, int64_t count, T* out) const {
    const int64_t m = fft_.size();
    for (int64_t k = 0; k < shape_.half(); ++k)
      for (int64_t l = 0; l < count; ++l) {
        T* x = out + 2 * (to[l] + k * shape_.inner);
        if (!shape_.folded()) {
          x[0] = T(data.re[k * lanes_ + l]);
          x[1] = T(data.im[k * lanes_ + l]);
          continue;
        }
        const int64_t a = k % m * lanes_ + l, b = (m - k) % m * lanes_ + l;
        const W even_re = W(0.5) * (data.re[a] + data.re[b]);
        const W even_im = W(0.5) * (data.im[a] - data.im[b]);
        const W odd_re = W(0.5) * (data.im[a] + data.im[b]);
        const W odd_im = W(0.5) * (data.re[b] - data.re[a]);
        const W wr = roots_[size_t(2 * k)], wi = roots_[size_t(2 * k + 1)];
        x[0] = T(even_re + odd_re * wr - odd_im * wi);
        x[1] = T(even_im + odd_re * wi + odd_im * wr);
      }
  }
  // The way back. The first number, and in the middle of an even length the last, are real,
  // whatever is there.
  void LoadHalf(const T* in, const int64_t* from, Lanes data) const {
    const int64_t m = fft_.size(), n = shape_.n;
    for (int64_t k = 0; k < m; ++k)
      for (int64_t l = 0; l < lanes_; ++l) {
        auto at = [&](int64_t i, bool conjugate) {
          const T* x = in + 2 * (from[l] + i * shape_.inner);
          const W im = i == 0 || 2 * i == n ? W(0) : W(x[1]);
          return std::pair<W, W>(W(x[0]), conjugate ? -im : im);
        };
        W& re = data.re[k * lanes_ + l];
        W& im = data.im[k * lanes_ + l];
        if (!shape_.folded()) {
          std::tie(re, im) = k < shape_.half() ? at(k, false) : at(n - k, true);
          continue;
        }
        const auto [ar, ai] = at(k, false);
        const auto [br, bi] = at(m - k, true);
        const W wr = roots_[size_t(2 * k)], wi = -roots_[size_t(2 * k + 1)];
        const W dr = ar - br, di = ai - bi;
        re = ar + br - (dr * wi + di * wr);
        im = ai + bi + (dr * wr - di * wi);
      }
  }

  FftLines shape_;
  Fft<W> fft_;
  int64_t lanes_;
  std::vector<W> roots_;  // of a folded line: exp(-2 pi i k / n)
};

template <typename T, typename W>
void EmitLines(PlanBuilder& b, const Op& op, const FftLines& shape, Place in, Place out) {
  auto transform = std::make_shared<const LineTransform<T, W>>(shape);
  const int64_t blocks = transform->blocks();
  const int64_t workers = std::min<int64_t>(b.threads(), blocks);
  const size_t bytes = (transform->scratch_bytes() + 63) / 64 * 64;
  BufferId scratch = b.NewTemp(bytes * size_t(workers));
  Uses uses{.reads = {in.buffer}, .writes = {out.buffer, scratch}};
  b.Emit(op, std::move(uses), [=](const Frame& frame) {
    frame.pool->ParallelFor(workers, 1, [&](int64_t begin, int64_t end) {
      for (int64_t w = begin; w < end; ++w)
        for (int64_t i = blocks * w / workers; i < blocks * (w + 1) / workers; ++i)
          transform->Block(in.At<T>(frame), out.At<T>(frame), i,
                           reinterpret_cast<W*>(frame.At(scratch) + size_t(w) * bytes));
    });
    return Status();
  });
}

}  // namespace

Status LowerFft(PlanBuilder& b, const Op& op) {
  const FftType type = op.As<FftType>("fft_type");
  const Dims& lengths = op.IntList("fft_length");
  const Type& from = op.operand_type(0);
  const Type& to = op.type();
  if (to.num_elements() == 0) {
    b.NewResult(op.result());
    return Status();
  }
  PJRT_PLUGIN_ASSIGN_OR_RETURN(Place in, b.Dense(op.operands[0]));
  const Place out = b.NewResult(op.result());
  const bool wide = from.dtype == DType::kF64 || from.dtype == DType::kC128;
  const size_t rank = to.dims.size(), first = rank - lengths.size();
  const Dims& complex_dims = type == FftType::kIrfft ? from.dims : to.dims;

  auto emit = [&](size_t d, FftType one, Place source, Place target) {
    FftLines shape{one, lengths[d - first], 1, 1};
    const bool last_of_real = one == FftType::kRfft || one == FftType::kIrfft;
    for (size_t i = 0; i < rank; ++i) {
      if (i > d) shape.inner *= complex_dims[i];
      if (i != d) shape.lines *= complex_dims[i];
    }
    b.AddFlops(10.0 * double(shape.lines) * double(shape.n));
    if (wide) {
      EmitLines<double, double>(b, op, shape, source, target);
    } else if (Fft<float>::NeedsConvolution(last_of_real && shape.folded() ? shape.n / 2
                                                                           : shape.n)) {
      EmitLines<float, double>(b, op, shape, source, target);
    } else {
      EmitLines<float, float>(b, op, shape, source, target);
    }
  };
  const bool inverse = type == FftType::kIfft || type == FftType::kIrfft;
  const FftType plain = inverse ? FftType::kIfft : FftType::kFft;
  if (type == FftType::kIrfft) {
    // The real side comes last; what is made on the way has the operand's size.
    for (size_t d = first; d + 1 < rank; ++d) {
      const Place next = d == first ? Place{b.NewTemp(from.byte_size()), 0} : in;
      emit(d, plain, in, next);
      in = next;
    }
    emit(rank - 1, type, in, out);
    return Status();
  }
  emit(rank - 1, type, in, out);
  for (size_t d = rank - 1; d-- > first;) emit(d, plain, out, out);
  return Status();
}

}  // namespace PJRT_PLUGIN_NS::reference
