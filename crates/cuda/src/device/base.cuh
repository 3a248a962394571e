// Element types, memory access, bits of floats. Compiles under NVRTC and, for the tests, under a host compiler.
typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;
struct f16 { u16 bits; };
template <class R> struct cx { R re, im; };
typedef cx<f32> c64;
typedef cx<f64> c128;

#define FN static __device__ __forceinline__
#define CALL static __device__ __noinline__

template <class R> FN cx<R> pair(R re, R im) { cx<R> z; z.re = re; z.im = im; return z; }
FN f16 half_of_bits(u32 bits) { f16 h; h.bits = (u16)bits; return h; }

#ifdef __CUDA_ARCH__
FN u32 bits_of(f32 a) { return __float_as_uint(a); }
FN u64 bits_of(f64 a) { return (u64)__double_as_longlong(a); }
FN f32 float_of(u32 b) { return __uint_as_float(b); }
FN f64 float_of(u64 b) { return __longlong_as_double((i64)b); }
FN f32 widen(f16 a) { f32 r; asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(a.bits)); return r; }
FN f16 narrow(f32 a) { f16 r; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r.bits) : "f"(a)); return r; }
FN f16 narrow(f64 a) { f16 r; asm("cvt.rn.f16.f64 %0, %1;" : "=h"(r.bits) : "d"(a)); return r; }
// Inside of functions products and sums may be one; to about 22 bits, for the functions that make more of it.
FN f32 fused(f32 a, f32 b, f32 c) { return __fmaf_rn(a, b, c); }
FN u64 high_product(u64 a, u64 b) { return __umul64hi(a, b); }
FN f32 about_inverse(f32 a) { f32 r; asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a)); return r; }
FN f32 about_inverse_root(f32 a) { f32 r; asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a)); return r; }
// Two faults of CUDA 13.0's assembler are gone round. It stores the low byte of a half just converted as the number
// made an 8-bit integer; and of a maximum of three it forgets that one was negated.
FN u8 byte_of(u32 a, int i) { u32 r; asm("prmt.b32 %0, %1, 0, %2;" : "=r"(r) : "r"(a), "r"(0x4440 + i)); return (u8)r; }
FN u32 negated(u32 a) { u32 r; asm("{ .reg .b32 t; not.b32 t, %1; add.u32 %0, t, 1; }" : "=r"(r) : "r"(a)); return r; }
#endif

// A bool is a byte in memory; any byte but zero is true.
template <class T> struct Memory { typedef T type; };
template <> struct Memory<bool> { typedef u8 type; };
template <class T> struct Element {
    FN T of(T m) { return m; }
};
template <> struct Element<bool> {
    FN bool of(u8 m) { return m != 0; }
};

template <int N> struct Words;
template <> struct Words<1> { typedef u8 type; };
template <> struct Words<2> { typedef u16 type; };
template <> struct Words<4> { typedef u32 type; };
template <> struct Words<8> { struct __align__(8) type { u32 a, b; }; };
template <> struct Words<16> { struct __align__(16) type { u32 a, b, c, d; }; };

template <class T> FN T load(const char* p) { return Element<T>::of(*(const typename Memory<T>::type*)p); }
template <class T> FN void store(char* p, T v) { *(typename Memory<T>::type*)p = (typename Memory<T>::type)v; }

// Addresses that are not multiples of the element's alignment.
template <class T> FN T load_bytes(const char* p) {
    typedef typename Memory<T>::type M;
    union { u8 b[sizeof(M)]; u64 w[2]; } u;
    for (int i = 0; i < (int)sizeof(M); i++) u.b[i] = ((const u8*)p)[i];
    M m = *(M*)&u;
    return Element<T>::of(m);
}
template <class T> FN void store_bytes(char* p, T v) {
    typedef typename Memory<T>::type M;
    union { M m; u32 w[4]; } u;
    u.w[0] = 0;
    u.m = (M)v;
    for (int i = 0; i < (int)sizeof(M); i++) ((u8*)p)[i] = byte_of(u.w[i / 4], i % 4);
}

// V elements in accesses of at most sixteen bytes.
template <class T, int V> struct Lanes {
    typedef typename Memory<T>::type M;
    enum { bytes = sizeof(M) * V, step = bytes > 16 ? 16 : bytes, words = bytes / step };
    typedef typename Words<step>::type W;
    W w[words];
    FN Lanes get(const char* p) {
        Lanes r;
        for (int i = 0; i < words; i++) r.w[i] = ((const W*)p)[i];
        return r;
    }
    FN void put(char* p, const Lanes& r) {
        for (int i = 0; i < words; i++) ((W*)p)[i] = r.w[i];
    }
    __device__ __forceinline__ T at(int i) const { return Element<T>::of(((const M*)w)[i]); }
    __device__ __forceinline__ void set(int i, T v) { ((M*)w)[i] = (M)v; }
};

template <class T> FN T argument(const u64* w) { return Element<T>::of(*(const typename Memory<T>::type*)w); }
