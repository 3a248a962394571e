// Sums, products, signs; integers wrap around.
template <class T> FN T nl_add(T a, T b) { typedef typename num<T>::wrap W; return (T)((W)a + (W)b); }
template <class T> FN T nl_subtract(T a, T b) { typedef typename num<T>::wrap W; return (T)((W)a - (W)b); }
template <class T> FN T nl_multiply(T a, T b) { typedef typename num<T>::wrap W; return (T)((W)a * (W)b); }
FN bool nl_add(bool a, bool b) { return a || b; }
FN bool nl_multiply(bool a, bool b) { return a && b; }
FLOATS2(nl_add, a + b)
FLOATS2(nl_subtract, a - b)
FLOATS2(nl_multiply, a * b)
FLOATS2(nl_divide, a / b)
HALF2(nl_add)
HALF2(nl_subtract)
HALF2(nl_multiply)
HALF2(nl_divide)

FN u64 negated(u64 a) { return 0 - a; }
template <class T> FN T nl_negative(T a) { typedef typename num<T>::wrap W; return (T)negated((W)a); }
FLOATS1(nl_negative, -a)
FN f16 nl_negative(f16 a) { return half_of_bits(a.bits ^ 0x8000); }

template <class T> FN T nl_positive(T a) { return a; }
template <class T> FN T nl_conjugate(T a) { return a; }

template <class T> FN T nl_absolute(T a) { return num<T>::is_signed && a < (T)0 ? nl_negative(a) : a; }
FN bool nl_absolute(bool a) { return a; }
FLOATS1(nl_absolute, magnitude(a))
FN f16 nl_absolute(f16 a) { return half_of_bits(a.bits & 0x7fff); }
FLOATS1(nl_fabs, magnitude(a))
FN f16 nl_fabs(f16 a) { return half_of_bits(a.bits & 0x7fff); }

template <class T> FN T nl_square(T a) { return nl_multiply(a, a); }

template <class T> FN T nl_sign(T a) { return (T)((a > (T)0) - (num<T>::is_signed && a < (T)0)); }
FLOATS1(nl_sign, is_nan(a) ? a : a > 0 ? (T)1 : a < 0 ? (T)-1 : (T)0)
FN f16 nl_sign(f16 a) {
    return is_nan(a) ? a : half_of_bits(is_zero(a) ? 0 : 0x3c00 | (a.bits & 0x8000));
}

// The reciprocal of zero is what x86 makes of converting infinity, cut to width; unsigned it is zero.
template <class T> FN T nl_reciprocal(T a) {
    if (!num<T>::is_signed) return (T)(a == (T)1);
    T lowest = num<T>::bits == 64 ? (T)num<i64>::low() : (T)num<i32>::low();
    return a == (T)0 ? lowest : (a == (T)1 || a == (T)-1) ? a : (T)0;
}
FLOATS1(nl_reciprocal, (T)1 / a)
HALF1(nl_reciprocal)

FLOATS1(nl_degrees, a * ((T)180 / (T)3.14159265358979323846))
FLOATS1(nl_radians, a * ((T)3.14159265358979323846 / (T)180))
FLOATS1(nl_rad2deg, nl_degrees(a))
FLOATS1(nl_deg2rad, nl_radians(a))
HALF1(nl_degrees)
HALF1(nl_radians)
HALF1(nl_rad2deg)
HALF1(nl_deg2rad)

template <class T> FN T nl_floor(T a) { return a; }
template <class T> FN T nl_ceil(T a) { return a; }
template <class T> FN T nl_trunc(T a) { return a; }
FN f32 nl_floor(f32 a) { return floorf(a); }
FN f64 nl_floor(f64 a) { return floor(a); }
FN f32 nl_ceil(f32 a) { return ceilf(a); }
FN f64 nl_ceil(f64 a) { return ceil(a); }
FN f32 nl_trunc(f32 a) { return truncf(a); }
FN f64 nl_trunc(f64 a) { return trunc(a); }
FN f32 nl_rint(f32 a) { return rintf(a); }
FN f64 nl_rint(f64 a) { return rint(a); }
FN f32 nl_sqrt(f32 a) { return sqrtf(a); }
FN f64 nl_sqrt(f64 a) { return sqrt(a); }
HALF1(nl_floor)
HALF1(nl_ceil)
HALF1(nl_trunc)
HALF1(nl_rint)
HALF1(nl_sqrt)

// Rounded right: the quotient is within an ulp before its remainder is divided in turn. The remainder is exact if the
// quotient is from 2^-60 on and the divisor from 2^-40, or the dividend from 2^-68 to 2^60.
FN f32 plain_share(f32 a, f32 b, Usual& usual) {
    const f32 first = about_inverse(b);
    const f32 inverse = fused(first, fused(-b, first, 1.0f), first);
    const f32 q = a * inverse;
    usual.windows &= in_window(q, 67);
    return fused(inverse, fused(-b, q, a), q);
}
FN u32 is_plain_dividend(f32 a) { return in_window(a, 59); }
FN f32 plain_quotient(f32 a, f32 b, Usual& usual) {
    usual.windows &= in_window(b, 87);
    return plain_share(a, b, usual);
}
// Likewise; the root of what is negative, zero, infinite or no number is outside of the window.
FN f32 plain_root(f32 a, Usual& usual) {
    const f32 inverse = about_inverse_root(a);
    const f32 root = a * inverse;
    usual.windows &= in_window(root, 87);
    return fused(fused(-root, root, a), 0.5f * inverse, root);
}
template <int N> FN void divide_lanes(const f32 (&a)[N], const f32 (&b)[N], f32 (&q)[N]) {
    Usual usual;
    for (int i = 0; i < N; i++) q[i] = plain_quotient(a[i], b[i], usual);
    if (!usual.all())
        for (int i = 0; i < N; i++) q[i] = a[i] / b[i];
}
template <int N> FN void sqrt_lanes(const f32 (&a)[N], f32 (&q)[N]) {
    Usual usual;
    for (int i = 0; i < N; i++) q[i] = plain_root(a[i], usual);
    if (!usual.all())
        for (int i = 0; i < N; i++) q[i] = sqrtf(a[i]);
}
