// A stable radix sort, eight bits a pass, lowest first. T is the element, K its key; PAIRS: places go along with keys.
// One pass over the keys counts the digits of all passes. Then a pass reads every key once: a tile ranks its keys in
// shared memory, learns from the tiles before it where they go, and writes each digit's keys side by side.
// A warp has a run of 32 * ITEMS keys, read item by item across its lanes, so that ranks keep their order.
struct Words16 { u64 w[16]; };
// Blocks of a multiprocessor at once, which bounds the registers of each.
enum { TILE = 256 * ITEMS, BLOCKS = 3 };

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
// What a tile tells of a digit: nothing yet, its own keys, or those of all tiles up to it. One word, so that
// neither half can be seen without the other.
FN S tell(u32 kind, u32 count) { return (S)count | (S)kind << (8 * sizeof(S) - 2); }
FN u32 kind_of(S s) { return (u32)(s >> (8 * sizeof(S) - 2)); }
FN u32 count_of(S s) { return (u32)(s & (((S)1 << (8 * sizeof(S) - 2)) - 1)); }

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
// Words: keys in, keys out, places in, places out, n, tiles, pass, flags (1: first pass, 2: last), and the counters:
// a number of the next tile for each pass, counts of digits for each pass, what tiles tell for each pass.
#define NEXT_TILE(w) ((u32*)(w)[8])
#define DIGITS_OF(w, pass) ((u32*)(w)[8] + 256 + (pass) * 256)
#define TOLD_IN(w, pass) ((S*)((u32*)(w)[8] + 256 + PASSES * 256) + (i64)(pass) * (i64)(w)[5] * 256)
extern "C" __global__ void __launch_bounds__(256) sort_clear(const __grid_constant__ Words16 a) {
    const i64 words = 256 + PASSES * 256 + (i64)PASSES * (i64)a.w[5] * 256 * (sizeof(S) / 4);
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < words; i += (i64)gridDim.x * blockDim.x) NEXT_TILE(a.w)[i] = 0;
}
// Several counters of a digit, for different lanes: keys of few different digits wait less for each other.
enum { COPIES = 4 };
extern "C" __global__ void __launch_bounds__(256) sort_count(const __grid_constant__ Words16 a) {
    __shared__ u32 counts[PASSES * 256 * COPIES];
    const i64 n = (i64)a.w[4], stride = (i64)gridDim.x * (256 * 8);
    const int t = (int)threadIdx.x, copy = t & (COPIES - 1);
    for (int i = t; i < PASSES * 256 * COPIES; i += 256) counts[i] = 0;
    __syncthreads();
    for (i64 base = (i64)blockIdx.x * (256 * 8); base < n; base += stride) {
        K own[8];
#pragma unroll
        for (int i = 0; i < 8; i++) {
            const i64 at = base + i * 256 + t;
            own[i] = at < n ? key_at(a.w, at) : (K)0;
        }
#pragma unroll
        for (int i = 0; i < 8; i++) {
            if (base + i * 256 + t >= n) break;
#pragma unroll
            for (int p = 0; p < PASSES; p++) {
                atomicAdd(&counts[(p * 256 + ((u32)(own[i] >> 8 * p) & 255)) * COPIES + copy], 1u);
            }
        }
    }
    __syncthreads();
    for (int i = t; i < PASSES * 256; i += 256) {
        u32 all = 0;
        for (int c = 0; c < COPIES; c++) all += counts[i * COPIES + c];
        if (all) atomicAdd(DIGITS_OF(a.w, 0) + i, all);
    }
}
// Counts of digits become the places where their keys begin; a block for each pass.
extern "C" __global__ void __launch_bounds__(256) sort_starts(const __grid_constant__ Words16 a) {
    __shared__ u32 room[8];
    u32* const digits = DIGITS_OF(a.w, blockIdx.x);
    const u32 before = before_in_block(digits[threadIdx.x], room);
    digits[threadIdx.x] = before;
}
extern "C" __global__ void __launch_bounds__(256, BLOCKS) sort_pass(const __grid_constant__ Words16 a) {
    __shared__ u32 warp_counts[8][256];
    __shared__ u32 targets[256], room[8], own_tile;
    __shared__ K keys[TILE];
#if PAIRS
    __shared__ u32 places[TILE];
#endif
    const i64 n = (i64)a.w[4];
    const int pass = (int)a.w[6], shift = 8 * pass, t = (int)threadIdx.x, lane = t & 31, warp = t >> 5;
    const u32 below = (1u << lane) - 1;
    // Tiles are numbered as blocks come to run: those before one have begun, so that waiting for them ends.
    if (t == 0) own_tile = atomicAdd(NEXT_TILE(a.w) + pass, 1u);
#pragma unroll
    for (int w = 0; w < 8; w++) warp_counts[w][t] = 0;
    __syncthreads();
    const i64 tile = own_tile, base = tile * TILE;
    const int valid = n - base < TILE ? (int)(n - base) : (int)TILE, mine = warp * (32 * ITEMS) + lane;
    const char* const from = (const char*)a.w[0] + (base + mine) * (i64)sizeof(K);
    K own[ITEMS];
    u16 rank[ITEMS];
    if (valid == TILE) {
#pragma unroll
        for (int i = 0; i < ITEMS; i++) own[i] = *(const K*)(from + i * 32 * (int)sizeof(K));
    } else {
#pragma unroll
        for (int i = 0; i < ITEMS; i++) own[i] = mine + i * 32 < valid ? *(const K*)(from + i * 32 * (int)sizeof(K)) : (K)0;
    }
    if (a.w[7] & 1) {
#pragma unroll
        for (int i = 0; i < ITEMS; i++) own[i] = key(load<T>((const char*)&own[i]));
    }
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        const bool in = mine + i * 32 < valid;
        const u32 digit = (u32)(own[i] >> shift) & 255;
        // The lanes of the same digit; those beyond the end belong to none.
        u32 same = __ballot_sync(0xffffffffu, in);
#pragma unroll
        for (int b = 0; b < 8; b++) {
            const bool set = digit >> b & 1;
            const u32 with = __ballot_sync(0xffffffffu, set);
            same &= set ? with : ~with;
        }
        const u32 before = in ? warp_counts[warp][digit] : 0;
        rank[i] = (u16)(before + (u32)__popc(same & below));
        __syncwarp();
        if (in && (same & below) == 0) warp_counts[warp][digit] = before + (u32)__popc(same);
        __syncwarp();
    }
    __syncthreads();
    u32 count = 0;
