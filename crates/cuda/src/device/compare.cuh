// Comparisons, truth, the smaller or larger of two, tests of bits.
#define NL_COMPARE(NAME, OP) \
    template <class T> FN bool NAME(T a, T b) { return a OP b; } \
    FN bool NAME(f16 a, f16 b) { return widen(a) OP widen(b); } \
    FN bool NAME(i64 a, u64 b) { return a < 0 ? 0 OP 1 : (u64)a OP b; } \
    FN bool NAME(u64 a, i64 b) { return b < 0 ? 1 OP 0 : a OP (u64)b; }
NL_COMPARE(nl_equal, ==)
NL_COMPARE(nl_not_equal, !=)
NL_COMPARE(nl_less, <)
NL_COMPARE(nl_less_equal, <=)
NL_COMPARE(nl_greater, >)
NL_COMPARE(nl_greater_equal, >=)
template <class R> FN bool nl_equal(cx<R> a, cx<R> b) { return a.re == b.re && a.im == b.im; }
template <class R> FN bool nl_not_equal(cx<R> a, cx<R> b) { return !(a.re == b.re && a.im == b.im); }
template <class R> FN bool nl_less(cx<R> a, cx<R> b) {
    return (a.re < b.re && !is_nan(a.im) && !is_nan(b.im)) || (a.re == b.re && a.im < b.im);
}
template <class R> FN bool nl_less_equal(cx<R> a, cx<R> b) {
    return (a.re < b.re && !is_nan(a.im) && !is_nan(b.im)) || (a.re == b.re && a.im <= b.im);
}
template <class R> FN bool nl_greater(cx<R> a, cx<R> b) { return nl_less(b, a); }
template <class R> FN bool nl_greater_equal(cx<R> a, cx<R> b) { return nl_less_equal(b, a); }

template <class T> FN bool nl_logical_and(T a, T b) { return truth(a) && truth(b); }
template <class T> FN bool nl_logical_or(T a, T b) { return truth(a) || truth(b); }
template <class T> FN bool nl_logical_xor(T a, T b) { return truth(a) != truth(b); }
template <class T> FN bool nl_logical_not(T a) { return !truth(a); }

template <class T> FN T nl_maximum(T a, T b) { return a > b ? a : b; }
template <class T> FN T nl_minimum(T a, T b) { return a < b ? a : b; }
template <class T> FN T nl_fmax(T a, T b) { return a > b ? a : b; }
template <class T> FN T nl_fmin(T a, T b) { return a < b ? a : b; }
// Of two zeros the second is taken, as x86's instruction does.
FLOATS2(nl_maximum, is_nan(a) ? a : a > b ? a : b)
FLOATS2(nl_minimum, is_nan(a) ? a : a < b ? a : b)
FLOATS2(nl_fmax, is_nan(b) ? a : a > b ? a : b)
FLOATS2(nl_fmin, is_nan(b) ? a : a < b ? a : b)
FN f16 nl_maximum(f16 a, f16 b) { return widen(a) >= widen(b) || is_nan(a) ? a : b; }
FN f16 nl_minimum(f16 a, f16 b) { return widen(a) <= widen(b) || is_nan(a) ? a : b; }
FN f16 nl_fmax(f16 a, f16 b) { return widen(a) >= widen(b) || is_nan(b) ? a : b; }
FN f16 nl_fmin(f16 a, f16 b) { return widen(a) <= widen(b) || is_nan(b) ? a : b; }
template <class R> FN bool has_nan(cx<R> a) { return is_nan(a.re) || is_nan(a.im); }
template <class R> FN cx<R> nl_maximum(cx<R> a, cx<R> b) { return nl_greater_equal(a, b) || has_nan(a) ? a : b; }
template <class R> FN cx<R> nl_minimum(cx<R> a, cx<R> b) { return nl_less_equal(a, b) || has_nan(a) ? a : b; }
template <class R> FN cx<R> nl_fmax(cx<R> a, cx<R> b) { return nl_greater_equal(a, b) || has_nan(b) ? a : b; }
template <class R> FN cx<R> nl_fmin(cx<R> a, cx<R> b) { return nl_less_equal(a, b) || has_nan(b) ? a : b; }

template <class T> FN bool nl_isfinite(T) { return true; }
template <class T> FN bool nl_isinf(T) { return false; }
template <class T> FN bool nl_isnan(T) { return false; }
FN bool nl_isfinite(f16 a) { return is_finite(a); }
FN bool nl_isfinite(f32 a) { return is_finite(a); }
FN bool nl_isfinite(f64 a) { return is_finite(a); }
FN bool nl_isinf(f16 a) { return is_inf(a); }
FN bool nl_isinf(f32 a) { return is_inf(a); }
FN bool nl_isinf(f64 a) { return is_inf(a); }
FN bool nl_isnan(f16 a) { return is_nan(a); }
FN bool nl_isnan(f32 a) { return is_nan(a); }
FN bool nl_isnan(f64 a) { return is_nan(a); }
template <class R> FN bool nl_isfinite(cx<R> a) { return is_finite(a.re) && is_finite(a.im); }
template <class R> FN bool nl_isinf(cx<R> a) { return is_inf(a.re) || is_inf(a.im); }
template <class R> FN bool nl_isnan(cx<R> a) { return is_nan(a.re) || is_nan(a.im); }
template <class T> FN bool nl_signbit(T a) { return is_negative(a); }
