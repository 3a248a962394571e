//! The distributions with parameters, one row each: their names as methods, their parameters, what a parameter must
//! satisfy, and how an element is drawn. `draw.rs` runs them, the bindings read the arguments by them.

use crate::binomial::Binomial;
use crate::bits::Bits;
use crate::continuous;
use crate::discrete::{self, Poisson};
use crate::gamma::{self, Normals, Ziggurat};
use crate::hypergeometric;
use crate::legacy::{self, Kept, Polar};

/// What a parameter must satisfy; NumPy words what does not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Check {
    Anything,
    NonNegative,
    Positive,
    PositiveNumber,
    /// In [0, 1].
    Unit,
    /// In (0, 1].
    UnitAboveZero,
    /// In [0, 1).
    UnitBelowOne,
    AboveOne,
    OneOrMore,
    /// At most this, and not negative.
    UpTo(f64),
}

impl Check {
    pub fn holds(self, x: f64) -> bool {
        match self {
            Check::Anything => true,
            Check::NonNegative => x.is_nan() || !x.is_sign_negative(),
            // As NumPy: what is not a number is not known to be too small.
            Check::Positive => !(x <= 0.0),
            Check::PositiveNumber => x > 0.0,
            Check::Unit => (0.0..=1.0).contains(&x),
            Check::UnitAboveZero => x > 0.0 && x <= 1.0,
            Check::UnitBelowOne => (0.0..1.0).contains(&x),
            Check::AboveOne => x > 1.0,
            Check::OneOrMore => x >= 1.0,
            Check::UpTo(most) => (0.0..=most).contains(&x),
        }
    }
}

pub struct Param {
    pub name: &'static str,
    pub default: Option<f64>,
    /// An int64 rather than a double.
    pub integer: bool,
    pub check: Check,
}

const fn real(name: &'static str, check: Check) -> Param {
    Param { name, default: None, integer: false, check }
}

const fn or(name: &'static str, default: f64, check: Check) -> Param {
    Param { name, default: Some(default), integer: false, check }
}

const fn int(name: &'static str, check: Check) -> Param {
    Param { name, default: None, integer: true, check }
}

/// The parameters of one element, in the order of the row; integers in `i`, all others in `f`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Values {
    pub f: [f64; 3],
    pub i: [i64; 3],
}

/// An element: a double, or an int64 in the same bits.
#[derive(Clone, Copy, Debug)]
pub enum Element {
    F(f64),
    I(i64),
}

impl Element {
    pub fn bits(self) -> u64 {
        match self {
            Element::F(x) => x.to_bits(),
            Element::I(x) => x as u64,
        }
    }
}

/// The largest mean of a Poisson whose values are sure to fit.
const POISSON_MOST: f64 = 9.223372006484771e+18;

macro_rules! distributions {
    ($($kind:ident: $name:literal, [$($param:expr),*], $integer:literal, |$d:ident, $v:ident| $draw:expr;)*) => {
        /// A distribution of `ROWS`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Distribution { $($kind),* }

        pub struct Row {
            pub name: &'static str,
            pub kind: Distribution,
            pub params: &'static [Param],
            /// Elements are int64 rather than doubles.
            pub integer: bool,
        }

        /// Rows whose name begins with `legacy_` are those of `RandomState`, where it draws differently.
        pub const ROWS: &[Row] = &[$(Row {
            name: $name, kind: Distribution::$kind, params: &[$($param),*], integer: $integer,
        }),*];

        impl Distribution {
            #[inline]
            pub fn draw<B: Bits>(self, draw: &mut Draw<B>, values: &Values) -> Element {
                match self {
                    $(Distribution::$kind => {
                        let ($d, $v) = (draw, values);
                        $draw.into()
                    })*
                }
            }
        }
    };
}

impl From<f64> for Element {
    fn from(x: f64) -> Element {
        Element::F(x)
    }
}

impl From<i64> for Element {
    fn from(x: i64) -> Element {
        Element::I(x)
    }
}

/// What an element is drawn from: the stream, the normal that `RandomState` kept, and what the last parameters of some
/// distributions were made into.
pub struct Draw<'a, B> {
    bits: &'a mut B,
    pub kept: Kept,
    binomial: Option<(i64, f64, Binomial)>,
    poisson: Option<Poisson>,
}