#pragma unroll
    for (int w = 0; w < 8; w++) count += warp_counts[w][t];
    volatile S* const told = (volatile S*)TOLD_IN(a.w, pass) + t;
    told[tile * 256] = tell(tile == 0 ? 2 : 1, count);
    const u32 start = before_in_block(count, room);
    u32 running = start;
#pragma unroll
    for (int w = 0; w < 8; w++) {
        const u32 here = warp_counts[w][t];
        warp_counts[w][t] = running;
        running += here;
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        if (mine + i * 32 >= valid) break;
        const u32 to = warp_counts[warp][(u32)(own[i] >> shift) & 255] + rank[i];
        keys[to] = own[i];
#if PAIRS
        const i64 at = base + mine + i * 32;
        places[to] = a.w[7] & 1 ? (u32)at : ((const u32*)a.w[2])[at];
#endif
    }
    // This thread's digit in the tiles before, one at a look: more would keep the memory from those who have yet to tell.
    u32 before = 0;
    for (i64 j = tile - 1; j >= 0;) {
        const S seen = told[j * 256];
        const u32 kind = kind_of(seen);
        if (kind == 0) continue;
        before += count_of(seen);
        j = kind == 2 ? -1 : j - 1;
    }
    if (tile > 0) told[tile * 256] = tell(2, before + count);
    targets[t] = DIGITS_OF(a.w, pass)[t] + before - start;
    __syncthreads();
    for (int j = t; j < valid; j += 256) {
        const K k = keys[j];
        const i64 to = (i64)(u32)(targets[(u32)(k >> shift) & 255] + (u32)j);
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
