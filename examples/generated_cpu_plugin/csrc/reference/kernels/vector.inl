// Vectors of kVectorBytes by the compilers' extension, for the loops whose register use is written
// by hand.

template <typename T>
struct VectorOf;
#define PJRT_KERNEL_VECTOR(type)                                                       \
  template <>                                                                          \
  struct VectorOf<type> {                                                              \
    typedef type Type __attribute__((vector_size(kVectorBytes)));                      \
    typedef type Unaligned                                                             \
        __attribute__((vector_size(kVectorBytes), aligned(alignof(type)), may_alias)); \
  };
PJRT_KERNEL_VECTOR(float)
PJRT_KERNEL_VECTOR(double)
PJRT_KERNEL_VECTOR(uint8_t)
PJRT_KERNEL_VECTOR(uint16_t)
PJRT_KERNEL_VECTOR(uint32_t)
PJRT_KERNEL_VECTOR(uint64_t)
PJRT_KERNEL_VECTOR(int8_t)
PJRT_KERNEL_VECTOR(int16_t)
PJRT_KERNEL_VECTOR(int32_t)
PJRT_KERNEL_VECTOR(int64_t)
#undef PJRT_KERNEL_VECTOR

template <typename T>
using Vector = typename VectorOf<T>::Type;
template <typename T>
inline constexpr int kLanes = kVectorBytes / int(sizeof(T));

template <typename T>
PJRT_KERNEL_INLINE Vector<T> Load(const T* p) {
  return *reinterpret_cast<const typename VectorOf<T>::Unaligned*>(p);
}
template <typename T>
PJRT_KERNEL_INLINE void Store(T* p, Vector<T> v) {
  *reinterpret_cast<typename VectorOf<T>::Unaligned*>(p) = v;
}
template <typename T>
PJRT_KERNEL_INLINE Vector<T> Splat(T x) {
  return x - Vector<T>{};
}
