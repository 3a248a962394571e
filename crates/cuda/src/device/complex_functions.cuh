// Elementary functions of complex numbers, with the special values and branch cuts of C99's Annex G, in f64.
// Functions of the circle are those of the hyperbola turned by a quarter: sin(z) = -i sinh(iz) and so on.
// They are calls: inlined into every lane of a kernel they would take seconds to compile.
#define NL_PI 3.14159265358979323846
#define NL_LN2 0.693147180559945309417
FN c128 turned(c128 z) { return pair(-z.im, z.re); }
FN c128 turned_back(c128 z) { return pair(z.im, -z.re); }
// NaN of an infinity and of NaN; zero of a finite number.
FN f64 invalid(f64 x) { return x * 0.0; }
FN f64 sign_like(f64 a, f64 b) { return with_sign(a, b); }

CALL c128 c_sqrt(c128 z) {
    f64 re = z.re, im = z.im;
    if (re == 0 && im == 0) return pair(0.0, im);
    if (is_inf(im)) return pair(inf_f64(), im);
    if (is_nan(re)) return pair(re, nan_f64());
    if (is_inf(re)) {
        f64 spare = invalid(im);
        return is_negative(re) ? pair(magnitude(spare), sign_like(re, im)) : pair(re, sign_like(spare, im));
    }
    if (is_nan(im)) return pair(im, im);
    // Powers of four move the operand where neither the sum below nor its half leaves the range.
    f64 size = fmax(fabs(re), fabs(im)), up = 1, down = 1;
    if (size >= 1.7976931348623157e308 / 4) { up = 0.25; down = 2; }
    else if (size < 1e-290) { up = 324518553658426726783156020576256.0; down = 5.551115123125783e-17; }
    re *= up;
    im *= up;
    f64 half = sqrt((fabs(re) + hypot(re, im)) * 0.5), other = im / (2 * half);
    return re >= 0 ? pair(half * down, other * down) : pair(fabs(other) * down, sign_like(half, im) * down);
}
// e^x (cos y, sin y) times `by`, for finite y, without overflow on the way.
FN c128 exp_polar(f64 x, f64 y, f64 by) {
    f64 s = sin(y), c = cos(y);
    if (x > 709 && x < 1500) {
        f64 half = exp(x * 0.5);
        return pair(half * (by * c) * half, half * (by * s) * half);
    }
    f64 size = exp(x) * by;
    return pair(size * c, size * s);
}
CALL c128 c_exp(c128 z) {
    f64 re = z.re, im = z.im;
    if (im == 0) return pair(exp(re), im);
    if (!is_finite(im)) {
        if (re == -inf_f64()) return pair(0.0, 0.0);
        f64 nan = invalid(im);
        return pair(re == inf_f64() ? re : nan, nan);
    }
    if (is_nan(re)) return pair(re, re);
    return exp_polar(re, im, 1);
}
FN c128 c_exp2(c128 z) { return c_exp(pair(z.re * NL_LN2, z.im * NL_LN2)); }
CALL c128 c_expm1(c128 z) {
    f64 half = sin(z.im * 0.5);
    return pair(expm1(z.re) * cos(z.im) - 2 * half * half, exp(z.re) * sin(z.im));
}
// The rounded sum, and what rounding lost.
FN void exact_sum(f64 a, f64 b, f64& sum, f64& lost) {
    sum = a + b;
    f64 back = sum - a;
    lost = (a - (sum - back)) + (b - back);
}
// x*x + y*y - 1, with the rounding errors put back.
FN f64 norm_minus_one(f64 x, f64 y) {
    f64 xx = x * x, yy = y * y, above, above_lost, sum, sum_lost;
    f64 xx_lost = fma(x, x, -xx), yy_lost = fma(y, y, -yy);
    exact_sum(xx, -1, above, above_lost);
    exact_sum(above, yy, sum, sum_lost);
    return sum + (sum_lost + (above_lost + (xx_lost + yy_lost)));
}
FN f64 log_length(c128 z) {
    if (is_nan(z.re) || is_nan(z.im)) return hypot(z.re, z.im);
    f64 large = fmax(fabs(z.re), fabs(z.im)), small = fmin(fabs(z.re), fabs(z.im));
    if (large > 0.3 && large < 2) return 0.5 * log1p(norm_minus_one(large, small));
    if (is_finite(large) && large > 1.7976931348623157e308 / 2) return log(hypot(large * 0.5, small * 0.5)) + NL_LN2;
    if (large < 2.2250738585072014e-308 * 4 && large > 0) {
        return log(hypot(large * 18014398509481984.0, small * 18014398509481984.0)) - 54 * NL_LN2;
    }
    return log(hypot(z.re, z.im));
}
CALL c128 c_log(c128 z) { return pair(log_length(z), atan2(z.im, z.re)); }
FN c128 c_log2(c128 z) { c128 l = c_log(z); return pair(l.re * 1.44269504088896340736, l.im * 1.44269504088896340736); }
FN c128 c_log10(c128 z) { c128 l = c_log(z); return pair(l.re * 0.434294481903251827651, l.im * 0.434294481903251827651); }
CALL c128 c_log1p(c128 z) { return pair(log(hypot(z.re + 1, z.im)), atan2(z.im, z.re + 1)); }

