//! How the scalar functions are written down: `two!(Add, Ieee, [f32 f64], |a, b| a + b)`.

/// `one!(Op, Style, [types] (-> Out)?, |a (, flags)?| body)`: without `-> Out` the result is of the argument's type.
macro_rules! one {
    ($k:ident, $style:ident, [$($t:ty)*], |$a:ident| $e:expr) => { one!($k, $style, [$($t)*], |$a, _flags| $e); };
    ($k:ident, $style:ident, [$($t:ty)*] -> $o:ty, |$a:ident| $e:expr) => { one!($k, $style, [$($t)*] -> $o, |$a, _flags| $e); };
    ($k:ident, $style:ident, [$($t:ty)*], |$a:ident, $fl:ident| $e:expr) => { $(one!(@ $k, $style, $t, $t, $a, $fl, $e);)* };
    ($k:ident, $style:ident, [$($t:ty)*] -> $o:ty, |$a:ident, $fl:ident| $e:expr) => { $(one!(@ $k, $style, $t, $o, $a, $fl, $e);)* };
    (@ $k:ident, $style:ident, $t:ty, $o:ty, $a:ident, $fl:ident, $e:expr) => {
        impl $crate::map::One<$t> for $crate::kernels::$k {
            type Out = $o;
            const STYLE: $crate::map::Style = $crate::map::Style::$style;
            #[inline(always)]
            fn call($a: $t, $fl: &mut u8) -> $o {
                #[allow(dead_code)]
                type T = $t;
                $e
            }
        }
    };
}

/// `two!(Op, Style, [types] (-> Out)?, |a, b (, flags)?| body)`: both arguments are of one type.
macro_rules! two {
    ($k:ident, $style:ident, [$($t:ty)*], |$a:ident, $b:ident| $e:expr) => { two!($k, $style, [$($t)*], |$a, $b, _flags| $e); };
    ($k:ident, $style:ident, [$($t:ty)*] -> $o:ty, |$a:ident, $b:ident| $e:expr) => { two!($k, $style, [$($t)*] -> $o, |$a, $b, _flags| $e); };
    ($k:ident, $style:ident, [$($t:ty)*], |$a:ident, $b:ident, $fl:ident| $e:expr) => { $(two!(@ $k, $style, $t, $t, $t, $a, $b, $fl, $e);)* };
    ($k:ident, $style:ident, [$($t:ty)*] -> $o:ty, |$a:ident, $b:ident, $fl:ident| $e:expr) => { $(two!(@ $k, $style, $t, $t, $o, $a, $b, $fl, $e);)* };
    (@ $k:ident, $style:ident, $t:ty, $u:ty, $o:ty, $a:ident, $b:ident, $fl:ident, $e:expr) => {
        impl $crate::map::Two<$t, $u> for $crate::kernels::$k {
            type Out = $o;
            const STYLE: $crate::map::Style = $crate::map::Style::$style;
            #[inline(always)]
            fn call($a: $t, $b: $u, $fl: &mut u8) -> $o {
                #[allow(dead_code)]
                type T = $t;
                $e
            }
        }
    };
}

/// The binary16 loops of functions that have one for `f32`: widen, compute, round.
macro_rules! one_through_f32 {
    ($($k:ident)*) => { $(
        impl $crate::map::One<Half> for $crate::kernels::$k {
            type Out = Half;
            const STYLE: $crate::map::Style = <$crate::kernels::$k as $crate::map::One<f32>>::STYLE;
            #[inline(always)]
            fn call(a: Half, flags: &mut u8) -> Half {
                let wide = <$crate::kernels::$k as $crate::map::One<f32>>::call(a.widen(), flags);
                Half::narrow(wide, flags)
            }
        }
    )* };
}

macro_rules! two_through_f32 {
    ($($k:ident)*) => { $(
        impl $crate::map::Two<Half, Half> for $crate::kernels::$k {
            type Out = Half;
            const STYLE: $crate::map::Style = <$crate::kernels::$k as $crate::map::Two<f32, f32>>::STYLE;
            #[inline(always)]
            fn call(a: Half, b: Half, flags: &mut u8) -> Half {
                let wide = <$crate::kernels::$k as $crate::map::Two<f32, f32>>::call(a.widen(), b.widen(), flags);
                Half::narrow(wide, flags)
            }
        }
    )* };
}
pub(crate) use {one, one_through_f32, two, two_through_f32};
