// Short rows, sorted where they fit into shared memory: a block takes as many as there is room for, and sorts their keys
// as one, eight bits a pass, lowest first, and then by row. CARRIED: places within the block go along.
enum { TILE = 256 * ITEMS, VALUES = 0, PLACES, TAKEN };

// Words: elements, result, length of a row, rows, rows of a block, passes by row.
extern "C" __global__ void __launch_bounds__(256, BLOCKS) sort_rows(const __grid_constant__ Words16 a) {
    __shared__ u32 warp_counts[8][256];
    __shared__ u32 room[8];
    __shared__ B keys[TILE];
#if CARRIED
    __shared__ u16 places[TILE];
    u16 place[ITEMS];
#endif
    const int t = (int)threadIdx.x, lane = t & 31, warp = t >> 5, mine = warp * (32 * ITEMS) + lane;
    const u32 below = (1u << lane) - 1, n = (u32)a.w[2];
    const i64 row = (i64)blockIdx.x * (i64)a.w[4], rows = (i64)a.w[3] - row;
    const int valid = (int)n * (int)(rows < (i64)a.w[4] ? rows : (i64)a.w[4]);
    const B* const from = (const B*)a.w[0] + row * n;
    B own[ITEMS];
    u16 rank[ITEMS];
#pragma unroll
    for (int i = 0; i < ITEMS; i++) own[i] = mine + i * 32 < valid ? from[mine + i * 32] : (B)0;
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        own[i] = key(load<T>((const char*)&own[i]));
#if CARRIED
        place[i] = (u16)(mine + i * 32);
#endif
    }
    const int passes = (int)sizeof(B) + (int)a.w[5];
    for (int pass = 0; pass < passes; pass++) {
#pragma unroll
        for (int w = 0; w < 8; w++) warp_counts[w][t] = 0;
        __syncthreads();
#if CARRIED
        const bool by_row = pass >= (int)sizeof(B);
#define DIGIT(i) (by_row ? place[i] / n >> 8 * (pass - (int)sizeof(B)) & 255 : (u32)(own[i] >> 8 * pass) & 255)
#else
#define DIGIT(i) ((u32)(own[i] >> 8 * pass) & 255)
#endif
#pragma unroll
        for (int i = 0; i < ITEMS; i++) rank[i] = rank_in_warp(warp_counts[warp], DIGIT(i), mine + i * 32 < valid, below);
        __syncthreads();
        u32 count = 0;
#pragma unroll
        for (int w = 0; w < 8; w++) count += warp_counts[w][t];
        u32 running = before_in_block(count, room);
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
            const u32 to = warp_counts[warp][DIGIT(i)] + rank[i];
            keys[to] = own[i];
#if CARRIED
            places[to] = place[i];
#endif
        }
        __syncthreads();
        // The last pass's keys are written from where they lie.
        if (pass + 1 == passes) break;
#pragma unroll
        for (int i = 0; i < ITEMS; i++) {
            if (mine + i * 32 >= valid) break;
            own[i] = keys[mine + i * 32];
#if CARRIED
            place[i] = places[mine + i * 32];
#endif
        }
    }
#if OUT == 1
    i64* const to = (i64*)a.w[1] + row * n;
    for (int j = t; j < valid; j += 256) to[j] = places[j] % n;
#else
    B* const to = (B*)a.w[1] + row * n;
#if OUT == 2
    // All is read before any is written: the result may lie where the elements do.
#pragma unroll
    for (int i = 0; i < ITEMS; i++) if (t + i * 256 < valid) own[i] = from[places[t + i * 256]];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < ITEMS; i++) if (t + i * 256 < valid) to[t + i * 256] = own[i];
#else
    for (int j = t; j < valid; j += 256) store<T>((char*)(to + j), value(keys[j]));
#endif
#endif
}
