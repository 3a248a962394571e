// Floor division, remainders, and the parts of floating-point numbers.
FN f32 fmod_of(f32 a, f32 b) { return fmodf(a, b); }
FN f64 fmod_of(f64 a, f64 b) { return fmod(a, b); }
FN f32 floor_of(f32 a) { return floorf(a); }
FN f64 floor_of(f64 a) { return floor(a); }
FN f32 trunc_of(f32 a) { return truncf(a); }
FN f64 trunc_of(f64 a) { return trunc(a); }

template <class T> FN void floor_pair(T a, T b, T& q, T& r) {
    T fmod = fmod_of(a, b);
    if (is_nan(a) || is_nan(b)) { q = r = num<T>::nan(); return; }
    if (b == 0) { q = a / b; r = fmod; return; }
    bool crosses = fmod != 0 && (b < 0) != (fmod < 0);
    T exact = (a - fmod) / b;
    T quotient = crosses ? exact - 1 : exact;
    r = crosses ? fmod + b : fmod == 0 ? with_sign((T)0, b) : fmod;
    T floor = floor_of(quotient);
    T nearest = quotient - floor > (T)0.5 ? floor + 1 : floor;
    q = quotient == 0 ? (is_negative(a) != is_negative(b) ? -(T)0 : (T)0) : nearest;
}
template <class T> FN T floor_quotient(T a, T b) { T q, r; if (b == 0) return a / b; floor_pair(a, b, q, r); return q; }
template <class T> FN T floor_remainder(T a, T b) {
    T q, r;
    if (b == 0) return fmod_of(a, b);
    floor_pair(a, b, q, r);
    return r;
}
FLOATS2(nl_floor_divide, floor_quotient(a, b))
FLOATS2(nl_remainder, floor_remainder(a, b))
FLOATS2(nl_fmod, fmod_of(a, b))
HALF2(nl_floor_divide)
HALF2(nl_remainder)
HALF2(nl_fmod)
FN void nl_divmod(f32 a, f32 b, f32& q, f32& r) { floor_pair(a, b, q, r); }
FN void nl_divmod(f64 a, f64 b, f64& q, f64& r) { floor_pair(a, b, q, r); }
FN void nl_divmod(f16 a, f16 b, f16& q, f16& r) {
    f32 x, y;
    floor_pair(widen(a), widen(b), x, y);
    q = narrow(x);
    r = narrow(y);
}

FLOATS2(nl_copysign, with_sign(a, b))
FN f16 nl_copysign(f16 a, f16 b) { return half_of_bits((a.bits & 0x7fff) | (b.bits & 0x8000)); }
FLOATS2(nl_heaviside, is_nan(a) ? a : a == 0 ? b : a > 0 ? (T)1 : (T)0)
FN f16 nl_heaviside(f16 a, f16 b) { return is_nan(a) ? a : is_zero(a) ? b : half_of_bits(is_negative(a) ? 0 : 0x3c00); }

// Bits of one sign are in the order of the magnitudes.
template <class T> FN T neighbour(T a, T b) {
    if (is_nan(a) || is_nan(b)) return a + b;
    if (a == b) return b;
    if (a == 0) return with_sign(num<T>::tiniest(), b);
    bool away = (a < b) == (a > 0);
    return away ? float_of(bits_of(a) + 1) : float_of(bits_of(a) - 1);
}
FLOATS2(nl_nextafter, neighbour(a, b))
FN f16 nl_nextafter(f16 a, f16 b) {
    f32 x = widen(a), y = widen(b);
    if (is_nan(a) || is_nan(b)) return half_of_bits(0x7e00);
    if (x == y) return a;
    if (is_zero(a)) return half_of_bits(1 | (b.bits & 0x8000));
    return half_of_bits((x < y) == (x > 0) ? a.bits + 1 : a.bits - 1);
}
template <class T> FN T gap(T a) {
    if (is_nan(a)) return a;
    if (is_inf(a)) return num<T>::nan();
    if (a == 0) return num<T>::tiniest();
    return float_of(bits_of(a) + 1) - a;
}
FLOATS1(nl_spacing, gap(a))
// NumPy measures binary16 towards plus infinity, wider floats away from zero.
FN f16 nl_spacing(f16 a) {
    if (!is_finite(a)) return half_of_bits(0x7e00);
    if (is_zero(a)) return half_of_bits(1);
    f16 next = half_of_bits(is_negative(a) ? a.bits - 1 : a.bits + 1);
    return is_inf(next) ? next : narrow(widen(next) - widen(a));
}

template <class T> FN void nl_modf(T a, T& fraction, T& whole) {
    whole = trunc_of(a);
    T rest = is_inf(a) ? (T)0 : a - whole;
    fraction = is_nan(a) ? a : with_sign(rest, a);
}
FN void nl_modf(f16 a, f16& fraction, f16& whole) {
    f32 x, y;
    nl_modf(widen(a), x, y);
    fraction = narrow(x);
    whole = narrow(y);
}
FN f32 frexp_of(f32 a, int* e) { return frexpf(a, e); }
FN f64 frexp_of(f64 a, int* e) { return frexp(a, e); }
template <class T> FN void nl_frexp(T a, T& mantissa, i32& exponent) {
    exponent = 0;
    mantissa = a;
    if (a == 0 || !is_finite(a)) return;
    int e = 0;
    mantissa = frexp_of(a, &e);
    exponent = e;
}
FN void nl_frexp(f16 a, f16& mantissa, i32& exponent) {
    f32 m;
    nl_frexp(widen(a), m, exponent);
    mantissa = narrow(m);
}
FN int clamped(i64 e) { return e < -10000 ? -10000 : e > 10000 ? 10000 : (int)e; }
FN f32 scaled_by(f32 a, i64 e) { return ldexpf(a, clamped(e)); }
FN f64 scaled_by(f64 a, i64 e) { return ldexp(a, clamped(e)); }
template <class E> FN f32 nl_ldexp(f32 a, E e) { return scaled_by(a, (i64)e); }
template <class E> FN f64 nl_ldexp(f64 a, E e) { return scaled_by(a, (i64)e); }
template <class E> FN f16 nl_ldexp(f16 a, E e) { return narrow(scaled_by(widen(a), (i64)e)); }
