// Reductions inside a block and between the blocks that share a result, in a fixed order.
template <class T> FN T shuffle_down(T v, int distance) {
    union Cells { u32 w[(sizeof(T) + 3) / 4]; typename Memory<T>::type m; } from, to;
    for (int i = 0; i < (int)((sizeof(T) + 3) / 4); i++) from.w[i] = 0;
    from.m = (typename Memory<T>::type)v;
    for (int i = 0; i < (int)((sizeof(T) + 3) / 4); i++) to.w[i] = __shfl_down_sync(0xffffffffu, from.w[i], distance);
    return Element<T>::of(to.m);
}
// Partial values of other blocks: read past this multiprocessor's own cache.
template <class T> FN T peek(const u64* p) {
    union Cells { u64 w[2]; typename Memory<T>::type m; } u;
    u.w[0] = *(const volatile u64*)p;
    if (sizeof(T) > 8) u.w[1] = *(const volatile u64*)(p + 1);
    return Element<T>::of(u.m);
}
template <class T> FN void poke(u64* p, T v) {
    union Cells { u64 w[2]; typename Memory<T>::type m; } u;
    u.w[0] = 0;
    u.m = (typename Memory<T>::type)v;
    p[0] = u.w[0];
    if (sizeof(T) > 8) p[1] = u.w[1];
}
// Folds the values of `lanes` neighbouring threads into the first of them; `lanes` is a power of two.
template <class T, class F> FN T fold_neighbours(T v, int lanes, u64* room, F combine) {
    int width = lanes < 32 ? lanes : 32;
    for (int d = width >> 1; d > 0; d >>= 1) v = combine(v, shuffle_down(v, d));
    if (lanes > 32) {
        int t = (int)threadIdx.x;
        __syncthreads();
        if ((t & 31) == 0) poke<T>(room + 2 * (t >> 5), v);
        __syncthreads();
        if ((t & (lanes - 1)) == 0) {
            for (int i = 1; i < (lanes >> 5); i++) v = combine(v, peek<T>(room + 2 * ((t >> 5) + i)));
        }
    }
    return v;
}
// Folds the values of threads `columns` apart into the first `columns` threads; both powers of two.
template <class T, class F> FN T fold_rows(T v, int columns, u64* room, F combine) {
    int t = (int)threadIdx.x, n = (int)blockDim.x;
    if (columns >= n) return v;
    __syncthreads();
    poke<T>(room + 2 * t, v);
    __syncthreads();
    for (int half = n >> 1; half >= columns; half >>= 1) {
        if (t < half) {
            v = combine(v, peek<T>(room + 2 * (t + half)));
            poke<T>(room + 2 * t, v);
        }
        __syncthreads();
    }
    return v;
}
