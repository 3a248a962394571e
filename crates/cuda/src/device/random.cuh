// Random numbers of a fixed number of words each. PHILOX, DXSM: which stream. HALVES: a word makes two elements, the low
// half first. OUT: the element, FROM(bits): made of a word.
struct Words16 { u64 w[16]; };

#if PHILOX
// Words: 4 to 7 counter, 8 and 9 key, 10 how many words of the first block are gone.
FN void philox(u64 (&c)[4], u64 k0, u64 k1) {
    for (int round = 0; round < 10; round++) {
        const u64 a = 0xD2E7470EE14C6C93ull, b = 0xCA5A826395121157ull;
        const u64 c0 = high_product(b, c[2]) ^ c[1] ^ k0, c1 = b * c[2];
        const u64 c2 = high_product(a, c[0]) ^ c[3] ^ k1, c3 = a * c[0];
        c[0] = c0; c[1] = c1; c[2] = c2; c[3] = c3;
        k0 += 0x9E3779B97F4A7C15ull;
        k1 += 0xBB67AE8584CAA73Bull;
    }
}
#else
// Words: 4 and 5 state, 6 and 7 increment, low words first.
struct Wide { u64 low, high; };
FN Wide wide(u64 low, u64 high) { Wide r; r.low = low; r.high = high; return r; }
FN Wide times(Wide a, Wide b) {
    return wide(a.low * b.low, high_product(a.low, b.low) + a.low * b.high + a.high * b.low);
}
FN Wide plus(Wide a, Wide b) {
    const u64 low = a.low + b.low;
    return wide(low, a.high + b.high + (low < a.low));
}
// `n` steps at once.
struct Leap {
    Wide mult, add;
    __device__ __forceinline__ Leap(u64 n, Wide m, Wide p) : mult(wide(1, 0)), add(wide(0, 0)) {
        for (; n; n >>= 1) {
            if (n & 1) {
                mult = times(mult, m);
                add = plus(times(add, m), p);
            }
            p = times(plus(m, wide(1, 0)), p);
            m = times(m, m);
        }
    }
    __device__ __forceinline__ Wide of(Wide state) const { return plus(times(state, mult), add); }
};
FN u64 output(Wide s) {
#if DXSM
    u64 h = s.high;
    h ^= h >> 32;
    h *= 0xDA942042E4DD58B5ull;
    h ^= h >> 48;
    return h * (s.low | 1);
#else
    const u64 x = s.high ^ s.low;
    const int r = (int)(s.high >> 58);
    return x >> r | x << (-r & 63);
#endif
}
#endif

// Words: 0 array, 1 how many elements, 2 whether the first of them is made of what is left, 3 what is left; from 12 on
// what FROM takes.
FN void emit(const Words16& a, u64 word, u64 at) {
    OUT* const out = (OUT*)a.w[0];
#if HALVES
    const u64 e = 2 * at + a.w[2], n = a.w[1];
    out[e] = FROM((u32)word);
    if (e + 1 < n) out[e + 1] = FROM((u32)(word >> 32));
#else
    out[at] = FROM(word);
#endif
}
extern "C" __global__ void __launch_bounds__(256) draw(const __grid_constant__ Words16 a) {
    const u64 thread = (u64)blockIdx.x * blockDim.x + threadIdx.x, threads = (u64)gridDim.x * blockDim.x;
    const u64 rest = a.w[1] - a.w[2], words = HALVES ? (rest + 1) / 2 : rest;
    if (HALVES && thread == 0 && a.w[2]) ((OUT*)a.w[0])[0] = FROM((u32)a.w[3]);
#if PHILOX
    const u64 used = a.w[10], blocks = (used + words + 3) / 4;
    for (u64 block = thread; block < blocks; block += threads) {
        u64 c[4] = {a.w[4] + block, a.w[5], a.w[6], a.w[7]};
        // The carry goes on as far as it must.
        if (c[0] < block && ++c[1] == 0 && ++c[2] == 0) ++c[3];
        philox(c, a.w[8], a.w[9]);
        for (u64 k = 0; k < 4; k++) {
            const u64 at = 4 * block + k - used;
            if (at < words) emit(a, c[k], at);
        }
    }
#else
    const Wide inc = wide(a.w[6], a.w[7]);
    const Wide step = DXSM ? wide(0xDA942042E4DD58B5ull, 0) : wide(0x4385DF649FCCF645ull, 0x2360ED051FC65DA4ull);
    Wide state = Leap(thread + !DXSM, step, inc).of(wide(a.w[4], a.w[5]));
    const Leap leap(threads, step, inc);
    for (u64 at = thread; at < words; at += threads) {
        emit(a, output(state), at);
        state = leap.of(state);
    }
#endif
}
