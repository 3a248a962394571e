// Places in a sorted array, by halving. T is the element; NaN sorts behind all others.
struct Words16 { u64 w[16]; };

FN bool sorts_before(T x, T y) {
#if FLOATING
    const R a = ORDERED(x), b = ORDERED(y);
    return a < b || (b != b && a == a);
#else
    return x < y;
#endif
}
// Words: sorted array, its step, how many; values, their step, how many; places, their step; whether behind equal ones.
extern "C" __global__ void __launch_bounds__(256) search(const __grid_constant__ Words16 a) {
    const i64 count = (i64)a.w[5];
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (i64)gridDim.x * blockDim.x) {
        const T value = load<T>((const char*)a.w[3] + i * (i64)a.w[4]);
        i64 low = 0, high = (i64)a.w[2];
        while (low < high) {
            const i64 middle = low + (high - low) / 2;
            const T other = load<T>((const char*)a.w[0] + middle * (i64)a.w[1]);
            if (a.w[8] ? !sorts_before(value, other) : sorts_before(other, value)) low = middle + 1;
            else high = middle;
        }
        *(i64*)((char*)a.w[6] + i * (i64)a.w[7]) = low;
    }
}
