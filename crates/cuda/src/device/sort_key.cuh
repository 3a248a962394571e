// What a sort goes by. T is the element, B unsigned bits of its size: the key, of the same order.
struct Words16 { u64 w[16]; };

FN B key_of_bits(B bits, bool negative) { return negative ? (B)~bits : (B)(bits | TOP); }
// Floats in the order of NumPy: NaN last; where what is equal keeps its order, so do zeros of both signs.
FN B key(T v) {
#if FLOATING
    B bits = BITS(v);
    if ((B)(bits & (B)~TOP) > INFINITE) return (B)~(B)0;
    if (EQUAL_ZEROS && (B)(bits & (B)~TOP) == 0) bits = 0;
    return key_of_bits(bits, (bits & TOP) != 0);
#else
    return (B)((B)v ^ FLIP);
#endif
}
FN T value(B k) {
#if FLOATING
    return FROM_BITS((B)(k & TOP ? k & (B)~TOP : (B)~k));
#else
    return (T)(B)(k ^ FLIP);
#endif
}
// What comes before this thread's `own` among the block's, in order of threads.
FN u32 before_in_block(u32 own, u32* room) {
    const int t = (int)threadIdx.x, lane = t & 31;
    u32 running = own;
    for (int d = 1; d < 32; d <<= 1) {
        const u32 other = __shfl_up_sync(0xffffffffu, running, d);
        if (lane >= d) running += other;
    }
    if (lane == 31) room[t >> 5] = running;
    __syncthreads();
    u32 base = 0;
    for (int i = 0; i < t >> 5; i++) base += room[i];
    return base + running - own;
}
// The rank of a lane's key among the keys of its digit that its warp has had, which `counts` knows; lanes that are not
// `in` have no key. `below`: the lanes before this one.
FN u16 rank_in_warp(u32* counts, u32 digit, bool in, u32 below) {
    u32 same = __ballot_sync(0xffffffffu, in);
#pragma unroll
    for (int b = 0; b < 8; b++) {
        const bool set = digit >> b & 1;
        const u32 with = __ballot_sync(0xffffffffu, set);
        same &= set ? with : ~with;
    }
    const u32 before = in ? counts[digit] : 0;
    __syncwarp();
    if (in && (same & below) == 0) counts[digit] = before + (u32)__popc(same);
    __syncwarp();
    return (u16)(before + (u32)__popc(same & below));
}
