// Elementary functions of floats, from the compiler's library at its full precision.
#define NL_ELEMENTARY(NAME, F) \
    FN f32 NAME(f32 a) { return F##f(a); } \
    FN f64 NAME(f64 a) { return F(a); } \
    HALF1(NAME)
NL_ELEMENTARY(nl_cbrt, cbrt)
NL_ELEMENTARY(nl_exp, exp)
NL_ELEMENTARY(nl_exp2, exp2)
NL_ELEMENTARY(nl_expm1, expm1)
NL_ELEMENTARY(nl_log2, log2)
NL_ELEMENTARY(nl_log10, log10)
NL_ELEMENTARY(nl_log1p, log1p)
NL_ELEMENTARY(nl_sin, sin)
NL_ELEMENTARY(nl_cos, cos)
NL_ELEMENTARY(nl_tan, tan)
NL_ELEMENTARY(nl_arcsin, asin)
NL_ELEMENTARY(nl_arccos, acos)
NL_ELEMENTARY(nl_arctan, atan)
NL_ELEMENTARY(nl_sinh, sinh)
NL_ELEMENTARY(nl_cosh, cosh)
NL_ELEMENTARY(nl_tanh, tanh)
NL_ELEMENTARY(nl_arcsinh, asinh)
NL_ELEMENTARY(nl_arccosh, acosh)
NL_ELEMENTARY(nl_arctanh, atanh)
// Of a positive normal number 2^k (1 + f), f from -1/3 to 1/3.
FN f32 plain_log(f32 a) {
    const u32 bits = bits_of(a), k = (bits - 0x3f2aaaabu) & 0xff800000u;
    const f32 f = float_of(bits - k) - 1.0f;
    f32 p = 0.13820231f;
    p = fused(p, f, -0.1512219f);
    p = fused(p, f, 0.1404231f);
    p = fused(p, f, -0.16472325f);
    p = fused(p, f, 0.20007919f);
    p = fused(p, f, -0.25004238f);
    p = fused(p, f, 0.33333266f);
    p = fused(p, f, -0.5f);
    // ln 2 / 2^23: the exponent stays where it is in the bits.
    return fused((f32)(i32)k, 8.2629582e-8f, fused(f * p, f, f));
}
// Positive and normal.
FN bool has_plain_log(f32 a) { return bits_of(a) - 0x00800000u < 0x7f000000u; }
FN f32 nl_log(f32 a) { return has_plain_log(a) ? plain_log(a) : logf(a); }
FN f64 nl_log(f64 a) { return log(a); }
HALF1(nl_log)
FN f32 plain_log(f32 a, Usual& usual) {
    usual.others &= has_plain_log(a);
    return plain_log(a);
}
template <int N> FN void log_lanes(const f32 (&a)[N], f32 (&q)[N]) {
    Usual usual;
    for (int i = 0; i < N; i++) q[i] = plain_log(a[i], usual);
    if (!usual.all())
        for (int i = 0; i < N; i++) q[i] = nl_log(a[i]);
}
FN f32 nl_arctan2(f32 a, f32 b) { return atan2f(a, b); }
FN f64 nl_arctan2(f64 a, f64 b) { return atan2(a, b); }
FN f32 nl_hypot(f32 a, f32 b) { return hypotf(a, b); }
FN f64 nl_hypot(f64 a, f64 b) { return hypot(a, b); }
// A square is common, exact to half an ulp as a product, and far cheaper.
FN f32 nl_power(f32 a, f32 b) { return b == 2.0f ? a * a : powf(a, b); }
FN f64 nl_power(f64 a, f64 b) { return b == 2.0 ? a * a : pow(a, b); }
FN f64 nl_float_power(f64 a, f64 b) { return nl_power(a, b); }
// In f64 for f32 as well: near a result of zero the sum cancels.
FN f64 nl_logaddexp(f64 a, f64 b) {
    if (a == b) return a + 0.693147180559945309417;
    return a > b ? a + log1p(exp(b - a)) : b + log1p(exp(a - b));
}
FN f64 nl_logaddexp2(f64 a, f64 b) {
    if (a == b) return a + 1;
    return a > b ? a + 1.44269504088896340736 * log1p(exp2(b - a)) : b + 1.44269504088896340736 * log1p(exp2(a - b));
}
FN f32 nl_logaddexp(f32 a, f32 b) { return (f32)nl_logaddexp((f64)a, (f64)b); }
FN f32 nl_logaddexp2(f32 a, f32 b) { return (f32)nl_logaddexp2((f64)a, (f64)b); }
HALF2(nl_arctan2)
HALF2(nl_hypot)
HALF2(nl_power)
HALF2(nl_logaddexp)
HALF2(nl_logaddexp2)
