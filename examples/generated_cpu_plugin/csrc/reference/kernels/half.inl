// f16 and bf16: stored in 16 bits, computed in f32.

struct Widen {
  template <typename T>
  static constexpr bool kVector = true;
  PJRT_KERNEL_INLINE static float Apply(BF16 x) { return BitCast<float>(uint32_t(x.bits) << 16); }
  PJRT_KERNEL_INLINE static float Apply(F16 x) {
    const uint32_t sign = uint32_t(x.bits & 0x8000u) << 16;
    const uint32_t magnitude = uint32_t(x.bits & 0x7fffu) << 13;
    // The product moves the exponent by the difference of the biases, and makes denormals normal.
    const uint32_t finite = BitCast<uint32_t>(BitCast<float>(magnitude) * 0x1p112f);
    const uint32_t bits = magnitude >= (0x7c00u << 13) ? magnitude | 0x7f800000u : finite;
    return BitCast<float>(bits | sign);
  }
};

// Rounds to nearest, ties to even; a NaN becomes the quiet one of its sign.
template <typename H>
struct Narrow;
template <>
struct Narrow<BF16> {
  template <typename T>
  static constexpr bool kVector = true;
  PJRT_KERNEL_INLINE static BF16 Apply(float x) {
    const uint32_t bits = BitCast<uint32_t>(x);
    const uint32_t rounded = bits + 0x7fffu + ((bits >> 16) & 1);
    const uint32_t nan = bits | 0x00400000u;
    return {uint16_t((x != x ? nan : rounded) >> 16)};
  }
};
template <>
struct Narrow<F16> {
  template <typename T>
  static constexpr bool kVector = true;
  PJRT_KERNEL_INLINE static F16 Apply(float x) {
    const uint32_t bits = BitCast<uint32_t>(x);
    const uint32_t magnitude = bits & 0x7fffffffu;
    const uint32_t normal = (magnitude + 0xfffu + ((magnitude >> 13) & 1) - (112u << 23)) >> 13;
    // Adding 0.5 puts the last bit of an f16 denormal at the last bit of the sum.
    const uint32_t denormal =
        BitCast<uint32_t>(BitCast<float>(magnitude) + 0.5f) - BitCast<uint32_t>(0.5f);
    uint32_t r = magnitude < (113u << 23) ? denormal : normal;
    r = magnitude >= (143u << 23) ? 0x7c00u
                                  : r;  // 2^16 and more; what rounds up to it is infinite already
    r = magnitude > 0x7f800000u ? 0x7e00u : r;
    return {uint16_t(r | ((bits >> 16) & 0x8000u))};
  }
};

// f64 to an f32 that any narrower rounding rounds as it would the f64: truncated, and the last bit
// set when something was cut off ("round to odd").
struct NarrowToOdd {
  template <typename T>
  static constexpr bool kVector = true;
  PJRT_KERNEL_INLINE static float Apply(double x) {
    const float f = float(x);
    const double back = f;
    const uint32_t bits = BitCast<uint32_t>(f);
    const bool grew = __builtin_fabs(back) > __builtin_fabs(x);
    const uint32_t odd = (bits - (grew ? 1u : 0u)) | 1u;
    return BitCast<float>(back == x || x != x ? bits : odd);
  }
};

// An operation of H through the f32 kernel, block by block on the stack.
template <typename H>
PJRT_KERNEL_NOINLINE void ThroughF32Blocks(ElementwiseFn kernel, int arity, bool to_half,
                                           const void* const* in, uint32_t scalars, void* out,
                                           int64_t n) {
  constexpr int64_t kBlock = 512;
  alignas(64) float wide[3][kBlock];
  alignas(64) float result[kBlock];
  const void* wide_in[3] = {wide[0], wide[1], wide[2]};
  for (int64_t at = 0; at < n; at += kBlock) {
    const int64_t count = n - at < kBlock ? n - at : kBlock;
    for (int j = 0; j < arity; ++j) {
      const bool scalar = (scalars >> j) & 1;
      if (scalar && at > 0) continue;
      const void* from = static_cast<const H*>(in[j]) + at;
      Map1<Widen, float, H>(&from, 0, wide[j], scalar ? 1 : count);
    }
    if (to_half) {
      kernel(wide_in, scalars, result, count);
      const void* from = result;
      Map1<Narrow<H>, H, float>(&from, 0, static_cast<H*>(out) + at, count);
    } else {
      kernel(wide_in, scalars, static_cast<Pred*>(out) + at, count);
    }
  }
}
template <ElementwiseFn kernel, typename H, int arity, bool to_half>
void ThroughF32(const void* const* in, uint32_t scalars, void* out, int64_t n) {
  ThroughF32Blocks<H>(kernel, arity, to_half, in, scalars, out, n);
}
