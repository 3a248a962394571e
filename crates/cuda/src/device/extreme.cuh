// Where the extreme of each row is: the first of equals, and a NaN before all. T is the element, `beats` the order.
struct Words16 { u64 w[16]; };
struct Best { i64 place; T value; };

// Takes the candidate if it is better than what was found; nothing was where the place is negative.
FN void improve(Best& found, i64 place, T value) {
    if (found.place < 0 || beats(value, found.value) || (!beats(found.value, value) && place < found.place)) {
        found.place = place;
        found.value = value;
    }
}
FN Best best_of_block(Best own, Best* room) {
    const int t = (int)threadIdx.x;
    room[t] = own;
    __syncthreads();
    for (int half = (int)blockDim.x >> 1; half > 0; half >>= 1) {
        if (t < half && room[t + half].place >= 0) improve(room[t], room[t + half].place, room[t + half].value);
        __syncthreads();
    }
    return room[0];
}
// src, dst, n, rows, row stride and element stride of src, row stride of dst, splits, elements of a split, partial finds
extern "C" __global__ void __launch_bounds__(256) extreme_rows(const __grid_constant__ Words16 a) {
    __shared__ Best room[256];
    const i64 n = (i64)a.w[2], splits = (i64)a.w[7], chunk = (i64)a.w[8];
    const i64 row = blockIdx.x / splits, part = blockIdx.x - row * splits, step = (i64)a.w[5];
    const i64 end = part * chunk + chunk < n ? part * chunk + chunk : n;
    const char* const src = (const char*)a.w[0] + row * (i64)a.w[4];
    Best own;
    own.place = -1;
    own.value = T();
#pragma unroll 4
    for (i64 i = part * chunk + threadIdx.x; i < end; i += 256) improve(own, i, load<T>(src + i * step));
    own = best_of_block(own, room);
    if (threadIdx.x != 0) return;
    if (splits == 1) *(i64*)(a.w[1] + row * (i64)a.w[6]) = own.place;
    else ((Best*)a.w[9])[blockIdx.x] = own;
}
extern "C" __global__ void __launch_bounds__(256) extreme_parts(const __grid_constant__ Words16 a) {
    __shared__ Best room[256];
    const i64 splits = (i64)a.w[7], row = blockIdx.x;
    const Best* const parts = (const Best*)a.w[9] + row * splits;
    Best own;
    own.place = -1;
    own.value = T();
    for (i64 i = threadIdx.x; i < splits; i += 256) improve(own, parts[i].place, parts[i].value);
    own = best_of_block(own, room);
    if (threadIdx.x == 0) *(i64*)(a.w[1] + row * (i64)a.w[6]) = own.place;
}
// A thread each, for rows side by side in memory or many short ones.
extern "C" __global__ void __launch_bounds__(256) extreme_columns(const __grid_constant__ Words16 a) {
    const i64 row = (i64)blockIdx.x * blockDim.x + threadIdx.x, n = (i64)a.w[2], step = (i64)a.w[5];
    if (row >= (i64)a.w[3]) return;
    const char* const src = (const char*)a.w[0] + row * (i64)a.w[4];
    Best own;
    own.place = -1;
    own.value = T();
    for (i64 i = 0; i < n; i++) improve(own, i, load<T>(src + i * step));
    *(i64*)(a.w[1] + row * (i64)a.w[6]) = own.place;
}
