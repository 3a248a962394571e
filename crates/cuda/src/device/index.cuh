// Elements picked by ARRAYS index arrays, read or written. U is a unit of the element's size, I counts the elements, O
// the positions.
// The domain has DIMS axes: those of the index arrays and those that are not indexed, in any order. Words: array, values,
// elements, positions, mode, bad, owners if there are any, mask of the owners' table; for each index array its address, and the extent,
// the bytes and the places that one step along its axis is; for each axis of the domain its extent, its strides in
// array and values in bytes, in positions, and its strides in each index array.
enum { INDEX = 8, AXIS = INDEX + 4 * ARRAYS, EACH = 4 + ARRAYS, FLIGHT = 4 };
struct WordsOf { u64 w[AXIS + DIMS * EACH]; };

struct Spot {
    u64 at, value, position, place;
    u64 from[ARRAYS];
    i64 index[ARRAYS];
    bool good;
};
// Where an element's value and its indices lie.
FN void locate(const u64* w, I i, Spot& s) {
    s.at = w[0];
    s.value = w[1];
    s.position = 0;
#pragma unroll
    for (int k = 0; k < ARRAYS; k++) s.from[k] = w[INDEX + 4 * k];
#pragma unroll
    for (int d = DIMS - 1; d >= 0; d--) {
        const u64* const axis = w + AXIS + d * EACH;
        I c = i;
        if (d > 0) {
            i = c / (I)axis[0];
            c -= i * (I)axis[0];
        }
        s.at += c * axis[1];
        s.value += c * axis[2];
        s.position += c * axis[3];
#pragma unroll
        for (int k = 0; k < ARRAYS; k++) s.from[k] += c * axis[4 + k];
    }
}
// Indices brought into range. Of those out of it `bad` keeps the first of the first array: the complement of its number.
// Modes: 0 raise, 1 wrap, 2 clip.
FN void settle(const u64* w, Spot& s) {
    s.place = 0;
    s.good = true;
#pragma unroll
    for (int k = 0; k < ARRAYS; k++) {
        const i64 extent = (i64)w[INDEX + 4 * k + 1];
        i64 i = s.index[k];
        if (i < -extent || i >= extent || w[4] == 2) {
            if (w[4] == 1) i %= extent;
            else if (w[4] == 2) i = i < 0 ? 0 : i >= extent ? extent - 1 : i;
            else {
                if (s.good) atomicMax((u64*)w[5], ~(k * w[3] + s.position));
                s.good = false;
                i = 0;
            }
        }
        if (i < 0) i += extent;
        s.at += (u64)i * w[INDEX + 4 * k + 2];
        s.place += (u64)i * w[INDEX + 4 * k + 3];
    }
}
// Elements in flight, a grid apart; those beyond the end are the last one once more.
FN bool find(const u64* w, u64 first, u64 step, Spot* s) {
    const u64 last = w[2] - 1;
#pragma unroll
    for (int f = 0; f < FLIGHT; f++) locate(w, (I)(first + f * step < last ? first + f * step : last), s[f]);
#pragma unroll
    for (int f = 0; f < FLIGHT; f++)
#pragma unroll
        for (int k = 0; k < ARRAYS; k++) s[f].index[k] = *(const i64*)s[f].from[k];
#pragma unroll
    for (int f = 0; f < FLIGHT; f++) settle(w, s[f]);
    return true;
}
#define FOR_ALL_SPOTS \
    Spot s[FLIGHT]; \
    const u64 step = (u64)gridDim.x * blockDim.x; \
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < a.w[2] && find(a.w, i, step, s); i += FLIGHT * step)
extern "C" __global__ void __launch_bounds__(256) index_take(const __grid_constant__ WordsOf a) {
    FOR_ALL_SPOTS {
        U value[FLIGHT];
#pragma unroll
        for (int f = 0; f < FLIGHT; f++) if (s[f].good) value[f] = *(const U*)s[f].at;
#pragma unroll
        for (int f = 0; f < FLIGHT; f++) if (s[f].good && i + f * step < a.w[2]) *(U*)s[f].value = value[f];
    }
}
// The word that knows the last position which names a place: in an array of all places or, where these are many more
// than positions, in a table of pairs found by the place's hash.
FN O* owner_of(const u64* w, u64 place, bool insert) {
    u64* const owners = (u64*)w[6];
    if (w[7] == 0) return (O*)owners + place;
    u64 h = place * 0x9e3779b97f4a7c15ull;
    h ^= h >> 32;
    for (;; h++) {
        u64* const pair = owners + 2 * (h & w[7]);
        const u64 key = insert ? atomicCAS(pair, 0ull, place + 1) : *pair;
        if (key == place + 1 || (insert && key == 0)) return (O*)(pair + 1);
    }
}
// Of several values for one place the last one wins, as in NumPy. Where each is named once that need not be looked at:
// `bad` becomes one where it is not, and then nothing more is marked. The owners are a bit for each place, or none.
extern "C" __global__ void __launch_bounds__(256) index_marks(const __grid_constant__ WordsOf a) {
    FOR_ALL_SPOTS {
        if (a.w[6] == 0 || *(volatile u64*)a.w[5] != 0) continue;
        bool repeated = false;
#pragma unroll
        for (int f = 0; f < FLIGHT; f++) {
            const u32 bit = 1u << (s[f].place & 31);
            u32* const word = (u32*)a.w[6] + (s[f].place >> 5);
            if (s[f].good && i + f * step < a.w[2] && atomicOr(word, bit) & bit) repeated = true;
        }
        // Many may find one at once; one of them is enough.
        if (repeated && *(volatile u64*)a.w[5] == 0) atomicMax((u64*)a.w[5], 1ull);
    }
}
// Else every place first learns the last position that names it.
extern "C" __global__ void __launch_bounds__(256) index_owners(const __grid_constant__ WordsOf a) {
    FOR_ALL_SPOTS {
#pragma unroll
        for (int f = 0; f < FLIGHT; f++) if (s[f].good) atomicMax(owner_of(a.w, s[f].place, true), (O)(s[f].position + 1));
    }
}
extern "C" __global__ void __launch_bounds__(256) index_put(const __grid_constant__ WordsOf a) {
    FOR_ALL_SPOTS {
        O owner[FLIGHT];
#pragma unroll
        for (int f = 0; f < FLIGHT; f++) owner[f] = !s[f].good ? 0 : a.w[6] ? *owner_of(a.w, s[f].place, false) : (O)(s[f].position + 1);
#pragma unroll
        for (int f = 0; f < FLIGHT; f++) {
            if (owner[f] == s[f].position + 1 && i + f * step < a.w[2]) *(U*)s[f].at = *(const U*)s[f].value;
        }
    }
}