// From 22 on sinh and cosh are both e^|x| / 2.
CALL c128 c_sinh(c128 z) {
    f64 re = z.re, im = z.im;
    if (im == 0) return pair(sinh(re), im);
    if (!is_finite(im)) {
        f64 nan = invalid(im);
        return pair(re == 0 ? re : is_inf(re) ? inf_f64() : nan, nan);
    }
    if (fabs(re) < 22) return pair(sinh(re) * cos(im), cosh(re) * sin(im));
    c128 half = exp_polar(fabs(re), im, 0.5);
    return pair(half.re * sign_like(1, re), half.im);
}
CALL c128 c_cosh(c128 z) {
    f64 re = z.re, im = z.im;
    if (im == 0) return pair(cosh(re), is_nan(re) ? im : sign_like(0, re) * sign_like(1, im));
    if (!is_finite(im)) {
        f64 nan = invalid(im);
        if (re == 0) return pair(nan, 0.0);
        return pair(is_inf(re) ? inf_f64() : nan, nan);
    }
    if (fabs(re) < 22) return pair(cosh(re) * cos(im), sinh(re) * sin(im));
    c128 half = exp_polar(fabs(re), im, 0.5);
    return pair(half.re, half.im * sign_like(1, re));
}
CALL c128 c_tanh(c128 z) {
    f64 re = z.re, im = z.im;
    if (is_nan(re)) return pair(re, im == 0 ? im : re);
    if (is_inf(re)) {
        f64 side = is_finite(im) ? sin(im) * cos(im) : im;
        return pair(sign_like(1, re), sign_like(0, side));
    }
    if (!is_finite(im)) {
        f64 nan = invalid(im);
        return pair(re == 0 ? re : nan, nan);
    }
    if (fabs(re) >= 22) {
        f64 small = exp(-fabs(re));
        return pair(sign_like(1, re), 4 * sin(im) * cos(im) * small * small);
    }
    // tanh(x + iy) over tan(y): beta is 1 / cos(y)^2, rho is cosh(x).
    f64 t = tan(im), beta = 1 + t * t, s = sinh(re), rho = sqrt(1 + s * s);
    if (is_inf(t)) return pair(rho / s, 1 / t);
    f64 below = 1 + beta * s * s;
    return pair(beta * rho * s / below, t / below);
}
FN c128 c_sin(c128 z) {
    if (is_inf(z.im) && !is_finite(z.re)) return pair(invalid(z.re), inf_f64());
    return turned_back(c_sinh(turned(z)));
}
FN c128 c_cos(c128 z) { return c_cosh(turned(z)); }
FN c128 c_tan(c128 z) { return turned_back(c_tanh(turned(z))); }

