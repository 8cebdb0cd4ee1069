#include "reference/fft.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace PJRT_PLUGIN_NS::reference {
namespace {

constexpr int64_t kLargestRadix = 31;

// The radices of the passes; what is left when there are larger primes is the second.
std::pair<std::vector<int64_t>, int64_t> Factors(int64_t n) {
  std::vector<int64_t> factors;
  for (int64_t radix : {4, 2, 3, 5}) {
    for (; n % radix == 0; n /= radix) factors.push_back(radix);
  }
  for (int64_t radix = 7; radix <= kLargestRadix; radix += 2)
    for (; n % radix == 0; n /= radix) factors.push_back(radix);
  return {std::move(factors), n};
}

// The least length from n on that is made of 2, 3 and 5.
int64_t SmoothLength(int64_t n) {
  int64_t best = 1;
  while (best < n) best *= 2;
  for (int64_t fives = 1; fives < best; fives *= 5)
    for (int64_t threes = fives; threes < best; threes *= 3) {
      int64_t length = threes;
      while (length < n) length *= 2;
      best = std::min(best, length);
    }
  return best;
}

// Appends exp(-2 pi i k / n).
template <typename T>
void AddRoot(std::vector<T>& roots, int64_t k, int64_t n) {
  const double angle = -2 * std::numbers::pi * double(k % n) / double(n);
  roots.push_back(T(std::cos(angle)));
  roots.push_back(T(std::sin(angle)));
}

}  // namespace

template <typename T>
bool Fft<T>::NeedsConvolution(int64_t n) {
  return Factors(n).second != 1;
}

template <typename T>
Fft<T>::Fft(int64_t n) : n_(n) {
  auto [factors, rest] = Factors(n);
  if (rest != 1) {
    longer_ = std::make_unique<const Fft>(SmoothLength(2 * n - 1));
    const int64_t m = longer_->size();
    for (int64_t k = 0, square = 0; k < n; square = (square + 2 * k + 1) % (2 * n), ++k)
      AddRoot(chirp_, square, 2 * n);
    std::vector<T> filter(size_t(2 * m), T(0));
    for (int64_t k = 0; k < n; ++k) {
      for (int64_t at : {k, (m - k) % m}) {
        filter[size_t(at)] = chirp_[size_t(2 * k)];
        filter[size_t(m + at)] = -chirp_[size_t(2 * k + 1)];
      }
    }
    std::vector<T> scratch(size_t(longer_->scratch_elements(1)));
    const Lanes made = longer_->Run({filter.data(), filter.data() + m}, 1, scratch.data());
    for (int64_t k = 0; k < m; ++k) {
      filter_.push_back(made.re[k] / T(m));
      filter_.push_back(made.im[k] / T(m));
    }
    return;
  }
  int64_t stride = 1;
  for (int64_t radix : factors) {
    Pass pass{radix, n / radix, stride, {}, {}};
    for (int64_t p = 0; p < pass.m; ++p)
      for (int64_t j = 1; j < radix; ++j) AddRoot(pass.twiddles, j * p, n);
    if (radix > 4)
      for (int64_t j = 0; j < radix; ++j) AddRoot(pass.roots, j, radix);
    passes_.push_back(std::move(pass));
    n /= radix;
    stride *= radix;
  }
}

template <typename T>
int64_t Fft<T>::scratch_elements(int64_t lanes) const {
  if (longer_ != nullptr) return 2 * longer_->size() * lanes + longer_->scratch_elements(lanes);
  return 2 * n_ * lanes;
}

// Each pass reads `radix` rows m * width apart, and writes them turned and next to each other
// (Stockham's order, so that nothing is left to be sorted in the end).

