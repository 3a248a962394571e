// What templates over integers and floats need to know of their type.
template <class T> struct num;
#define NL_INT(T, U, W, S, BITS, LOW, HIGH) \
    template <> struct num<T> { \
        typedef U uns; typedef W wrap; \
        enum { is_signed = S, bits = BITS }; \
        FN T low() { return LOW; } \
        FN T high() { return HIGH; } \
    };
NL_INT(i8, u8, u32, 1, 8, -128, 127)
NL_INT(u8, u8, u32, 0, 8, 0, 255)
NL_INT(i16, u16, u32, 1, 16, -32768, 32767)
NL_INT(u16, u16, u32, 0, 16, 0, 65535)
NL_INT(i32, u32, u32, 1, 32, (-2147483647 - 1), 2147483647)
NL_INT(u32, u32, u32, 0, 32, 0, 4294967295u)
NL_INT(i64, u64, u64, 1, 64, (-9223372036854775807ll - 1), 9223372036854775807ll)
NL_INT(u64, u64, u64, 0, 64, 0, 18446744073709551615ull)

FN f32 nan_f32() { return float_of((u32)0x7fc00000u); }
FN f64 nan_f64() { return float_of((u64)0x7ff8000000000000ull); }
FN f32 inf_f32() { return float_of((u32)0x7f800000u); }
FN f64 inf_f64() { return float_of((u64)0x7ff0000000000000ull); }
template <> struct num<f32> {
    FN f32 nan() { return nan_f32(); }
    FN f32 inf() { return inf_f32(); }
    FN f32 tiniest() { return float_of((u32)1); }
};
template <> struct num<f64> {
    FN f64 nan() { return nan_f64(); }
    FN f64 inf() { return inf_f64(); }
    FN f64 tiniest() { return float_of((u64)1); }
};

FN bool is_nan(f32 a) { return (bits_of(a) & 0x7fffffffu) > 0x7f800000u; }
FN bool is_nan(f64 a) { return (bits_of(a) & 0x7fffffffffffffffull) > 0x7ff0000000000000ull; }
FN bool is_nan(f16 a) { return (a.bits & 0x7fff) > 0x7c00; }
FN bool is_inf(f32 a) { return (bits_of(a) & 0x7fffffffu) == 0x7f800000u; }
FN bool is_inf(f64 a) { return (bits_of(a) & 0x7fffffffffffffffull) == 0x7ff0000000000000ull; }
FN bool is_inf(f16 a) { return (a.bits & 0x7fff) == 0x7c00; }
FN bool is_finite(f32 a) { return (bits_of(a) & 0x7fffffffu) < 0x7f800000u; }
FN bool is_finite(f64 a) { return (bits_of(a) & 0x7fffffffffffffffull) < 0x7ff0000000000000ull; }
FN bool is_finite(f16 a) { return (a.bits & 0x7fff) < 0x7c00; }
FN bool is_negative(f32 a) { return bits_of(a) >> 31; }
FN bool is_negative(f64 a) { return bits_of(a) >> 63; }
FN bool is_negative(f16 a) { return a.bits >> 15; }
FN bool is_zero(f16 a) { return (a.bits & 0x7fff) == 0; }
FN f32 with_sign(f32 a, f32 b) { return float_of((bits_of(a) & 0x7fffffffu) | (bits_of(b) & 0x80000000u)); }
FN f64 with_sign(f64 a, f64 b) {
    return float_of((bits_of(a) & 0x7fffffffffffffffull) | (bits_of(b) & 0x8000000000000000ull));
}
FN f32 magnitude(f32 a) { return float_of(bits_of(a) & 0x7fffffffu); }
FN f64 magnitude(f64 a) { return float_of(bits_of(a) & 0x7fffffffffffffffull); }

#define HALF1(NAME) FN f16 NAME(f16 a) { return narrow(NAME(widen(a))); }
#define HALF2(NAME) FN f16 NAME(f16 a, f16 b) { return narrow(NAME(widen(a), widen(b))); }
#define FLOATS1(NAME, EXPR) \
    FN f32 NAME(f32 a) { typedef f32 T; return EXPR; } \
    FN f64 NAME(f64 a) { typedef f64 T; return EXPR; }
#define FLOATS2(NAME, EXPR) \
    FN f32 NAME(f32 a, f32 b) { typedef f32 T; return EXPR; } \
    FN f64 NAME(f64 a, f64 b) { typedef f64 T; return EXPR; }

// Lanes of a thread at once: no branch among them unless one is of unusual size. A division, a root or a logarithm alone
// has a branch of its own, beyond which the compiler moves nothing.
//
// Bit 30 of the sum tells whether a magnitude lies in a window of 128 exponents, for all lanes together once they are
// joined by `&`. This one is from 2^(low - 127) on.
FN u32 in_window(f32 a, int low) { return bits_of(a) + (0x40000000u - ((u32)low << 23)); }
struct Usual {
    u32 windows;
    bool others;
    __device__ __forceinline__ Usual() : windows(~0u), others(true) {}
    __device__ __forceinline__ bool all() const { return (windows & 0x40000000u) != 0 && others; }
};