// Kahan's, by two square roots that keep the sign of zero. Above 1e100 a square plus one is the square.
CALL c128 c_arcsinh(c128 z) {
    f64 re = z.re, im = z.im;
    if (!is_finite(re) || !is_finite(im)) {
        if (is_inf(re)) {
            f64 angle = is_nan(im) ? im : is_inf(im) ? NL_PI / 4 : 0.0;
            return pair(re, sign_like(angle, im));
        }
        if (is_inf(im)) return pair(sign_like(inf_f64(), re), is_nan(re) ? re : sign_like(NL_PI / 2, im));
        if (is_nan(re) && im == 0) return z;
        return pair(nan_f64(), nan_f64());
    }
    if (fabs(re) > 1e100 || fabs(im) > 1e100) {
        f64 length = log(hypot(re * 0.5, im * 0.5)) + 2 * NL_LN2;
        return pair(sign_like(length, re), sign_like(atan2(im, fabs(re)), im));
    }
    c128 above = c_sqrt(pair(1 + im, -re)), below = c_sqrt(pair(1 - im, re));
    f64 part = asinh(above.re * below.im - below.re * above.im);
    return pair(sign_like(part, re), atan2(im, above.re * below.re - above.im * below.im));
}
FN c128 c_arcsin(c128 z) { return turned_back(c_arcsinh(turned(z))); }
CALL c128 c_arccos(c128 z) {
    f64 re = z.re, im = z.im;
    if (!is_finite(re) || !is_finite(im)) {
        if (is_inf(im)) {
            f64 angle = is_nan(re) ? re : is_finite(re) ? NL_PI / 2 : re > 0 ? NL_PI / 4 : 3 * (NL_PI / 4);
            return pair(angle, -im);
        }
        if (is_inf(re)) {
            if (is_nan(im)) return pair(im, -inf_f64());
            return pair(re > 0 ? 0.0 : NL_PI, -sign_like(inf_f64(), im));
        }
        if (re == 0) return pair(NL_PI / 2, im);
        return pair(nan_f64(), nan_f64());
    }
    if (fabs(re) > 1e100 || fabs(im) > 1e100) {
        f64 length = log(hypot(re * 0.5, im * 0.5)) + 2 * NL_LN2;
        return pair(atan2(fabs(im), re), sign_like(-length, -im));
    }
    c128 left = c_sqrt(pair(1 - re, -im)), right = c_sqrt(pair(1 + re, im));
    f64 part = asinh(right.re * left.im - right.im * left.re);
    return pair(2 * atan2(left.re, right.re), sign_like(part, -im));
}
FN c128 c_arccosh(c128 z) {
    c128 a = c_arccos(z);
    if (is_nan(a.re)) return pair(is_nan(a.im) ? a.im : fabs(a.im), a.re);
    if (is_nan(a.im)) return pair(a.im, z.re == 0 ? a.re : a.im);
    return pair(fabs(a.im), sign_like(a.re, z.im));
}
CALL c128 c_arctanh(c128 z) {
    f64 re = z.re, im = z.im;
    if (!is_finite(re) || !is_finite(im)) {
        if (is_inf(im)) return pair(sign_like(0, re), sign_like(NL_PI / 2, im));
        if (is_inf(re)) return pair(sign_like(0, re), is_nan(im) ? im : sign_like(NL_PI / 2, im));
        if (re == 0) return z;
        return pair(nan_f64(), nan_f64());
    }
    f64 x = fabs(re), y = fabs(im), part, angle;
    if (x > 1e100 || y > 1e100) {
        f64 length = hypot(x * 0.5, y * 0.5);
        return pair(sign_like(x * 0.25 / length / length, re), sign_like(NL_PI / 2, im));
    }
    if (x == 1 && y < 1e-150) {
        part = y == 0 ? 1 / y : -log(sqrt(y) / sqrt(hypot(y, 2.0)));
        angle = y == 0 ? 0.0 : atan2(2.0, -y) * 0.5;
    } else {
        f64 beyond = 1 - x;
        part = log1p(4 * x / (beyond * beyond + y * y)) * 0.25;
        angle = atan2(2 * y, beyond * (1 + x) - y * y) * 0.5;
    }
    return pair(sign_like(part, re), sign_like(angle, im));
}
FN c128 c_arctan(c128 z) { return turned_back(c_arctanh(turned(z))); }

FN c128 c_product(c128 a, c128 b) { return pair(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re); }
// Whole exponents below a hundred are products, as in NumPy.
CALL c128 c_power(c128 a, c128 b) {
    if (b.re == 0 && b.im == 0) return pair(1.0, 0.0);
    if (a.re == 0 && a.im == 0) return b.re > 0 ? pair(0.0, 0.0) : pair(nan_f64(), nan_f64());
    if (b.im == 0 && b.re == trunc(b.re) && fabs(b.re) < 100) {
        int whole = (int)b.re;
        u32 left = whole < 0 ? (u32)-whole : (u32)whole;
        c128 result = pair(1.0, 0.0), square = a;
        if (whole == 1) result = a;
        else if (whole == 2) result = c_product(a, a);
        else if (whole == 3) result = c_product(a, c_product(a, a));
        else while (true) {
            if (left & 1) result = c_product(result, square);
            left >>= 1;
            if (left == 0) break;
            square = c_product(square, square);
        }
        return whole < 0 ? nl_divide(pair(1.0, 0.0), result) : result;
    }
    return c_exp(c_product(b, c_log(a)));
}

FN c128 widen(c64 a) { return pair((f64)a.re, (f64)a.im); }
FN c64 narrow(c128 a) { return pair((f32)a.re, (f32)a.im); }
#define NL_COMPLEX(NAME) \
    FN c128 nl_##NAME(c128 a) { return c_##NAME(a); } \
    FN c64 nl_##NAME(c64 a) { return narrow(c_##NAME(widen(a))); }
NL_COMPLEX(sqrt)
NL_COMPLEX(exp)
NL_COMPLEX(exp2)
NL_COMPLEX(expm1)
NL_COMPLEX(log)
NL_COMPLEX(log2)
NL_COMPLEX(log10)
NL_COMPLEX(log1p)
NL_COMPLEX(sin)
NL_COMPLEX(cos)
NL_COMPLEX(tan)
NL_COMPLEX(arcsin)
NL_COMPLEX(arccos)
NL_COMPLEX(arctan)
NL_COMPLEX(sinh)
NL_COMPLEX(cosh)
NL_COMPLEX(tanh)
NL_COMPLEX(arcsinh)
NL_COMPLEX(arccosh)
NL_COMPLEX(arctanh)
FN c128 nl_power(c128 a, c128 b) { return c_power(a, b); }
FN c64 nl_power(c64 a, c64 b) { return narrow(c_power(widen(a), widen(b))); }
FN c128 nl_float_power(c128 a, c128 b) { return c_power(a, b); }
