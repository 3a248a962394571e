// Running folds along rows. A tile is 256 threads of ITEMS elements each; the tiles of a row are folded first, then
// their folds scanned, then every tile is scanned from what came before it. T is the element, A what is carried.
struct Words16 { u64 w[16]; };
enum { V = 16 / sizeof(Memory<T>::type), GROUPS = 4, ITEMS = V * GROUPS };

union Cells { u32 w[(sizeof(A) + 3) / 4]; Memory<A>::type m; };
FN A shuffle_up(A v, int distance) {
    Cells from, to;
    for (int i = 0; i < (int)((sizeof(A) + 3) / 4); i++) from.w[i] = 0;
    from.m = (Memory<A>::type)v;
    for (int i = 0; i < (int)((sizeof(A) + 3) / 4); i++) to.w[i] = __shfl_up_sync(0xffffffffu, from.w[i], distance);
    return Element<A>::of(to.m);
}
FN A shuffle_from(A v, int lane) {
    Cells from, to;
    for (int i = 0; i < (int)((sizeof(A) + 3) / 4); i++) from.w[i] = 0;
    from.m = (Memory<A>::type)v;
    for (int i = 0; i < (int)((sizeof(A) + 3) / 4); i++) to.w[i] = __shfl_sync(0xffffffffu, from.w[i], lane);
    return Element<A>::of(to.m);
}
// What the threads before this one hold, folded in order; `total` is the whole block's.
FN A before_in_block(A own, u64* room, A& total) {
    int t = (int)threadIdx.x, lane = t & 31, warps = (int)blockDim.x >> 5;
    A running = own;
    for (int d = 1; d < 32; d <<= 1) {
        A other = shuffle_up(running, d);
        if (lane >= d) running = JOIN(other, running);
    }
    A before = shuffle_up(running, 1);
    if (lane == 0) before = NEUTRAL;
    __syncthreads();
    if (lane == 31) poke<A>(room + 2 * (t >> 5), running);
    __syncthreads();
    A base = NEUTRAL;
    total = NEUTRAL;
    for (int i = 0; i < warps; i++) {
        if (i == t >> 5) base = total;
        total = JOIN(total, peek<A>(room + 2 * i));
    }
    return JOIN(base, before);
}
// A warp's elements of a tile are GROUPS runs, of V elements a lane each: what its lanes read at once lies side by side.
// Item `g * V + k` of this thread is at `item_place + g * 32 * V + k`; the neutral value stands beyond the row's end.
FN i64 item_place(i64 tile) {
    const int t = (int)threadIdx.x;
    return tile * ((i64)blockDim.x * ITEMS) + (t >> 5) * (32 * ITEMS) + (t & 31) * V;
}
FN void read_items(const char* row, i64 stride, i64 at, i64 n, bool vectors, A* items) {
#pragma unroll
    for (int g = 0; g < GROUPS; g++) {
        const i64 here = at + g * 32 * V;
        if (vectors && here + V <= n) {
            const Lanes<T, V> l = Lanes<T, V>::get(row + here * (i64)sizeof(Memory<T>::type));
#pragma unroll
            for (int k = 0; k < V; k++) items[g * V + k] = TO_A(l.at(k));
        } else {
#pragma unroll
            for (int k = 0; k < V; k++) items[g * V + k] = here + k < n ? TO_A(load_bytes<T>(row + (here + k) * stride)) : NEUTRAL;
        }
    }
}
// src, dst, n, tiles, row strides and element strides of src and dst, vectors, folds of tiles
extern "C" __global__ void __launch_bounds__(256) scan_fold(const __grid_constant__ Words16 a) {
    __shared__ u64 room[16];
    const i64 n = (i64)a.w[2], tiles = (i64)a.w[3], row = blockIdx.x / tiles, tile = blockIdx.x - row * tiles;
    A items[ITEMS], total;
    read_items((const char*)a.w[0] + row * (i64)a.w[4], (i64)a.w[6], item_place(tile), n, a.w[8], items);
    A own = items[0];
#pragma unroll
    for (int i = 1; i < ITEMS; i++) own = JOIN(own, items[i]);
    before_in_block(own, room, total);
    if (threadIdx.x == 0) poke<A>((u64*)a.w[9] + 2 * (i64)blockIdx.x, total);
}
// Folds of tiles become folds of all before them: a block a row, each thread with SOME tiles in turn.
enum { SOME = 8 };
extern "C" __global__ void __launch_bounds__(256) scan_tiles(const __grid_constant__ Words16 a) {
    __shared__ u64 room[16];
    const i64 tiles = (i64)a.w[3];
    u64* const folds = (u64*)a.w[9] + 2 * (i64)blockIdx.x * tiles;
    A carry = NEUTRAL;
    for (i64 base = 0; base < tiles; base += blockDim.x * SOME) {
        const i64 first = base + (i64)threadIdx.x * SOME;
        A items[SOME], total;
#pragma unroll
        for (int i = 0; i < SOME; i++) items[i] = first + i < tiles ? peek<A>(folds + 2 * (first + i)) : NEUTRAL;
        A own = items[0];
#pragma unroll
        for (int i = 1; i < SOME; i++) own = JOIN(own, items[i]);
        A running = JOIN(carry, before_in_block(own, room, total));
#pragma unroll
        for (int i = 0; i < SOME; i++) {
            if (first + i < tiles) poke<A>(folds + 2 * (first + i), running);
            running = JOIN(running, items[i]);
        }
        carry = JOIN(carry, total);
    }
}
extern "C" __global__ void __launch_bounds__(256) scan_write(const __grid_constant__ Words16 a) {
    __shared__ u64 room[16];
    const i64 n = (i64)a.w[2], tiles = (i64)a.w[3], row = blockIdx.x / tiles, tile = blockIdx.x - row * tiles;
    const i64 at = item_place(tile);
    const int lane = (int)threadIdx.x & 31, warp = (int)threadIdx.x >> 5;
    A items[ITEMS], before[GROUPS], whole = NEUTRAL;
    read_items((const char*)a.w[0] + row * (i64)a.w[4], (i64)a.w[6], at, n, a.w[8], items);
#pragma unroll
    for (int g = 0; g < GROUPS; g++) {
        A running = items[g * V];
#pragma unroll
        for (int k = 1; k < V; k++) running = JOIN(running, items[g * V + k]);
#pragma unroll
        for (int d = 1; d < 32; d <<= 1) {
            const A other = shuffle_up(running, d);
            if (lane >= d) running = JOIN(other, running);
        }
        const A left = shuffle_up(running, 1);
        before[g] = lane == 0 ? whole : JOIN(whole, left);
        whole = JOIN(whole, shuffle_from(running, 31));
    }
    if (lane == 0) poke<A>(room + 2 * warp, whole);
    __syncthreads();
    A base = tiles > 1 ? peek<A>((const u64*)a.w[9] + 2 * (i64)blockIdx.x) : NEUTRAL;
    for (int i = 0; i < warp; i++) base = JOIN(base, peek<A>(room + 2 * i));
    char* const out = (char*)a.w[1] + row * (i64)a.w[5];
#pragma unroll
    for (int g = 0; g < GROUPS; g++) {
        const i64 here = at + g * 32 * V;
        A running = JOIN(base, before[g]);
        if (a.w[8] && here + V <= n) {
            Lanes<T, V> l;
#pragma unroll
            for (int k = 0; k < V; k++) {
                running = JOIN(running, items[g * V + k]);
                l.set(k, TO_T(running));
            }
            l.put(out + here * (i64)sizeof(Memory<T>::type), l);
        } else {
#pragma unroll
            for (int k = 0; k < V; k++) {
                running = JOIN(running, items[g * V + k]);
                if (here + k < n) store_bytes<T>(out + (here + k) * (i64)a.w[7], TO_T(running));
            }
        }
    }
}
// Rows side by side in memory: a thread each, down the elements. Words as above, with the number of rows in w[10].
extern "C" __global__ void __launch_bounds__(256) scan_columns(const __grid_constant__ Words16 a) {
    const i64 row = (i64)blockIdx.x * blockDim.x + threadIdx.x, n = (i64)a.w[2];
    if (row >= (i64)a.w[10]) return;
    const char* from = (const char*)a.w[0] + row * (i64)a.w[4];
    char* to = (char*)a.w[1] + row * (i64)a.w[5];
    A running = NEUTRAL;
    for (i64 i = 0; i < n; i++) {
        running = JOIN(running, TO_A(load_bytes<T>(from + i * (i64)a.w[6])));
        store_bytes<T>(to + i * (i64)a.w[7], TO_T(running));
    }
}
