// Runs printed kernels on the host: the threads of a block are fibers that meet at barriers.
#include <cmath>
#include <csetjmp>
#include <cstdlib>
#include <cstring>
#include <ucontext.h>
#include <vector>

#define __device__
#define __global__
#define __shared__ static
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(n) alignas(n)

struct host_dim { unsigned x, y, z; };
static host_dim threadIdx, blockIdx, blockDim, gridDim;
static unsigned host_current, host_count;
static std::vector<ucontext_t> host_fibers;
static std::vector<char> host_started;
// Jumps between stacks: unlike swapcontext they ask nothing of the kernel.
struct host_jump { jmp_buf at; };
static jmp_buf host_back;
static std::vector<host_jump> host_jumps;
static std::vector<char> host_stacks;
static std::vector<char> host_done;
static unsigned host_cells[1024];

static __attribute__((noinline)) void __syncthreads() {
    if (!_setjmp(host_jumps[host_current].at)) _longjmp(host_back, 1);
}
// Runs a fiber until it waits or ends.
static __attribute__((noinline)) void host_enter(unsigned t) {
    if (_setjmp(host_back)) return;
    if (host_started[t]) _longjmp(host_jumps[t].at, 1);
    host_started[t] = 1;
    setcontext(&host_fibers[t]);
}
static inline void __threadfence() {}
static inline unsigned atomicAdd(unsigned* p, unsigned v) { unsigned old = *p; *p += v; return old; }
static inline int __popcll(unsigned long long v) { return __builtin_popcountll(v); }
static inline unsigned __shfl_down_sync(unsigned, unsigned v, int distance) {
    unsigned t = threadIdx.x;
    host_cells[t] = v;
    __syncthreads();
    unsigned r = (t & 31) + distance < 32 ? host_cells[t + distance] : v;
    __syncthreads();
    return r;
}

static inline unsigned __shfl_up_sync(unsigned, unsigned v, int distance) {
    unsigned t = threadIdx.x;
    host_cells[t] = v;
    __syncthreads();
    unsigned r = (int)(t & 31) >= distance ? host_cells[t - distance] : v;
    __syncthreads();
    return r;
}
static inline unsigned __shfl_sync(unsigned, unsigned v, int lane) {
    unsigned t = threadIdx.x;
    host_cells[t] = v;
    __syncthreads();
    unsigned r = host_cells[(t & ~31u) + lane];
    __syncthreads();
    return r;
}
static inline unsigned __ballot_sync(unsigned, bool v) {
    unsigned t = threadIdx.x, all = 0;
    host_cells[t] = v;
    __syncthreads();
    for (unsigned i = 0; i < 32; i++) all |= host_cells[(t & ~31u) + i] << i;
    __syncthreads();
    return all;
}
static inline void __syncwarp() { __syncthreads(); }
static inline int __popc(unsigned v) { return __builtin_popcount(v); }
static inline unsigned long long atomicCAS(unsigned long long* p, unsigned long long old, unsigned long long v) {
    unsigned long long was = *p;
    if (was == old) *p = v;
    return was;
}
static inline unsigned atomicOr(unsigned* p, unsigned v) {
    unsigned old = *p;
    *p |= v;
    return old;
}
static inline unsigned atomicMax(unsigned* p, unsigned v) {
    unsigned old = *p;
    if (v > old) *p = v;
    return old;
}
static inline unsigned long long atomicMax(unsigned long long* p, unsigned long long v) {
    unsigned long long old = *p;
    if (v > old) *p = v;
    return old;
}

// Without a name, so that libraries loaded side by side do not share it.
namespace {
template <class K, class A> struct host_call { static K kernel; static const A* arguments; };
template <class K, class A> K host_call<K, A>::kernel;
template <class K, class A> const A* host_call<K, A>::arguments;
}
template <class K, class A> static void host_thread() {
    host_call<K, A>::kernel(*host_call<K, A>::arguments);
    host_done[host_current] = 1;
    _longjmp(host_back, 1);
}
template <class A> static void host_run(void (*kernel)(const A), const void* words, unsigned grid, unsigned bx, unsigned by, bool meets) {
    typedef void (*K)(const A);
    const A* arguments = (const A*)words;
    gridDim = host_dim{grid, 1, 1};
    blockDim = host_dim{bx, by, 1};
    unsigned n = bx * by;
    const size_t stack = 64 << 10;
    if (meets && host_fibers.size() < n) {
        host_fibers.resize(n);
        host_stacks.resize(n * stack);
        host_done.resize(n);
        host_started.resize(n);
        host_jumps.resize(n);
    }
    host_call<K, A>::kernel = kernel;
    host_call<K, A>::arguments = arguments;
    for (unsigned b = 0; b < grid; b++) {
        blockIdx = host_dim{b, 0, 0};
        for (unsigned t = 0; t < n; t++) {
            threadIdx = host_dim{t % bx, t / bx, 0};
            if (!meets) { kernel(*arguments); continue; }
            getcontext(&host_fibers[t]);
            host_fibers[t].uc_stack.ss_sp = host_stacks.data() + t * stack;
            host_fibers[t].uc_stack.ss_size = stack;
            host_fibers[t].uc_link = nullptr;
            host_done[t] = 0;
            host_started[t] = 0;
            makecontext(&host_fibers[t], (void (*)())host_thread<K, A>, 0);
        }
        for (bool any = meets; any;) {
            any = false;
            for (unsigned t = 0; t < n; t++) {
                if (host_done[t]) continue;
                host_current = t;
                threadIdx = host_dim{t % bx, t / bx, 0};
                host_enter(t);
                any = any || !host_done[t];
            }
        }
    }
}
