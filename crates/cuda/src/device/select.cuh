// Elements only moved: packed by a mask, turned over. U is a unit of the element's size.
struct Words16 { u64 w[16]; };

FN int block_before(int own, int* room, int& total) {
    int t = (int)threadIdx.x, lane = t & 31, warps = (int)blockDim.x >> 5, running = own;
    for (int d = 1; d < 32; d <<= 1) {
        int other = (int)__shfl_up_sync(0xffffffffu, (u32)running, d);
        if (lane >= d) running += other;
    }
    __syncthreads();
    if (lane == 31) room[t >> 5] = running;
    __syncthreads();
    int base = 0;
    total = 0;
    for (int i = 0; i < warps; i++) {
        if (i == t >> 5) base = total;
        total += room[i];
    }
    return base + running - own;
}
// Which of sixteen mask bytes from `at` on are true.
FN u32 true_bits(const u8* mask, i64 at, i64 n) {
    u32 bits = 0;
    if (at + 16 <= n && ((u64)mask & 15) == 0) {
        const Lanes<u8, 16> l = Lanes<u8, 16>::get((const char*)mask + at);
        for (int i = 0; i < 16; i++) bits |= (u32)(l.at(i) != 0) << i;
    } else {
        for (int i = 0; i < 16; i++) if (at + i < n && mask[at + i]) bits |= 1u << i;
    }
    return bits;
}
// mask, n, offsets of tiles, tiles, total, values, packed, positions
extern "C" __global__ void __launch_bounds__(256) pack_count(const __grid_constant__ Words16 a) {
    __shared__ int room[8];
    const i64 at = ((i64)blockIdx.x * blockDim.x + threadIdx.x) * 16;
    int total;
    block_before(__popcll(true_bits((const u8*)a.w[0], at, (i64)a.w[1])), room, total);
    if (threadIdx.x == 0) ((i64*)a.w[2])[blockIdx.x] = total;
}
extern "C" __global__ void __launch_bounds__(256) pack_offsets(const __grid_constant__ Words16 a) {
    __shared__ int room[8];
    const i64 tiles = (i64)a.w[3];
    i64* const offsets = (i64*)a.w[2];
    // Each thread has SOME tiles in turn, so that few rounds wait for memory.
    enum { SOME = 16 };
    i64 carry = 0;
    for (i64 base = 0; base < tiles; base += blockDim.x * SOME) {
        const i64 first = base + (i64)threadIdx.x * SOME;
        int counts[SOME], own = 0, total;
#pragma unroll
        for (int i = 0; i < SOME; i++) counts[i] = first + i < tiles ? (int)offsets[first + i] : 0;
#pragma unroll
        for (int i = 0; i < SOME; i++) own += counts[i];
        i64 running = carry + block_before(own, room, total);
#pragma unroll
        for (int i = 0; i < SOME; i++) {
            if (first + i < tiles) offsets[first + i] = running;
            running += counts[i];
        }
        carry += total;
    }
    if (threadIdx.x == 0) *(i64*)a.w[4] = carry;
}
// The places of a tile's true elements, from its first on; how many they are. In order, so that neighbouring threads then
// move neighbouring elements.
FN int true_places(const u64* w, u16* list, int* room) {
    const u32 bits = true_bits((const u8*)w[0], ((i64)blockIdx.x * blockDim.x + threadIdx.x) * 16, (i64)w[1]);
    int total, to = block_before(__popcll(bits), room, total);
    for (int i = 0; i < 16; i++) if (bits >> i & 1) list[to++] = (u16)(threadIdx.x * 16 + i);
    __syncthreads();
    return total;
}
extern "C" __global__ void __launch_bounds__(256) pack_write(const __grid_constant__ Words16 a) {
    __shared__ int room[8];
    __shared__ u16 list[256 * 16];
    const int total = true_places(a.w, list, room);
    const i64 to = ((const i64*)a.w[2])[blockIdx.x], from = (i64)blockIdx.x * (256 * 16);
#pragma unroll 4
    for (int i = (int)threadIdx.x; i < total; i += 256) {
        if (a.w[6]) ((U*)a.w[6])[to + i] = ((const U*)a.w[5])[from + list[i]];
        if (a.w[7]) ((i64*)a.w[7])[to + i] = from + list[i];
    }
}

// Back again: the elements of a mask's true places from dense values, or all from one. Words as above, but that `packed`
// is read and `values` written, and a number of bytes from one value to the next comes last.
extern "C" __global__ void __launch_bounds__(256) unpack_write(const __grid_constant__ Words16 a) {
    __shared__ int room[8];
    __shared__ u16 list[256 * 16];
    const int total = true_places(a.w, list, room);
    const i64 from = ((const i64*)a.w[2])[blockIdx.x], to = (i64)blockIdx.x * (256 * 16);
    for (int i = (int)threadIdx.x; i < total; i += 256) {
        ((U*)a.w[5])[to + list[i]] = *(const U*)(a.w[6] + (from + i) * (i64)a.w[8]);
    }
}

// Places in a flat array become places along one of its axes. Words: places, how many, inner size, extent, out.
extern "C" __global__ void __launch_bounds__(256) unravel(const __grid_constant__ Words16 a) {
    const i64 n = (i64)a.w[1];
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (i64)gridDim.x * blockDim.x) {
        ((i64*)a.w[4])[i] = (i64)((u64)((const i64*)a.w[0])[i] / a.w[2] % a.w[3]);
    }
}

// A batch of matrices turned over, by tiles that are read along rows and written along columns. Words: src, dst, rows,
// columns, tiles down, tiles across, row strides and batch strides of src and dst in bytes.
enum { SIDE = sizeof(U) > 4 ? 32 : 64, LINES = 256 / SIDE, EACH = SIDE / LINES };
extern "C" __global__ void __launch_bounds__(256) transpose(const __grid_constant__ Words16 a) {
    __shared__ U tile[SIDE][SIDE + 1];
    const i64 rows = (i64)a.w[2], columns = (i64)a.w[3], down = (i64)a.w[4], across = (i64)a.w[5];
    const i64 rest = blockIdx.x / across, tx = blockIdx.x - rest * across, batch = rest / down, ty = rest - batch * down;
    const int x = (int)threadIdx.x & (SIDE - 1), y = (int)threadIdx.x / SIDE;
    const i64 top = ty * SIDE, left = tx * SIDE, from_step = (i64)a.w[6], to_step = (i64)a.w[7];
    const int high = rows - top < SIDE ? (int)(rows - top) : (int)SIDE;
    const int wide = columns - left < SIDE ? (int)(columns - left) : (int)SIDE;
    const char* const src = (const char*)a.w[0] + batch * (i64)a.w[8] + (top + y) * from_step + (left + x) * (i64)sizeof(U);
    char* const dst = (char*)a.w[1] + batch * (i64)a.w[9] + (left + y) * to_step + (top + x) * (i64)sizeof(U);
    U own[EACH];
    if (high == SIDE && wide == SIDE) {
#pragma unroll
        for (int k = 0; k < EACH; k++) own[k] = *(const U*)(src + k * LINES * from_step);
    } else {
#pragma unroll
        for (int k = 0; k < EACH; k++) if (y + k * LINES < high && x < wide) own[k] = *(const U*)(src + k * LINES * from_step);
    }
#pragma unroll
    for (int k = 0; k < EACH; k++) tile[y + k * LINES][x] = own[k];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        if (y + k * LINES < wide && x < high) *(U*)(dst + k * LINES * to_step) = tile[x][y + k * LINES];
    }
}
