// Running folds along rows. A tile is 256 threads of ITEMS elements each; the tiles of a row are folded first, then
// their folds scanned, then every tile is scanned from what came before it. T is the element, A what is carried.
struct Words16 { u64 w[16]; };
enum { ITEMS = 4 * (sizeof(Memory<T>::type) > 16 ? 1 : 16 / sizeof(Memory<T>::type)) };

template <class V> FN V shuffle_up(V v, int distance) {
    union Cells { u32 w[(sizeof(V) + 3) / 4]; typename Memory<V>::type m; } from, to;
    for (int i = 0; i < (int)((sizeof(V) + 3) / 4); i++) from.w[i] = 0;
    from.m = (typename Memory<V>::type)v;
    for (int i = 0; i < (int)((sizeof(V) + 3) / 4); i++) to.w[i] = __shfl_up_sync(0xffffffffu, from.w[i], distance);
    return Element<V>::of(to.m);
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
// Elements `at`, `at + 1`, ... of a row into `items`; the neutral value beyond its end.
FN void read_items(const char* row, i64 stride, i64 at, i64 n, bool vectors, A* items) {
    if (vectors && at + ITEMS <= n) {
        const Lanes<T, ITEMS> l = Lanes<T, ITEMS>::get(row + at * (i64)sizeof(Memory<T>::type));
        for (int i = 0; i < ITEMS; i++) items[i] = TO_A(l.at(i));
    } else {
        for (int i = 0; i < ITEMS; i++) items[i] = at + i < n ? TO_A(load_bytes<T>(row + (at + i) * stride)) : NEUTRAL;
    }
}
// src, dst, n, tiles, row strides and element strides of src and dst, vectors, folds of tiles
extern "C" __global__ void __launch_bounds__(256) scan_fold(const __grid_constant__ Words16 a) {
    __shared__ u64 room[16];
    const i64 n = (i64)a.w[2], tiles = (i64)a.w[3], row = blockIdx.x / tiles, tile = blockIdx.x - row * tiles;
    A items[ITEMS], total;
    read_items((const char*)a.w[0] + row * (i64)a.w[4], (i64)a.w[6], (tile * blockDim.x + threadIdx.x) * ITEMS, n, a.w[8], items);
    A own = items[0];
    for (int i = 1; i < ITEMS; i++) own = JOIN(own, items[i]);
    before_in_block(own, room, total);
    if (threadIdx.x == 0) poke<A>((u64*)a.w[9] + 2 * (i64)blockIdx.x, total);
}
extern "C" __global__ void __launch_bounds__(256) scan_tiles(const __grid_constant__ Words16 a) {
    __shared__ u64 room[16];
    const i64 tiles = (i64)a.w[3];
    u64* const folds = (u64*)a.w[9] + 2 * (i64)blockIdx.x * tiles;
    A carry = NEUTRAL;
    for (i64 base = 0; base < tiles; base += blockDim.x) {
        const i64 i = base + threadIdx.x;
        A total, own = i < tiles ? peek<A>(folds + 2 * i) : NEUTRAL;
        const A before = before_in_block(own, room, total);
        if (i < tiles) poke<A>(folds + 2 * i, JOIN(carry, before));
        carry = JOIN(carry, total);
    }
}
extern "C" __global__ void __launch_bounds__(256) scan_write(const __grid_constant__ Words16 a) {
    __shared__ u64 room[16];
    const i64 n = (i64)a.w[2], tiles = (i64)a.w[3], row = blockIdx.x / tiles, tile = blockIdx.x - row * tiles;
    const i64 at = (tile * blockDim.x + threadIdx.x) * ITEMS;
    A items[ITEMS], total;
    read_items((const char*)a.w[0] + row * (i64)a.w[4], (i64)a.w[6], at, n, a.w[8], items);
    A own = items[0];
    for (int i = 1; i < ITEMS; i++) own = JOIN(own, items[i]);
    A running = before_in_block(own, room, total);
    if (tiles > 1) running = JOIN(peek<A>((const u64*)a.w[9] + 2 * (i64)blockIdx.x), running);
    char* const out = (char*)a.w[1] + row * (i64)a.w[5];
    if (a.w[8] && at + ITEMS <= n) {
        Lanes<T, ITEMS> l;
        for (int i = 0; i < ITEMS; i++) {
            running = JOIN(running, items[i]);
            l.set(i, TO_T(running));
        }
        l.put(out + at * (i64)sizeof(Memory<T>::type), l);
    } else {
        for (int i = 0; i < ITEMS; i++) {
            running = JOIN(running, items[i]);
            if (at + i < n) store_bytes<T>(out + (at + i) * (i64)a.w[7], TO_T(running));
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
