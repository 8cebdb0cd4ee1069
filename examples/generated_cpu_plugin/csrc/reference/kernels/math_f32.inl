// Transcendental functions of f32 without branches, so that they vectorise: within 2 units in the
// last place of the true value over the whole range, with IEEE results for NaN, infinities, zeros
// of both signs and denormals. The polynomials are minimax fits made for this file; the interval
// and the error stand beside each.

namespace math {

PJRT_KERNEL_INLINE float Select(bool c, float a, float b) { return c ? a : b; }

inline constexpr float kInf = __builtin_inff();
inline constexpr float kNaN = __builtin_nanf("");

// x to the nearest integer, for |x| < 2^22: adding 1.5 * 2^23 leaves no bits for a fraction.
inline constexpr float kRoundMagic = 12582912.0f;

// 2^n for -126 <= n <= 127.
PJRT_KERNEL_INLINE float Exp2Int(int32_t n) { return BitCast<float>((n + 127) << 23); }

struct ExpReduced {
  int32_t n;
  float r;
};
// x = n ln 2 + r with |r| <= 0.35, for |x| < 2^20; ln 2 in two parts, the first with 15 significant
// bits.
PJRT_KERNEL_INLINE ExpReduced ReduceExp(float x) {
  const float shifted = x * 1.44269504f + kRoundMagic;
  const float n = shifted - kRoundMagic;
  float r = x - n * 0.693145752f;
  r = r - n * 1.42860677e-6f;
  return {BitCast<int32_t>(shifted) - BitCast<int32_t>(kRoundMagic), r};
}
// exp(r) - 1 - r, |r| <= 0.35; relative to exp: 2^-28.
PJRT_KERNEL_INLINE float ExpTail(float r) {
  float p = 1.3951717e-3f;
  p = p * r + 8.369599e-3f;
  p = p * r + 4.1666187e-2f;
  p = p * r + 1.6666512e-1f;
  p = p * r + 0.5f;
  return p * r * r;
}

PJRT_KERNEL_INLINE float Exp(float x) {
  x = Select(x > 89.0f, 89.0f, x);      // overflows
  x = Select(x < -104.0f, -104.0f, x);  // rounds to zero
  const ExpReduced e = ReduceExp(x);
  const float p = 1.0f + (e.r + ExpTail(e.r));
  const int32_t half =
      e.n >> 1;  // in two steps: 2^n may be beyond the range while the result is not
  return p * Exp2Int(half) * Exp2Int(e.n - half);
}

PJRT_KERNEL_INLINE float Expm1(float x) {
  const float x0 = x;
  x = Select(x > 89.0f, 89.0f, x);
  x = Select(x < -18.0f, -18.0f, x);  // -1 by then
  const ExpReduced e = ReduceExp(x);
  const float q = e.r + ExpTail(e.r);
  const float s = Exp2Int(e.n - 1);  // half of 2^n, which may be 2^128
  const float y = 2.0f * (s * q + (s - 0.5f));
  return Select(x0 == 0.0f, x0, y);
}

// On the negative side by exp(x), which is exact down to the denormals where exp(-x) overflows.
PJRT_KERNEL_INLINE float Logistic(float x) {
  const float e = Exp(-__builtin_fabsf(x));
  return Select(x < 0.0f, e, 1.0f) / (1.0f + e);
}

PJRT_KERNEL_INLINE float Tanh(float x) {
  const float a = __builtin_fabsf(x);
  const float t = Expm1(2.0f * Select(a > 10.0f, 10.0f, a));  // 1 beyond
  return __builtin_copysignf(t / (t + 2.0f), x);
}

// log(m 2^e) for finite m > 0: m is brought to [sqrt(1/2), sqrt(2)).
PJRT_KERNEL_INLINE float LogFinite(float x) {
  const bool tiny = x < 1.17549435e-38f;
  const uint32_t bits = BitCast<uint32_t>(Select(tiny, x * 8388608.0f, x)) - 0x3f3504f3u;
  const float e = float(int32_t(bits) >> 23) - Select(tiny, 23.0f, 0.0f);
  const float f = BitCast<float>((bits & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
  // log(1 + f) = f - f^2 / 2 + f^3 p(f); relative to log(1 + f): 2^-27
  float p = -7.8729086e-2f;
  p = p * f + 1.2900162e-1f;
  p = p * f - 1.313222e-1f;
  p = p * f + 1.4178824e-1f;
  p = p * f - 1.6623999e-1f;
  p = p * f + 2.0002374e-1f;
  p = p * f - 2.5000826e-1f;
  p = p * f + 3.3333316e-1f;
  const float f2 = f * f;
  const float tail = p * f * f2 + e * 1.42860677e-6f;
  return (tail - 0.5f * f2) + f + e * 0.693145752f;
}
// What log is outside of (0, inf).
PJRT_KERNEL_INLINE float LogEdges(float x, float y) {
  y = Select(x < kInf, y, x);  // inf and NaN
  y = Select(x == 0.0f, -kInf, y);
  return Select(x < 0.0f, kNaN, y);
}
PJRT_KERNEL_INLINE float Log(float x) { return LogEdges(x, LogFinite(x)); }

PJRT_KERNEL_INLINE float Log1p(float x) {
  const float u = 1.0f + x;
  // What rounding 1 + x lost, as a fraction of u.
  const float lost = x < 1.0f ? x - (u - 1.0f) : 1.0f - (u - x);
  const float y = LogFinite(u) + lost / u;
  return Select(__builtin_fabsf(x) < 1e-7f, x, LogEdges(u, y));
}

// ---- Trigonometry ----

// Up to here the reduction below is exact enough; beyond, and only there, libm does the work.
inline constexpr float kTrigLimit = 1.0e6f;

struct TrigReduced {
  int32_t quadrant;
  float r;  // |r| <= pi / 4
};
// x = quadrant * pi/2 + r. In f64: the first part of pi/2 has 33 bits, so that its product with the
// quadrant is exact.
PJRT_KERNEL_INLINE TrigReduced ReduceTrig(float x) {
  constexpr double kMagic = 6755399441055744.0;  // 1.5 * 2^52
  const double d = x;
  const double shifted = d * 0.6366197723675814 + kMagic;
  const double n = shifted - kMagic;
  const double r = (d - n * 1.57079632673412561417e+00) - n * 6.07710050650619224932e-11;
  return {int32_t(BitCast<int64_t>(shifted)), float(r)};
}
PJRT_KERNEL_INLINE float SinPoly(float r) {  // relative 2^-37
  const float z = r * r;
  float p = 2.7182373e-6f;
  p = p * z - 1.9839327e-4f;
  p = p * z + 8.333329e-3f;
  p = p * z - 1.6666667e-1f;
  return p * z * r + r;
}
PJRT_KERNEL_INLINE float CosPoly(float r) {  // 2^-33
  const float z = r * r;
  float p = 2.443773e-5f;
  p = p * z - 1.3887362e-3f;
  p = p * z + 4.1666646e-2f;
  return 1.0f + z * (p * z - 0.5f);
}
// The sine of the angle in quadrant `q` (a cosine is the sine one quadrant on).
PJRT_KERNEL_INLINE float SinQuadrant(int32_t q, float r) {
  const float v = (q & 1) != 0 ? CosPoly(r) : SinPoly(r);
  return BitCast<float>(BitCast<uint32_t>(v) ^ (uint32_t(q & 2) << 30));
}
PJRT_KERNEL_INLINE float Sin(float x) {
  const TrigReduced t = ReduceTrig(x);
  return SinQuadrant(t.quadrant, t.r);
}
PJRT_KERNEL_INLINE float Cos(float x) {
  const TrigReduced t = ReduceTrig(x);
  return SinQuadrant(t.quadrant + 1, t.r);
}
PJRT_KERNEL_INLINE float Tan(float x) {
  const TrigReduced t = ReduceTrig(x);
  const float s = SinPoly(t.r), c = CosPoly(t.r);
  const bool odd = (t.quadrant & 1) != 0;
  return Select(odd, -c, s) / Select(odd, s, c);
}

PJRT_KERNEL_INLINE float Atan2(float y, float x) {
  const float ay = __builtin_fabsf(y), ax = __builtin_fabsf(x);
  const bool steep = ay > ax;
  const float small = Select(steep, ax, ay), large = Select(steep, ay, ax);
  float q = small / large;
  q = Select(small == large, 1.0f, q);  // both infinite
  q = Select(large == 0.0f, 0.0f, q);
  // atan(q) = q + q^3 p(q^2) on [0, 1]; 2^-28
  const float z = q * q;
  float p = -1.8271892e-3f;
  p = p * z + 1.106433e-2f;
  p = p * z - 3.1455487e-2f;
  p = p * z + 5.8234323e-2f;
  p = p * z - 8.419445e-2f;
  p = p * z + 1.0957571e-1f;
  p = p * z - 1.4265244e-1f;
  p = p * z + 1.9998638e-1f;
  p = p * z - 3.3333302e-1f;
  float t = p * z * q + q;
  t = Select(steep, 1.57079637f - t, t);
  t = Select(BitCast<int32_t>(x) < 0, 3.14159274f - t, t);
  t = Select((x != x) | (y != y), kNaN, t);
  return __builtin_copysignf(t, y);
}

// ---- Powers, in f64 inside: the logarithm must carry 8 bits more than the result ----

PJRT_KERNEL_INLINE float Pow(float x, float y) {
  const float ax = __builtin_fabsf(x);
  const bool tiny = ax < 1.17549435e-38f;
  const uint32_t bits = BitCast<uint32_t>(Select(tiny, ax * 8388608.0f, ax)) - 0x3f3504f3u;
  const double e = double((int32_t(bits) >> 23) - (tiny ? 23 : 0));
  const double m = BitCast<float>((bits & 0x007fffffu) + 0x3f3504f3u);
  // log2(m) = s p(s^2), s = (m - 1) / (m + 1); 2^-43
  const double s = (m - 1.0) / (m + 1.0), z = s * s;
  double p = 0.2833435641846817;
  p = p * z + 0.3198759521632831;
  p = p * z + 0.41220994262476535;
  p = p * z + 0.5770779359226936;
  p = p * z + 0.9617966941339877;
  p = p * z + 2.8853900817778397;
  double t = (e + s * p) * double(y);
  t = t > 200.0 ? 200.0 : t;
  t = t < -200.0 ? -200.0 : t;
  constexpr double kMagic = 6755399441055744.0;
  const double shifted = t + kMagic;
  const double r = t - (shifted - kMagic);
  // 2^r on [-1/2, 1/2]; 2^-34
  double q = 1.5317751815976562e-05;
  q = q * r + 0.00015471064743805438;
  q = q * r + 0.0013333417106565957;
  q = q * r + 0.009618021396518671;
  q = q * r + 0.055504109828978666;
  q = q * r + 0.24022651245458343;
  q = q * r + 0.6931471805329462;
  q = q * r + 0.9999999999561967;
  const int64_t n = BitCast<int64_t>(shifted) - BitCast<int64_t>(kMagic);
  float w = float(q * BitCast<double>((n + 1023) << 52));
  // Zero and infinite bases, infinite exponents.
  const float ay = __builtin_fabsf(y);
  const bool up = (ax > 1.0f) == (y > 0.0f);
  w = Select((ax == 0.0f) | (ax == kInf) | (ay == kInf), Select(up, kInf, 0.0f), w);
  // The sign, and negative bases with a fractional exponent.
  const double yd = y, half = 0.5 * yd;
  const bool whole = (yd + kMagic) - kMagic == yd;
  const bool odd = whole & ((half + kMagic) - kMagic != half);
  w = Select(odd, __builtin_copysignf(w, x), w);
  w = Select((x < 0.0f) & (ax != kInf) & !whole, kNaN, w);
  w = Select((x != x) | (y != y), kNaN, w);
  return Select((y == 0.0f) | (x == 1.0f) | ((x == -1.0f) & (ay == kInf)), 1.0f, w);
}

PJRT_KERNEL_INLINE float Cbrt(float x) {
  const float ax = __builtin_fabsf(x);
  const bool tiny = ax < 1.17549435e-38f;
  const float scaled = Select(tiny, ax * 16777216.0f, ax);
  const double a = scaled;
  // A third of the exponent, then two steps of Halley's iteration: 5, 16, 48 bits.
  double t = BitCast<float>(BitCast<uint32_t>(scaled) / 3 + 709921077u);
  for (int i = 0; i < 2; ++i) {
    const double t3 = t * t * t;
    t = t * (t3 + a + a) / (t3 + t3 + a);
  }
  float y = float(t);
  y = Select(tiny, y * 0.00390625f, y);
  y = Select(ax < kInf && ax > 0.0f, y, ax);
  return __builtin_copysignf(y, x);
}

}  // namespace math