template <typename T>
void Fft<T>::Radix2(const Pass& pass, Lanes in, Lanes out, int64_t width) {
  const int64_t step = pass.m * width;
  for (int64_t p = 0; p < pass.m; ++p) {
    const T wr = pass.twiddles[size_t(2 * p)], wi = pass.twiddles[size_t(2 * p + 1)];
    const T *ar = in.re + p * width, *ai = in.im + p * width;
    T* __restrict br = out.re + 2 * p * width, * __restrict bi = out.im + 2 * p * width;
    for (int64_t q = 0; q < width; ++q) {
      const T xr = ar[q] - ar[q + step], xi = ai[q] - ai[q + step];
      br[q] = ar[q] + ar[q + step];
      bi[q] = ai[q] + ai[q + step];
      br[q + width] = xr * wr - xi * wi;
      bi[q + width] = xr * wi + xi * wr;
    }
  }
}

template <typename T>
void Fft<T>::Radix3(const Pass& pass, Lanes in, Lanes out, int64_t width) {
  const int64_t step = pass.m * width;
  const T half = T(0.5), root = T(std::numbers::sqrt3 / 2);
  for (int64_t p = 0; p < pass.m; ++p) {
    const T* w = pass.twiddles.data() + 4 * p;
    const T w1r = w[0], w1i = w[1], w2r = w[2], w2i = w[3];
    const T *ar = in.re + p * width, *ai = in.im + p * width;
    T* __restrict br = out.re + 3 * p * width, * __restrict bi = out.im + 3 * p * width;
    for (int64_t q = 0; q < width; ++q) {
      const T sr = ar[q + step] + ar[q + 2 * step], si = ai[q + step] + ai[q + 2 * step];
      const T dr = root * (ar[q + step] - ar[q + 2 * step]);
      const T di = root * (ai[q + step] - ai[q + 2 * step]);
      const T mr = ar[q] - half * sr, mi = ai[q] - half * si;
      const T xr = mr + di, xi = mi - dr, yr = mr - di, yi = mi + dr;
      br[q] = ar[q] + sr;
      bi[q] = ai[q] + si;
      br[q + width] = xr * w1r - xi * w1i;
      bi[q + width] = xr * w1i + xi * w1r;
      br[q + 2 * width] = yr * w2r - yi * w2i;
      bi[q + 2 * width] = yr * w2i + yi * w2r;
    }
  }
}

template <typename T>
void Fft<T>::Radix4(const Pass& pass, Lanes in, Lanes out, int64_t width) {
  const int64_t step = pass.m * width;
  for (int64_t p = 0; p < pass.m; ++p) {
    const T* w = pass.twiddles.data() + 6 * p;
    const T w1r = w[0], w1i = w[1], w2r = w[2], w2i = w[3], w3r = w[4], w3i = w[5];
    const T *ar = in.re + p * width, *ai = in.im + p * width;
    T* __restrict br = out.re + 4 * p * width, * __restrict bi = out.im + 4 * p * width;
    for (int64_t q = 0; q < width; ++q) {
      const T s0r = ar[q] + ar[q + 2 * step], s0i = ai[q] + ai[q + 2 * step];
      const T d0r = ar[q] - ar[q + 2 * step], d0i = ai[q] - ai[q + 2 * step];
      const T s1r = ar[q + step] + ar[q + 3 * step], s1i = ai[q + step] + ai[q + 3 * step];
      const T d1r = ar[q + step] - ar[q + 3 * step], d1i = ai[q + step] - ai[q + 3 * step];
      const T xr = d0r + d1i, xi = d0i - d1r, zr = d0r - d1i, zi = d0i + d1r;
      const T yr = s0r - s1r, yi = s0i - s1i;
      br[q] = s0r + s1r;
      bi[q] = s0i + s1i;
      br[q + width] = xr * w1r - xi * w1i;
      bi[q + width] = xr * w1i + xi * w1r;
      br[q + 2 * width] = yr * w2r - yi * w2i;
      bi[q + 2 * width] = yr * w2i + yi * w2r;
      br[q + 3 * width] = zr * w3r - zi * w3i;
      bi[q + 3 * width] = zr * w3i + zi * w3r;
    }
  }
}

