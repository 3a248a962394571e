// Elements only moved: packed by a mask, by index, turned over. U is a unit of the element's size.
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

// An index brought into range, or -1. Of those out of it `bad` keeps the first: the complement of its place.
// Modes: 0 raise, 1 wrap, 2 clip.
FN i64 settled(i64 i, i64 extent, u64 mode, i64 place, u64* bad) {
    if (mode == 1) {
        i %= extent;
        return i < 0 ? i + extent : i;
    }
    if (mode == 2) return i < 0 ? 0 : i >= extent ? extent - 1 : i;
    if (i < -extent || i >= extent) {
        atomicMax(bad, ~(u64)place);
        return -1;
    }
    return i < 0 ? i + extent : i;
}
// One array is (outer, extent, inner), the other (outer, count, inner); words: extent's array, count's array, index,
// index stride, total, count, inner, extent, outer stride and axis stride of the first in bytes, mode, bad, owners,
// whether the other array has more than one element
#define SPLIT_PLACE \
    const i64 k = i % (i64)a.w[6], rest = i / (i64)a.w[6], j = rest % (i64)a.w[5], o = rest / (i64)a.w[5]; \
    const i64 at = settled(*(const i64*)(a.w[2] + j * (i64)a.w[3]), (i64)a.w[7], a.w[10], j, (u64*)a.w[11]);
extern "C" __global__ void __launch_bounds__(256) take(const __grid_constant__ Words16 a) {
    const i64 total = (i64)a.w[4], step = (i64)gridDim.x * blockDim.x;
    if (a.w[6] == 1 && a.w[4] == a.w[5]) {
        // Single elements, several in flight, and nothing to divide.
        enum { FLIGHT = 4 };
        for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < total; i += FLIGHT * step) {
            i64 at[FLIGHT];
            U value[FLIGHT];
#pragma unroll
            for (int k = 0; k < FLIGHT; k++) at[k] = i + k * step < total ? *(const i64*)(a.w[2] + (i + k * step) * (i64)a.w[3]) : 0;
#pragma unroll
            for (int k = 0; k < FLIGHT; k++) at[k] = settled(at[k], (i64)a.w[7], a.w[10], i + k * step, (u64*)a.w[11]);
#pragma unroll
            for (int k = 0; k < FLIGHT; k++) if (at[k] >= 0) value[k] = *(const U*)(a.w[0] + at[k] * (i64)a.w[9]);
#pragma unroll
            for (int k = 0; k < FLIGHT; k++) if (at[k] >= 0 && i + k * step < total) ((U*)a.w[1])[i + k * step] = value[k];
        }
        return;
    }
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < total; i += step) {
        SPLIT_PLACE
        if (at >= 0) ((U*)a.w[1])[i] = *(const U*)(a.w[0] + o * (i64)a.w[8] + at * (i64)a.w[9] + k * (i64)sizeof(U));
    }
}
// Of several values for one place the last one wins, as in NumPy: first every place learns the last index that names it.
extern "C" __global__ void __launch_bounds__(256) put_owners(const __grid_constant__ Words16 a) {
    const i64 count = (i64)a.w[5];
    for (i64 j = (i64)blockIdx.x * blockDim.x + threadIdx.x; j < count; j += (i64)gridDim.x * blockDim.x) {
        const i64 at = settled(*(const i64*)(a.w[2] + j * (i64)a.w[3]), (i64)a.w[7], a.w[10], j, (u64*)a.w[11]);
        if (at >= 0) atomicMax((u64*)a.w[12] + at, (u64)j + 1);
    }
}
extern "C" __global__ void __launch_bounds__(256) put(const __grid_constant__ Words16 a) {
    const i64 total = (i64)a.w[4];
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < total; i += (i64)gridDim.x * blockDim.x) {
        SPLIT_PLACE
        if (at < 0 || ((const u64*)a.w[12])[at] != (u64)j + 1) continue;
        *(U*)(a.w[0] + o * (i64)a.w[8] + at * (i64)a.w[9] + k * (i64)sizeof(U)) = ((const U*)a.w[1])[i * (i64)a.w[13]];
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
