// A driver and a compiler that do nothing but write down what they are asked for, in the order of the compute stream.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

typedef void *P;
typedef uint64_t D;

struct Node {
    P function;
    unsigned grid, block;
    std::vector<uint64_t> words;
};
struct Params {
    P function;
    unsigned grid[3], block[3], shared;
    void **arguments, **extra;
    P kernel, context;
};

static std::vector<uint64_t> journal;
static std::vector<uint64_t> numbers{0, 0, 0};
enum { SETS, GRAPHS, REFUSED };
static int refuses;
static D next_address = 1 << 20;
static uintptr_t next_handle = 64;

// The words of a launch's arguments, and the first stream that is made: the compute stream.
static const int WORDS = 9;
static const P COMPUTE = (P)72;

static P handle() { return (P)(next_handle += 8); }
static void note(uint64_t what, uint64_t a = 0, uint64_t b = 0) { journal.insert(journal.end(), {what, a, b}); }
static void note(const Node &n) {
    note('k', (uint64_t)n.function, (uint64_t)n.grid << 32 | n.block);
    journal.insert(journal.end(), n.words.begin(), n.words.end());
}
static Node node_of(const Params *p) {
    const uint64_t *w = (const uint64_t *)p->arguments[0];
    return {p->function, p->grid[0], p->block[0], std::vector<uint64_t>(w, w + WORDS)};
}
static bool refused(int call) {
    numbers[REFUSED] += refuses == call;
    return refuses == call;
}

extern "C" {
// For the test.
uint64_t stand_in_journal(const uint64_t **at) { return *at = journal.data(), journal.size(); }
uint64_t stand_in_number(int which) { return numbers[which]; }
void stand_in_reset(int refusing) {
    journal.clear();
    numbers = {0, 0, 0};
    refuses = refusing;
    next_address = 1 << 20;
    next_handle = 64;
}

int cuInit(unsigned) { return 0; }
int cuDriverGetVersion(int *v) { return *v = 13000, 0; }
int cuDeviceGetCount(int *n) { return *n = 1, 0; }
int cuDeviceGet(int *d, int k) { return *d = k, 0; }
int cuDeviceGetName(char *s, int, int) { return strcpy(s, "stand-in"), 0; }
int cuDeviceGetAttribute(int *v, int a, int) { return *v = a == 75 ? 9 : a == 76 ? 0 : 128, 0; }
int cuDevicePrimaryCtxRetain(P *c, int) { return *c = (P)16, 0; }
int cuDevicePrimaryCtxRelease_v2(int) { return 0; }
int cuCtxSetCurrent(P) { return 0; }
int cuCtxGetCurrent(P *c) { return *c = (P)16, 0; }
int cuMemGetInfo_v2(size_t *f, size_t *t) { return *f = *t = (size_t)1 << 33, 0; }
int cuMemAlloc_v2(D *p, size_t n) { return *p = next_address, next_address += (n + 511) / 512 * 512, 0; }
int cuMemFree_v2(D p) { return note('f', p), 0; }
int cuMemHostAlloc(P *p, size_t n, unsigned) { return *p = malloc(n), 0; }
int cuMemFreeHost(P p) { return free(p), 0; }
int cuMemcpyHtoDAsync_v2(D d, const void *, size_t n, P) { return note('u', d, n), 0; }
int cuMemcpyDtoHAsync_v2(P, D s, size_t n, P) { return note('d', s, n), 0; }
int cuMemcpyDtoDAsync_v2(D d, D s, size_t, P) { return note('c', d, s), 0; }
int cuMemcpy2DAsync_v2(const void *, P) { return note('r'), 0; }
int cuMemsetD8Async(D d, unsigned char b, size_t, P) { return note('m', d, b), 0; }
int cuStreamCreateWithPriority(P *s, unsigned, int) { return *s = handle(), 0; }
int cuStreamDestroy_v2(P) { return 0; }
int cuStreamSynchronize(P s) { return note('s', (uint64_t)s), 0; }
int cuStreamWaitEvent(P s, P, unsigned) { return s == COMPUTE ? note('w') : (void)0, 0; }
int cuEventCreate(P *e, unsigned) { return *e = (P)8, 0; }
int cuEventDestroy_v2(P) { return 0; }
int cuEventRecord(P, P s) { return s == COMPUTE ? note('e') : (void)0, 0; }
int cuEventQuery(P) { return 0; }
int cuEventSynchronize(P) { return 0; }
int cuEventElapsedTime(float *f, P, P) { return *f = 0, 0; }
int cuModuleLoadData(P *m, const void *) { return *m = handle(), 0; }
int cuModuleUnload(P) { return 0; }
int cuModuleGetFunction(P *f, P, const char *) { return *f = handle(), 0; }
int cuGetErrorString(int, const char **s) { return *s = "refused", 0; }
int cuLaunchKernel(P f, unsigned g, unsigned, unsigned, unsigned b, unsigned, unsigned, unsigned, P, void **a, void **) {
    const uint64_t *w = (const uint64_t *)a[0];
    return note(Node{f, g, b, std::vector<uint64_t>(w, w + WORDS)}), 0;
}

typedef std::vector<Node> Graph;
int cuGraphCreate(P *g, unsigned) { return *g = new Graph, 0; }
int cuGraphDestroy(P g) { return delete (Graph *)g, 0; }
int cuGraphAddKernelNode_v2(P *n, P g, const P *, size_t, const Params *p) {
    if (refused(1)) return 801;
    Graph *graph = (Graph *)g;
    *n = (P)(uintptr_t)graph->size();
    graph->push_back(node_of(p));
    return 0;
}
int cuGraphInstantiateWithFlags(P *e, P g, unsigned long long) {
    if (refused(2)) return 801;
    *e = new Graph(*(Graph *)g);
    return 0;
}
int cuGraphExecDestroy(P e) { return delete (Graph *)e, 0; }
int cuGraphExecKernelNodeSetParams_v2(P e, P n, const Params *p) {
    if (refused(3)) return 801;
    numbers[SETS]++;
    (*(Graph *)e)[(uintptr_t)n] = node_of(p);
    return 0;
}
int cuGraphLaunch(P e, P) {
    if (refused(4)) return 801;
    numbers[GRAPHS]++;
    for (const Node &n : *(Graph *)e) note(n);
    return 0;
}

// NVRTC.
int nvrtcVersion(int *a, int *b) { return *a = 13, *b = 0, 0; }
int nvrtcCreateProgram(P *p, const char *, const char *, int, const char *const *, const char *const *) { return *p = (P)8, 0; }
int nvrtcCompileProgram(P, int, const char *const *) { return 0; }
int nvrtcGetCUBINSize(P, size_t *n) { return *n = 16, 0; }
int nvrtcGetCUBIN(P, char *b) { return memset(b, 'x', 16), 0; }
int nvrtcGetProgramLogSize(P, size_t *n) { return *n = 1, 0; }
int nvrtcGetProgramLog(P, char *b) { return *b = 0, 0; }
int nvrtcDestroyProgram(P *) { return 0; }
int nvrtcGetNumSupportedArchs(int *n) { return *n = 1, 0; }
int nvrtcGetSupportedArchs(int *a) { return *a = 90, 0; }
}
