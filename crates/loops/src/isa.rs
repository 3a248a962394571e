//! One body, compiled for three instruction sets; the machine's best is found once.

use std::sync::LazyLock;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Isa {
    Baseline,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// The best this machine has.
pub static ISA: LazyLock<Isa> = LazyLock::new(|| {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        let avx2 = has!("avx2") && has!("fma") && has!("f16c") && has!("bmi1") && has!("bmi2") && has!("popcnt");
        if avx2 && has!("avx512f") && has!("avx512bw") && has!("avx512dq") && has!("avx512vl") {
            return Isa::Avx512;
        }
        if avx2 {
            return Isa::Avx2;
        }
    }
    Isa::Baseline
});

/// Declares `$name(isa) -> pointer` to `$body` compiled for `isa`. The body and everything it calls
/// must be `inline(always)`: only what is inlined is compiled with the wider instructions. Given
/// `; plain f`, the oldest x86-64 machines run `f` instead: a third less code for hardly anyone's loss.
macro_rules! for_each_isa {
    ($vis:vis $name:ident = $body:ident [$($gen:ident: $bound:path),* $(; plain $plain:ident)?] ($($arg:ident: $t:ty),*) -> $ret:ty) => {
        $vis fn $name<$($gen: $bound),*>(isa: $crate::isa::Isa) -> unsafe fn($($t),*) -> $ret {
            unsafe fn baseline<$($gen: $bound),*>($($arg: $t),*) -> $ret {
                for_each_isa!(@baseline [$body $($plain)?] [$($gen),*] ($($arg),*))
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,bmi1,bmi2,popcnt")]
            unsafe fn avx2<$($gen: $bound),*>($($arg: $t),*) -> $ret {
                $body::<$($gen),*>($($arg),*)
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,bmi1,bmi2,popcnt,avx512f,avx512bw,avx512dq,avx512vl")]
            unsafe fn avx512<$($gen: $bound),*>($($arg: $t),*) -> $ret {
                $body::<$($gen),*>($($arg),*)
            }
            match isa {
                $crate::isa::Isa::Baseline => baseline::<$($gen),*>,
                #[cfg(target_arch = "x86_64")]
                $crate::isa::Isa::Avx2 => avx2::<$($gen),*>,
                #[cfg(target_arch = "x86_64")]
                $crate::isa::Isa::Avx512 => avx512::<$($gen),*>,
            }
        }
    };
    (@baseline [$body:ident] [$($gen:ident),*] ($($arg:ident),*)) => { $body::<$($gen),*>($($arg),*) };
    (@baseline [$body:ident $plain:ident] [$($gen:ident),*] ($($arg:ident),*)) => {
        if cfg!(target_arch = "x86_64") { $plain::<$($gen),*>($($arg),*) } else { $body::<$($gen),*>($($arg),*) }
    };
}
pub(crate) use for_each_isa;
