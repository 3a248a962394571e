// Floats to integers as x86 converts: what is out of range becomes the lowest integer of 32 or 64 bits.
FN i32 to_i32(f32 a) {
    bool inside = a >= -2147483648.0f && a < 2147483648.0f;
    return inside ? (i32)a : (-2147483647 - 1);
}
FN i32 to_i32(f64 a) {
    bool inside = a > -2147483649.0 && a < 2147483648.0;
    return inside ? (i32)a : (-2147483647 - 1);
}
FN i64 to_i64(f32 a) {
    bool inside = a >= -9223372036854775808.0f && a < 9223372036854775808.0f;
    return inside ? (i64)a : (-9223372036854775807ll - 1);
}
FN i64 to_i64(f64 a) {
    bool inside = a >= -9223372036854775808.0 && a < 9223372036854775808.0;
    return inside ? (i64)a : (-9223372036854775807ll - 1);
}
// The unsigned half that has no instruction is moved down and its top bit put back.
template <class F> FN u32 to_u32(F a) {
    bool high = a >= (F)2147483648.0;
    return (u32)to_i32(high ? a - (F)2147483648.0 : a) ^ ((u32)high << 31);
}
template <class F> FN u64 to_u64(F a) {
    bool high = a >= (F)9223372036854775808.0;
    return (u64)to_i64(high ? a - (F)9223372036854775808.0 : a) ^ ((u64)high << 63);
}
