#ifndef REFERENCE_FFT_H_
#define REFERENCE_FFT_H_

// Fft: the discrete Fourier transform of one length, with all of its factors and twiddles made
// beforehand. Several transforms are done at once, as lanes.
//
//   Fft<float> fft(360);
//   std::vector<float> data(2 * 360 * 8), other(fft.scratch_elements(8));
//   auto [re, im] = fft.Run({data.data(), data.data() + 360 * 8}, 8, other.data());
//
// Lengths whose prime factors are at most 31 are done in passes of these; all others by Bluestein's
// convolution.

#include <cstdint>
#include <memory>
#include <vector>

#include "generated/config.h"

namespace PJRT_PLUGIN_NS::reference {

template <typename T>
class Fft {
 public:
  // Element j of lane l is re[j * lanes + l] + i im[j * lanes + l].
  struct Lanes {
    T* re;
    T* im;
  };

  explicit Fft(int64_t n);

  int64_t size() const { return n_; }
  static bool NeedsConvolution(int64_t n);
  // Of T, for Run.
  int64_t scratch_elements(int64_t lanes) const;

  // The forward transform, not scaled. `data` is written over; the result lies there or in
  // `scratch`, as returned. The inverse is the same with re and im exchanged, before and after.
  Lanes Run(Lanes data, int64_t lanes, T* scratch) const;

 private:
  // One pass: n = radix * m at its time, after passes whose radices' product is `stride`.
  struct Pass {
    int64_t radix, m, stride;
    std::vector<T> twiddles;  // exp(-2 pi i j p / n) for each p and each j from 1 on: pairs
    std::vector<T> roots;     // exp(-2 pi i j / radix) of radices without a formula: pairs
  };
  static void RunPass(const Pass& pass, Lanes in, Lanes out, int64_t lanes);
  static void Radix2(const Pass& pass, Lanes in, Lanes out, int64_t width);
  static void Radix3(const Pass& pass, Lanes in, Lanes out, int64_t width);
  static void Radix4(const Pass& pass, Lanes in, Lanes out, int64_t width);
  static void AnyRadix(const Pass& pass, Lanes in, Lanes out, int64_t width);
  Lanes Convolve(Lanes data, int64_t lanes, T* scratch) const;

  int64_t n_;
  std::vector<Pass> passes_;
  // Of Bluestein's convolution: its transform, exp(-pi i k k / n), the transform of the conjugate,
  // scaled.
  std::unique_ptr<const Fft> longer_;
  std::vector<T> chirp_, filter_;
};

extern template class Fft<float>;
extern template class Fft<double>;

}  // namespace PJRT_PLUGIN_NS::reference

#endif  // REFERENCE_FFT_H_
