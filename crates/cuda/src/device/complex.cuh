// Arithmetic of complex numbers by NumPy's formulas.
template <class R> FN cx<R> nl_add(cx<R> a, cx<R> b) { return pair(a.re + b.re, a.im + b.im); }
template <class R> FN cx<R> nl_subtract(cx<R> a, cx<R> b) { return pair(a.re - b.re, a.im - b.im); }
template <class R> FN cx<R> nl_multiply(cx<R> a, cx<R> b) {
    return pair(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);
}
// Smith's division: scales by the larger part of the divisor.
template <class R> FN cx<R> nl_divide(cx<R> a, cx<R> b) {
    R x = magnitude(b.re), y = magnitude(b.im);
    if (x >= y) {
        if (x == 0 && y == 0) return pair(a.re / x, a.im / x);
        R ratio = b.im / b.re, scale = (R)1 / (b.re + b.im * ratio);
        return pair((a.re + a.im * ratio) * scale, (a.im - a.re * ratio) * scale);
    }
    R ratio = b.re / b.im, scale = (R)1 / (b.im + b.re * ratio);
    return pair((a.re * ratio + a.im) * scale, (a.im * ratio - a.re) * scale);
}
template <class R> FN cx<R> nl_reciprocal(cx<R> a) {
    if (magnitude(a.im) <= magnitude(a.re)) {
        R ratio = a.im / a.re, divisor = a.re + a.im * ratio;
        return pair((R)1 / divisor, -ratio / divisor);
    }
    R ratio = a.re / a.im, divisor = a.re * ratio + a.im;
    return pair(ratio / divisor, (R)-1 / divisor);
}
template <class R> FN cx<R> nl_negative(cx<R> a) { return pair(-a.re, -a.im); }
template <class R> FN cx<R> nl_conjugate(cx<R> a) { return pair(a.re, -a.im); }
template <class R> FN cx<R> nl_square(cx<R> a) {
    return pair(a.re * a.re - a.im * a.im, a.re * a.im + a.im * a.re);
}
template <class R> FN cx<R> nl_positive(cx<R> a) { return a; }
FN c64 nl_rint(c64 a) { return pair(rintf(a.re), rintf(a.im)); }
FN c128 nl_rint(c128 a) { return pair(rint(a.re), rint(a.im)); }
// Squares of f32 are exact in f64 and cannot overflow there.
FN f32 nl_absolute(c64 a) {
    f64 re = a.re, im = a.im;
    return is_inf(a.re) || is_inf(a.im) ? inf_f32() : (f32)sqrt(re * re + im * im);
}
// The larger part is scaled to about one, so that no square overflows or vanishes.
FN f64 nl_absolute(c128 a) {
    f64 re = magnitude(a.re), im = magnitude(a.im);
    u64 e = bits_of(re > im ? re : im) >> 52;
    e = e < 1 ? 1 : e > 2045 ? 2045 : e;
    f64 down = float_of((2046 - e) << 52), up = float_of(e << 52);
    f64 x = re * down, y = im * down;
    f64 length = sqrt(x * x + y * y) * up;
    return is_inf(a.re) || is_inf(a.im) ? inf_f64() : length;
}
FN f32 length_of(c64 a) { return hypotf(a.re, a.im); }
FN f64 length_of(c128 a) { return hypot(a.re, a.im); }
template <class R> FN cx<R> nl_sign(cx<R> a) {
    R length = length_of(a);
    if (is_nan(length) || (is_inf(a.re) && is_inf(a.im))) return pair(num<R>::nan(), num<R>::nan());
    if (is_inf(a.re)) return pair(with_sign((R)1, a.re), (R)0);
    if (is_inf(length)) return pair((R)0, is_nan(a.im) ? a.im : with_sign((R)1, a.im));
    if (length == 0) return pair((R)0, (R)0);
    return pair(a.re / length, a.im / length);
}
