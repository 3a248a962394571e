// What device code takes from intrinsics, by the host compiler.
FN u32 bits_of(f32 a) { u32 b; memcpy(&b, &a, 4); return b; }
FN u64 bits_of(f64 a) { u64 b; memcpy(&b, &a, 8); return b; }
FN f32 float_of(u32 b) { f32 a; memcpy(&a, &b, 4); return a; }
FN f64 float_of(u64 b) { f64 a; memcpy(&a, &b, 8); return a; }
FN f32 widen(f16 a) { _Float16 h; memcpy(&h, &a, 2); return (f32)h; }
FN f16 narrow(f32 a) { _Float16 h = (_Float16)a; f16 r; memcpy(&r, &h, 2); return r; }
FN f16 narrow(f64 a) { _Float16 h = (_Float16)a; f16 r; memcpy(&r, &h, 2); return r; }
FN u8 byte_of(u32 a, int i) { return (u8)(a >> 8 * i); }
FN u32 negated(u32 a) { return 0 - a; }
FN u64 high_product(u64 a, u64 b) { return (u64)((unsigned __int128)a * b >> 64); }
FN f32 fused(f32 a, f32 b, f32 c) { return fmaf(a, b, c); }
// As rough as a GPU's: they must be corrected.
FN f32 about_inverse(f32 a) { return (1.0f / a) * (1.0f + 1.1920929e-7f); }
FN f32 about_inverse_root(f32 a) { return (1.0f / sqrtf(a)) * (1.0f - 1.1920929e-7f); }