impl<'a, B: Bits> Draw<'a, B> {
    pub fn new(bits: &'a mut B, kept: Kept) -> Draw<'a, B> {
        Draw { bits, kept, binomial: None, poisson: None }
    }

    fn zig(&mut self) -> Ziggurat<'_, B> {
        Ziggurat(self.bits)
    }

    fn polar(&mut self) -> Polar<'_, B> {
        Polar { bits: self.bits, kept: &mut self.kept }
    }

    fn binomial(&mut self, n: i64, p: f64, legacy: bool) -> i64 {
        if !matches!(&self.binomial, Some((n0, p0, _)) if *n0 == n && *p0 == p) {
            self.binomial = Some((n, p, Binomial::new(n, p, legacy)));
        }
        self.binomial.as_ref().map_or(0, |(_, _, made)| made.draw(self.bits))
    }

    fn poisson(&mut self, lam: f64) -> i64 {
        if !(lam >= 10.0) {
            return discrete::poisson(self.bits, lam);
        }
        let known = self.poisson.filter(|p| p.is_of(lam));
        let made = known.unwrap_or_else(|| Poisson::new(lam));
        self.poisson = Some(made);
        made.draw(self.bits)
    }
}

use Check::*;

distributions! {
    Uniform: "uniform", [or("low", 0.0, Anything), or("high", 1.0, Anything)], false,
        |d, v| v.f[0] + (v.f[1] - v.f[0]) * d.bits.next_f64();
    Normal: "normal", [or("loc", 0.0, Anything), or("scale", 1.0, NonNegative)], false,
        |d, v| v.f[0] + v.f[1] * d.zig().normal();
    Exponential: "exponential", [or("scale", 1.0, NonNegative)], false,
        |d, v| v.f[0] * d.zig().exponential();
    StandardGamma: "standard_gamma", [real("shape", NonNegative)], false,
        |d, v| gamma::standard_gamma(&mut d.zig(), v.f[0]);
    Gamma: "gamma", [real("shape", NonNegative), or("scale", 1.0, NonNegative)], false,
        |d, v| v.f[1] * gamma::standard_gamma(&mut d.zig(), v.f[0]);
    Beta: "beta", [real("a", Positive), real("b", Positive)], false,
        |d, v| gamma::beta(&mut d.zig(), v.f[0], v.f[1]);
    F: "f", [real("dfnum", Positive), real("dfden", Positive)], false,
        |d, v| gamma::f(&mut d.zig(), v.f[0], v.f[1]);
    NoncentralF: "noncentral_f", [real("dfnum", Positive), real("dfden", Positive), real("nonc", NonNegative)], false,
        |d, v| continuous::noncentral_f(d.bits, v.f[0], v.f[1], v.f[2]);
    Chisquare: "chisquare", [real("df", Positive)], false,
        |d, v| gamma::chisquare(&mut d.zig(), v.f[0]);
    NoncentralChisquare: "noncentral_chisquare", [real("df", Positive), real("nonc", NonNegative)], false,
        |d, v| continuous::noncentral_chisquare(d.bits, v.f[0], v.f[1]);
    StandardCauchy: "standard_cauchy", [], false,
        |d, _v| continuous::standard_cauchy(d.bits);
    StandardT: "standard_t", [real("df", Positive)], false,
        |d, v| gamma::standard_t(&mut d.zig(), v.f[0]);
    Vonmises: "vonmises", [real("mu", Anything), real("kappa", NonNegative)], false,
        |d, v| continuous::vonmises(d.bits, v.f[0], v.f[1], false);
    Pareto: "pareto", [real("a", Positive)], false,
        |d, v| continuous::pareto(d.bits, v.f[0]);
    Weibull: "weibull", [real("a", NonNegative)], false,
        |d, v| continuous::weibull(d.bits, v.f[0]);
    Power: "power", [real("a", Positive)], false,
        |d, v| continuous::power(d.bits, v.f[0]);
    Laplace: "laplace", [or("loc", 0.0, Anything), or("scale", 1.0, NonNegative)], false,
        |d, v| continuous::laplace(d.bits, v.f[0], v.f[1]);
    Gumbel: "gumbel", [or("loc", 0.0, Anything), or("scale", 1.0, NonNegative)], false,
        |d, v| continuous::gumbel(d.bits, v.f[0], v.f[1]);
    Logistic: "logistic", [or("loc", 0.0, Anything), or("scale", 1.0, NonNegative)], false,
        |d, v| continuous::logistic(d.bits, v.f[0], v.f[1]);
    Lognormal: "lognormal", [or("mean", 0.0, Anything), or("sigma", 1.0, NonNegative)], false,
        |d, v| (v.f[0] + v.f[1] * d.zig().normal()).exp();
    Rayleigh: "rayleigh", [or("scale", 1.0, NonNegative)], false,
        |d, v| continuous::rayleigh(d.bits, v.f[0]);
    Wald: "wald", [real("mean", Positive), real("scale", Positive)], false,
        |d, v| continuous::wald(d.bits, v.f[0], v.f[1]);
    Triangular: "triangular", [real("left", Anything), real("mode", Anything), real("right", Anything)], false,
        |d, v| continuous::triangular(d.bits, v.f[0], v.f[1], v.f[2]);
    Binomial_: "binomial", [int("n", NonNegative), real("p", Unit)], true,
        |d, v| d.binomial(v.i[0], v.f[1], false);
    NegativeBinomial: "negative_binomial", [real("n", PositiveNumber), real("p", UnitAboveZero)], true,
        |d, v| { let lam = discrete::negative_binomial_mean(&mut d.zig(), v.f[0], v.f[1]); discrete::poisson(d.bits, lam) };
    Poisson: "poisson", [or("lam", 1.0, UpTo(POISSON_MOST))], true,
        |d, v| d.poisson(v.f[0]);
    Zipf: "zipf", [real("a", AboveOne)], true,
        |d, v| discrete::zipf(d.bits, v.f[0]);
    Geometric: "geometric", [real("p", UnitAboveZero)], true,
        |d, v| discrete::geometric(d.bits, v.f[0]);
    Hypergeometric: "hypergeometric", [int("ngood", NonNegative), int("nbad", NonNegative), int("nsample", NonNegative)], true,
        |d, v| hypergeometric::hypergeometric(d.bits, v.i[0], v.i[1], v.i[2]);
    Logseries: "logseries", [real("p", UnitBelowOne)], true,
        |d, v| discrete::logseries(d.bits, v.f[0], false);
    LegacyUniform: "legacy_uniform", [or("low", 0.0, Anything), or("high", 1.0, Anything)], false,
        |d, v| v.f[0] + (v.f[1] - v.f[0]) * d.bits.next_f64();
    LegacyStandardNormal: "legacy_standard_normal", [], false,
        |d, _v| d.polar().normal();
    LegacyNormal: "legacy_normal", [or("loc", 0.0, Anything), or("scale", 1.0, NonNegative)], false,
        |d, v| v.f[0] + v.f[1] * d.polar().normal();
    LegacyExponential: "legacy_exponential", [or("scale", 1.0, NonNegative)], false,
        |d, v| v.f[0] * d.polar().exponential();
    LegacyStandardGamma: "legacy_standard_gamma", [real("shape", NonNegative)], false,
        |d, v| gamma::standard_gamma(&mut d.polar(), v.f[0]);
    LegacyGamma: "legacy_gamma", [real("shape", NonNegative), or("scale", 1.0, NonNegative)], false,
        |d, v| v.f[1] * gamma::standard_gamma(&mut d.polar(), v.f[0]);
    LegacyBeta: "legacy_beta", [real("a", Positive), real("b", Positive)], false,
        |d, v| legacy::beta(&mut d.polar(), v.f[0], v.f[1]);
    LegacyF: "legacy_f", [real("dfnum", Positive), real("dfden", Positive)], false,
        |d, v| gamma::f(&mut d.polar(), v.f[0], v.f[1]);
    LegacyNoncentralF: "legacy_noncentral_f",
        [real("dfnum", Positive), real("dfden", Positive), real("nonc", NonNegative)], false,
        |d, v| legacy::noncentral_f(&mut d.polar(), v.f[0], v.f[1], v.f[2]);
    LegacyChisquare: "legacy_chisquare", [real("df", Positive)], false,
        |d, v| gamma::chisquare(&mut d.polar(), v.f[0]);
    LegacyNoncentralChisquare: "legacy_noncentral_chisquare", [real("df", Positive), real("nonc", NonNegative)], false,
        |d, v| legacy::noncentral_chisquare(&mut d.polar(), v.f[0], v.f[1]);
    LegacyStandardCauchy: "legacy_standard_cauchy", [], false,
        |d, _v| { let over = d.polar().normal(); over / d.polar().normal() };
    LegacyStandardT: "legacy_standard_t", [real("df", Positive)], false,
        |d, v| gamma::standard_t(&mut d.polar(), v.f[0]);
    LegacyVonmises: "legacy_vonmises", [real("mu", Anything), real("kappa", NonNegative)], false,
        |d, v| continuous::vonmises(d.bits, v.f[0], v.f[1], true);
    LegacyPareto: "legacy_pareto", [real("a", Positive)], false,
        |d, v| (d.polar().exponential() / v.f[0]).exp() - 1.0;
    LegacyWeibull: "legacy_weibull", [real("a", NonNegative)], false,
        |d, v| if v.f[0] == 0.0 { 0.0 } else { d.polar().exponential().powf(1.0 / v.f[0]) };
    LegacyPower: "legacy_power", [real("a", Positive)], false,
        |d, v| (1.0 - (-d.polar().exponential()).exp()).powf(1.0 / v.f[0]);
    LegacyLognormal: "legacy_lognormal", [or("mean", 0.0, Anything), or("sigma", 1.0, NonNegative)], false,
        |d, v| (v.f[0] + v.f[1] * d.polar().normal()).exp();
    LegacyRayleigh: "legacy_rayleigh", [or("scale", 1.0, NonNegative)], false,
        |d, v| v.f[0] * (-2.0 * (-d.bits.next_f64()).ln_1p()).sqrt();
    LegacyWald: "legacy_wald", [real("mean", Positive), real("scale", Positive)], false,
        |d, v| legacy::wald(&mut d.polar(), v.f[0], v.f[1]);
    LegacyBinomial: "legacy_binomial", [int("n", NonNegative), real("p", Unit)], true,
        |d, v| d.binomial(v.i[0], v.f[1], true);
    LegacyNegativeBinomial: "legacy_negative_binomial", [real("n", Positive), real("p", Unit)], true,
        |d, v| { let lam = discrete::negative_binomial_mean(&mut d.polar(), v.f[0], v.f[1]); discrete::poisson(d.bits, lam) };
    LegacyZipf: "legacy_zipf", [real("a", AboveOne)], true,
        |d, v| legacy::zipf(d.bits, v.f[0]);
    LegacyGeometric: "legacy_geometric", [real("p", UnitAboveZero)], true,
        |d, v| legacy::geometric(d.bits, v.f[0]);
    LegacyHypergeometric: "legacy_hypergeometric",
        [int("ngood", NonNegative), int("nbad", NonNegative), int("nsample", OneOrMore)], true,
        |d, v| hypergeometric::legacy_hypergeometric(d.bits, v.i[0], v.i[1], v.i[2]);
    LegacyLogseries: "legacy_logseries", [real("p", UnitBelowOne)], true,
        |d, v| discrete::logseries(d.bits, v.f[0], true);
}

