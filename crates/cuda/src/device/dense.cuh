// Matrices between the arrays of a program and the dense columns that NVIDIA's solvers work on. S is the type that is read,
// D the one that is written.
struct Words16 { u64 w[16]; };
enum { SIDE = 32, LINES = 8 };

// 2 for what is not a number, 1 for what is infinite.
template <class R> FN u64 oddness(R v) { return v != v ? 2 : v - v != 0 ? 1 : 0; }
template <class R> FN u64 oddness(cx<R> v) {
    const u64 re = oddness(v.re), im = oddness(v.im);
    return re > im ? re : im;
}
template <class R> FN R turned(R v) { return v; }
template <class R> FN cx<R> turned(cx<R> v) { return pair(v.re, -v.im); }

// Tiles are read along the axis that is dense in the one matrix and written along that of the other. Words: from, to, rows,
// columns, tiles down, row and column steps of both in bytes, the triangle that is kept (0 all, 1 lower, 2 upper), whether
// to conjugate, whether reads and writes go along rows (1, 2), where the largest oddness is told.
extern "C" __global__ void __launch_bounds__(256) dense_move(const __grid_constant__ Words16 a) {
    __shared__ D tile[SIDE][SIDE + 1];
    const i64 rows = (i64)a.w[2], columns = (i64)a.w[3], down = (i64)a.w[4];
    const i64 tx = blockIdx.x / down, top = (blockIdx.x - tx * down) * SIDE, left = tx * SIDE;
    const int lane = (int)threadIdx.x & 31, line = (int)threadIdx.x >> 5;
    u64 found = 0;
    for (int k = 0; k < SIDE / LINES; k++) {
        const int other = line + LINES * k;
        const int i = a.w[11] & 1 ? other : lane, j = a.w[11] & 1 ? lane : other;
        const i64 row = top + i, column = left + j;
        if (row >= rows || column >= columns) continue;
        D made = D();
        if (a.w[9] == 0 || (a.w[9] == 1 ? row >= column : row <= column)) {
            const S v = load<S>((const char*)a.w[0] + row * (i64)a.w[5] + column * (i64)a.w[6]);
            const u64 odd = oddness(v);
            found = odd > found ? odd : found;
            made = CONVERTED(v);
            if (a.w[10]) made = turned(made);
        }
        tile[i][j] = made;
    }
    if (found && a.w[12]) atomicMax((u64*)a.w[12], found);
    __syncthreads();
    for (int k = 0; k < SIDE / LINES; k++) {
        const int other = line + LINES * k;
        const int i = a.w[11] & 2 ? other : lane, j = a.w[11] & 2 ? lane : other;
        const i64 row = top + i, column = left + j;
        if (row >= rows || column >= columns) continue;
        store<D>((char*)a.w[1] + row * (i64)a.w[7] + column * (i64)a.w[8], tile[i][j]);
    }
}
// Words: to, side; dense.
extern "C" __global__ void __launch_bounds__(256) dense_identity(const __grid_constant__ Words16 a) {
    const i64 n = (i64)a.w[1];
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n * n; i += (i64)gridDim.x * blockDim.x) {
        ((D*)a.w[0])[i] = i % (n + 1) == 0 ? ONE : D();
    }
}
