// Division, powers, divisors, shifts and bits of integers. A divisor of zero gives zero.
template <class T> FN bool overflows(T a, T b) { return num<T>::is_signed && a == num<T>::low() && b == (T)-1; }
template <class T> FN T nl_fmod(T a, T b) { return b == (T)0 || overflows(a, b) ? (T)0 : (T)(a % b); }
template <class T> FN T nl_floor_divide(T a, T b) {
    if (b == (T)0) return (T)0;
    if (overflows(a, b)) return a;
    T q = (T)(a / b), r = (T)(a % b);
    return num<T>::is_signed && r != (T)0 && (r < (T)0) != (b < (T)0) ? (T)(q - 1) : q;
}
template <class T> FN T nl_remainder(T a, T b) {
    if (b == (T)0 || overflows(a, b)) return (T)0;
    T r = (T)(a % b);
    return num<T>::is_signed && r != (T)0 && (r < (T)0) != (b < (T)0) ? (T)(r + b) : r;
}
template <class T> FN void nl_divmod(T a, T b, T& q, T& r) {
    q = nl_floor_divide(a, b);
    r = nl_remainder(a, b);
}

// Negative exponents are refused before a loop runs; here they give the truncated quotient.
template <class T> FN T nl_power(T a, T b) {
    typedef typename num<T>::wrap W;
    if (num<T>::is_signed && b < (T)0) {
        return a == (T)1 ? (T)1 : a == (T)-1 ? (T)(1 - 2 * (b & 1)) : (T)0;
    }
    W square = (W)a, result = 1;
    typename num<T>::uns left = (typename num<T>::uns)b;
    while (true) {
        if (left & 1) result *= square;
        left >>= 1;
        if (left == 0) return (T)result;
        square *= square;
    }
}

template <class T> FN u64 magnitude_of(T a) { return num<T>::is_signed && a < (T)0 ? (u64)0 - (u64)a : (u64)a; }
FN u64 gcd64(u64 a, u64 b) {
    while (b != 0) {
        u64 r = (a | b) >> 32 ? a % b : (u64)((u32)a % (u32)b);
        a = b;
        b = r;
    }
    return a;
}
template <class T> FN u64 magnitude_in_width(T a) { return (u64)(typename num<T>::uns)magnitude_of(a); }
template <class T> FN T nl_gcd(T a, T b) { return (T)gcd64(magnitude_in_width(a), magnitude_in_width(b)); }
template <class T> FN T nl_lcm(T a, T b) {
    u64 x = magnitude_in_width(a), y = magnitude_in_width(b), d = gcd64(x, y);
    return d == 0 ? (T)0 : (T)(x / d * y);
}

template <class T> FN T nl_bitwise_and(T a, T b) { return (T)(a & b); }
template <class T> FN T nl_bitwise_or(T a, T b) { return (T)(a | b); }
template <class T> FN T nl_bitwise_xor(T a, T b) { return (T)(a ^ b); }
FN bool nl_bitwise_and(bool a, bool b) { return a && b; }
FN bool nl_bitwise_or(bool a, bool b) { return a || b; }
FN bool nl_bitwise_xor(bool a, bool b) { return a != b; }
template <class T> FN T nl_invert(T a) { return (T)~a; }
FN bool nl_invert(bool a) { return !a; }
// A negative count, read as unsigned, is above every width.
template <class T> FN T nl_left_shift(T a, T b) {
    typedef typename num<T>::wrap W;
    return (u64)(i64)b < (u64)num<T>::bits ? (T)((W)a << (W)b) : (T)0;
}
template <class T> FN T nl_right_shift(T a, T b) {
    if ((u64)(i64)b < (u64)num<T>::bits) return (T)(a >> b);
    return num<T>::is_signed && a < (T)0 ? (T)-1 : (T)0;
}
template <class T> FN u8 nl_bitwise_count(T a) { return (u8)__popcll(magnitude_in_width(a)); }
