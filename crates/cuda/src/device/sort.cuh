// A stable radix sort, eight bits a pass, lowest first. T is the element, K its key; PAIRS: places go along with keys.
// Rows are sorted together: WIDE keys begin with the number of their row; or places, in the order of their keys, are
// then sorted BY_ROW, as keys themselves.
// One pass over the keys counts the digits of all passes. Then a pass reads every key once: a tile ranks its keys in
// shared memory, learns from the tiles before it where they go, and writes each digit's keys side by side.
// A warp has a run of 32 * ITEMS keys, read item by item across its lanes, so that ranks keep their order.
enum { TILE = 256 * ITEMS };

#if BY_ROW
#define DIGIT(k, pass) ((k) / (u32)a.w[9] >> 8 * (pass) & 255)
#else
#define DIGIT(k, pass) ((u32)((k) >> 8 * (pass)) & 255)
#endif
FN K key_of(const u64* w, T v, i64 at) {
    const K k = (K)key(v);
    return WIDE ? (K)(k | (K)((u32)at / (u32)w[9]) << (8 * sizeof(B) * WIDE)) : k;
}
FN K key_at(const u64* w, i64 i) {
    return !BY_ROW && w[7] & 1 ? key_of(w, load<T>((const char*)w[0] + i * (i64)sizeof(B)), i) : ((const K*)w[0])[i];
}
// What is wanted of a place: its number within its row, what lies there, or the place itself.
enum { VALUES, PLACES, TAKEN, SHORT_PLACES };
FN void give(const u64* w, i64 to, u32 place) {
    if (OUT == PLACES) ((i64*)w[3])[to] = place - (w[4] == w[9] ? 0 : place / (u32)w[9] * (u32)w[9]);
    else if (OUT == TAKEN) ((B*)w[3])[to] = ((const B*)w[10])[place];
    else ((u32*)w[3])[to] = place;
}
// What a tile tells of a digit: nothing yet, its own keys, or those of all tiles up to it. One word, so that
// neither half can be seen without the other.
FN S tell(u32 kind, u32 count) { return (S)count | (S)kind << (8 * sizeof(S) - 2); }
FN u32 kind_of(S s) { return (u32)(s >> (8 * sizeof(S) - 2)); }
FN u32 count_of(S s) { return (u32)(s & (((S)1 << (8 * sizeof(S) - 2)) - 1)); }

// Words: keys in, keys out, places in, places out, n, tiles, pass, flags (1: first pass, 2: last), the counters (a number
// of the next tile for each pass, counts of digits for each pass, what tiles tell for each pass), the length of a row,
// and the elements.
#define NEXT_TILE(w) ((u32*)(w)[8])
#define DIGITS_OF(w, pass) ((u32*)(w)[8] + 256 + (pass) * 256)
#define TOLD_IN(w, pass) ((S*)((u32*)(w)[8] + 256 + PASSES * 256) + (i64)(pass) * (i64)(w)[5] * 256)
extern "C" __global__ void __launch_bounds__(256) sort_clear(const __grid_constant__ Words16 a) {
    const i64 words = 256 + PASSES * 256 + (i64)PASSES * (i64)a.w[5] * 256 * (sizeof(S) / 4);
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < words; i += (i64)gridDim.x * blockDim.x) NEXT_TILE(a.w)[i] = 0;
}
// Several counters of a digit, for different lanes: keys of few different digits wait less for each other.
enum { COPIES = PASSES > 4 ? 4 : 8 };
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
                atomicAdd(&counts[(p * 256 + DIGIT(own[i], p)) * COPIES + copy], 1u);
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
    const int pass = (int)a.w[6], t = (int)threadIdx.x, lane = t & 31, warp = t >> 5;
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
    const bool raw = !BY_ROW && a.w[7] & 1;
    if (WIDE && raw) {
#pragma unroll
        for (int i = 0; i < ITEMS; i++) own[i] = mine + i * 32 < valid ? key_at(a.w, base + mine + i * 32) : (K)0;
    } else if (valid == TILE) {
#pragma unroll
        for (int i = 0; i < ITEMS; i++) own[i] = *(const K*)(from + i * 32 * (int)sizeof(K));
    } else {
#pragma unroll
        for (int i = 0; i < ITEMS; i++) own[i] = mine + i * 32 < valid ? *(const K*)(from + i * 32 * (int)sizeof(K)) : (K)0;
    }
    if (!WIDE && raw) {
#pragma unroll
        for (int i = 0; i < ITEMS; i++) own[i] = (K)key(load<T>((const char*)&own[i]));
    }
#pragma unroll
    for (int i = 0; i < ITEMS; i++) rank[i] = rank_in_warp(warp_counts[warp], DIGIT(own[i], pass), mine + i * 32 < valid, below);
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
        const u32 to = warp_counts[warp][DIGIT(own[i], pass)] + rank[i];
        keys[to] = own[i];
#if PAIRS
        const i64 at = base + mine + i * 32;
        places[to] = a.w[7] & 1 ? (u32)at : ((const u32*)a.w[2])[at];
#endif
    }
    // This thread's digit in the tiles before, four of them at a look.
    u32 before = 0;
    for (i64 j = tile - 1; j >= 0;) {
        S seen[4];
#pragma unroll
        for (int k = 0; k < 4; k++) seen[k] = j >= k ? told[(j - k) * 256] : tell(2, 0);
        bool waits = false;
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const u32 kind = kind_of(seen[k]);
            waits = waits || kind == 0;
            if (waits || j < 0) continue;
            before += count_of(seen[k]);
            j = kind == 2 ? -1 : j - 1;
        }
    }
    if (tile > 0) told[tile * 256] = tell(2, before + count);
    targets[t] = DIGITS_OF(a.w, pass)[t] + before - start;
    __syncthreads();
    for (int j = t; j < valid; j += 256) {
        const K k = keys[j];
        const i64 to = (i64)(u32)(targets[DIGIT(k, pass)] + (u32)j);
#if PAIRS
        if (a.w[7] & 2) {
            give(a.w, to, places[j]);
            continue;
        }
        ((u32*)a.w[3])[to] = places[j];
        ((K*)a.w[1])[to] = k;
#elif BY_ROW
        if (a.w[7] & 2) give(a.w, to, k);
        else ((K*)a.w[1])[to] = k;
#else
        if (a.w[7] & 2) store<T>((char*)a.w[1] + to * (i64)sizeof(B), value((B)k));
        else ((K*)a.w[1])[to] = k;
#endif
    }
}
