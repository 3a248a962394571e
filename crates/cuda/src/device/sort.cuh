// A stable radix sort, eight bits a pass, lowest first. T is the element, K its key; PAIRS: places go along with keys.
// A warp has a run of 32 * ITEMS keys, read item by item across its lanes, so that ranks keep their order.
struct Words16 { u64 w[16]; };
enum { TILE = 256 * ITEMS };

FN K key_of_bits(K bits, bool negative) { return negative ? (K)~bits : (K)(bits | TOP); }
// Floats in the order of NumPy: NaN last; for places, zeros of both signs are equal.
FN K key(T v) {
#if FLOATING
    K bits = BITS(v);
    if ((K)(bits & (K)~TOP) > INFINITE) return (K)~(K)0;
    if (PAIRS && (K)(bits & (K)~TOP) == 0) bits = 0;
    return key_of_bits(bits, (bits & TOP) != 0);
#else
    return (K)((K)v ^ FLIP);
#endif
}
FN T value(K k) {
#if FLOATING
    return FROM_BITS((K)(k & TOP ? k & (K)~TOP : (K)~k));
#else
    return (T)(K)(k ^ FLIP);
#endif
}
FN K key_at(const u64* w, i64 i) {
    return w[7] & 1 ? key(load<T>((const char*)w[0] + i * (i64)sizeof(Memory<T>::type))) : ((const K*)w[0])[i];
}
// keys in, keys out, places in, places out, n, tiles, shift, flags (1: first pass, 2: last), counts
extern "C" __global__ void __launch_bounds__(256) sort_count(const __grid_constant__ Words16 a) {
    __shared__ u32 counts[256];
    const i64 n = (i64)a.w[4], base = (i64)blockIdx.x * TILE;
    const int shift = (int)a.w[6];
    counts[threadIdx.x] = 0;
    __syncthreads();
    for (int i = 0; i < ITEMS; i++) {
        const i64 at = base + i * 256 + threadIdx.x;
        if (at < n) atomicAdd(&counts[(u32)(key_at(a.w, at) >> shift) & 255], 1u);
    }
    __syncthreads();
    // Digit by digit, then tile by tile: a running sum of this is where each tile's keys of a digit end.
    ((u32*)a.w[8])[(i64)threadIdx.x * (i64)a.w[5] + blockIdx.x] = counts[threadIdx.x];
}
extern "C" __global__ void __launch_bounds__(256) sort_scatter(const __grid_constant__ Words16 a) {
    __shared__ u32 warp_counts[8][256];
    __shared__ u32 starts[256], sums[256];
    __shared__ i64 targets[256];
    __shared__ K keys[TILE];
#if PAIRS
    __shared__ u32 places[TILE];
#endif
    const i64 n = (i64)a.w[4], base = (i64)blockIdx.x * TILE;
    const int shift = (int)a.w[6], t = (int)threadIdx.x, lane = t & 31, warp = t >> 5;
    const u32 below = (1u << lane) - 1;
    for (int w = 0; w < 8; w++) warp_counts[w][t] = 0;
    __syncthreads();
    K own[ITEMS];
    u32 rank[ITEMS];
    for (int i = 0; i < ITEMS; i++) {
        const i64 at = base + warp * (32 * ITEMS) + i * 32 + lane;
        own[i] = at < n ? key_at(a.w, at) : (K)0;
        // Keys beyond the end have a digit of their own, and are counted nowhere.
        const u32 digit = at < n ? (u32)(own[i] >> shift) & 255 : 256u;
        const u32 same = __match_any_sync(0xffffffffu, digit);
        rank[i] = digit < 256 ? warp_counts[warp][digit] + (u32)__popc(same & below) : 0;
        __syncwarp();
        if (digit < 256 && (same & below) == 0) warp_counts[warp][digit] += (u32)__popc(same);
        __syncwarp();
    }
    __syncthreads();
    u32 count = 0;
    for (int w = 0; w < 8; w++) {
        const u32 here = warp_counts[w][t];
        warp_counts[w][t] = count;
        count += here;
    }
    sums[t] = count;
    __syncthreads();
    for (int d = 1; d < 256; d <<= 1) {
        const u32 other = t >= d ? sums[t - d] : 0;
        __syncthreads();
        sums[t] += other;
        __syncthreads();
    }
    starts[t] = sums[t] - count;
    targets[t] = (i64)((const u32*)a.w[8])[(i64)t * (i64)a.w[5] + blockIdx.x] - count;
    __syncthreads();
    for (int i = 0; i < ITEMS; i++) {
        const i64 at = base + warp * (32 * ITEMS) + i * 32 + lane;
        if (at >= n) continue;
        const u32 digit = (u32)(own[i] >> shift) & 255;
        const u32 to = starts[digit] + warp_counts[warp][digit] + rank[i];
        keys[to] = own[i];
#if PAIRS
        places[to] = a.w[7] & 1 ? (u32)at : ((const u32*)a.w[2])[at];
#endif
    }
    __syncthreads();
    const int valid = n - base < TILE ? (int)(n - base) : (int)TILE;
    for (int j = t; j < valid; j += 256) {
        const K k = keys[j];
        const u32 digit = (u32)(k >> shift) & 255;
        const i64 to = targets[digit] + (j - (i64)starts[digit]);
#if PAIRS
        if (a.w[7] & 2) {
            ((i64*)a.w[3])[to] = places[j];
            continue;
        }
        ((u32*)a.w[3])[to] = places[j];
        ((K*)a.w[1])[to] = k;
#else
        if (a.w[7] & 2) store<T>((char*)a.w[1] + to * (i64)sizeof(Memory<T>::type), value(k));
        else ((K*)a.w[1])[to] = k;
#endif
    }
}