// The sums by their definition: for small primes.
template <typename T>
void Fft<T>::AnyRadix(const Pass& pass, Lanes in, Lanes out, int64_t width) {
  const int64_t step = pass.m * width, radix = pass.radix;
  for (int64_t p = 0; p < pass.m; ++p) {
    const T *ar = in.re + p * width, *ai = in.im + p * width;
    for (int64_t j = 0; j < radix; ++j) {
      T* __restrict br = out.re + (radix * p + j) * width;
      T* __restrict bi = out.im + (radix * p + j) * width;
      std::copy_n(ar, width, br);
      std::copy_n(ai, width, bi);
      for (int64_t k = 1; k < radix; ++k) {
        const T* root = pass.roots.data() + 2 * (j * k % radix);
        const T wr = root[0], wi = root[1];
        const T *xr = ar + k * step, *xi = ai + k * step;
        for (int64_t q = 0; q < width; ++q) {
          br[q] += xr[q] * wr - xi[q] * wi;
          bi[q] += xr[q] * wi + xi[q] * wr;
        }
      }
      if (j == 0) continue;
      const T* w = pass.twiddles.data() + 2 * (p * (radix - 1) + j - 1);
      const T wr = w[0], wi = w[1];
      for (int64_t q = 0; q < width; ++q) {
        const T re = br[q];
        br[q] = re * wr - bi[q] * wi;
        bi[q] = re * wi + bi[q] * wr;
      }
    }
  }
}

template <typename T>
void Fft<T>::RunPass(const Pass& pass, Lanes in, Lanes out, int64_t lanes) {
  const int64_t width = pass.stride * lanes;
  switch (pass.radix) {
    case 2:
      return Radix2(pass, in, out, width);
    case 3:
      return Radix3(pass, in, out, width);
    case 4:
      return Radix4(pass, in, out, width);
    default:
      return AnyRadix(pass, in, out, width);
  }
}

// Multiplies each row by its factor, into another place.
template <typename T>
void MultiplyRows(typename Fft<T>::Lanes in, const T* factors, int64_t rows, int64_t lanes,
                  typename Fft<T>::Lanes out) {
  for (int64_t k = 0; k < rows; ++k) {
    const T wr = factors[2 * k], wi = factors[2 * k + 1];
    for (int64_t i = k * lanes; i < (k + 1) * lanes; ++i) {
      const T re = in.re[i], im = in.im[i];
      out.re[i] = re * wr - im * wi;
      out.im[i] = re * wi + im * wr;
    }
  }
}

template <typename T>
typename Fft<T>::Lanes Fft<T>::Convolve(Lanes data, int64_t lanes, T* scratch) const {
  const int64_t m = longer_->size(), used = n_ * lanes, all = m * lanes;
  const Lanes padded{scratch, scratch + all};
  MultiplyRows<T>(data, chirp_.data(), n_, lanes, padded);
  std::fill(padded.re + used, padded.re + all, T(0));
  std::fill(padded.im + used, padded.im + all, T(0));
  const Lanes there = longer_->Run(padded, lanes, scratch + 2 * all);
  MultiplyRows<T>(there, filter_.data(), m, lanes, padded);
  const Lanes back = longer_->Run({padded.im, padded.re}, lanes, scratch + 2 * all);
  MultiplyRows<T>({back.im, back.re}, chirp_.data(), n_, lanes, data);
  return data;
}

template <typename T>
typename Fft<T>::Lanes Fft<T>::Run(Lanes data, int64_t lanes, T* scratch) const {
  if (longer_ != nullptr) return Convolve(data, lanes, scratch);
  Lanes other{scratch, scratch + n_ * lanes};
  for (const Pass& pass : passes_) {
    RunPass(pass, data, other, lanes);
    std::swap(data, other);
  }
  return data;
}

template class Fft<float>;
template class Fft<double>;

}  // namespace PJRT_PLUGIN_NS::reference