impl Distribution {
    /// Whether it takes 64-bit words only.
    pub fn is_wide(self) -> bool {
        self != Distribution::Hypergeometric
    }

    /// What the parameters must satisfy together.
    pub fn accepts(self, v: &Values) -> bool {
        match self {
            Distribution::Uniform => {
                let range = v.f[1] - v.f[0];
                range.is_finite() && !range.is_sign_negative()
            }
            Distribution::LegacyUniform => (v.f[1] - v.f[0]).is_finite(),
            Distribution::Triangular => v.f[0] <= v.f[1] && v.f[1] <= v.f[2] && v.f[0] != v.f[2],
            Distribution::NegativeBinomial => {
                let (n, p) = (v.f[0], v.f[1]);
                (1.0 - p) / p * (n + 10.0 * n.sqrt()) <= POISSON_MOST
            }
            Distribution::Hypergeometric => {
                v.i[0] < 1_000_000_000 && v.i[1] < 1_000_000_000 && v.i[0] + v.i[1] >= v.i[2]
            }
            Distribution::LegacyHypergeometric => v.i[0].checked_add(v.i[1]).is_some_and(|all| all >= v.i[2]),
            // A Poisson of an infinite mean would not end.
            Distribution::LegacyNegativeBinomial => v.f[0].is_finite() && v.f[1] > 0.0,
            Distribution::LegacyGeometric => v.f[0] > 0.0,
            _ => true,
        }
    }
}
