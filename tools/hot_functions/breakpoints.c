/* Which functions of a loaded library run: a breakpoint at the start of each, taken out when it is hit.
 * Several threads may hit the same one; the first to take it out counts it. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { BREAKPOINT = 0xcc, PAGE = 4096 };

static const uintptr_t *starts; /* sorted */
static size_t count;
static uint8_t *first_bytes;
static uint32_t *order;
static uint32_t hits;

static void on_breakpoint(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info;
    greg_t *rip = &((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    uintptr_t address = (uintptr_t)*rip - 1;
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (starts[middle] < address) low = middle + 1;
        else high = middle;
    }
    if (low == count || starts[low] != address) _exit(99); /* not one of ours */
    uint8_t found = __atomic_exchange_n((uint8_t *)address, first_bytes[low], __ATOMIC_SEQ_CST);
    if (found == BREAKPOINT) order[__atomic_fetch_add(&hits, 1, __ATOMIC_SEQ_CST)] = (uint32_t)low;
    *rip = (greg_t)address;
}

/* `addresses` stay the caller's and must outlive the program. 0 when all is set. */
int set_breakpoints(const uintptr_t *addresses, size_t many, uintptr_t end)
{
    starts = addresses, count = many;
    first_bytes = malloc(many);
    order = calloc(many, sizeof *order);
    struct sigaction action = {.sa_sigaction = on_breakpoint, .sa_flags = SA_SIGINFO | SA_NODEFER};
    uintptr_t begin = addresses[0] & ~(uintptr_t)(PAGE - 1);
    end = (end + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
    if (!first_bytes || !order || sigaction(SIGTRAP, &action, NULL)) return -1;
    if (mprotect((void *)begin, end - begin, PROT_READ | PROT_WRITE | PROT_EXEC)) return -1;
    for (size_t k = 0; k < many; k++) {
        first_bytes[k] = *(uint8_t *)addresses[k];
        *(uint8_t *)addresses[k] = BREAKPOINT;
    }
    return 0;
}

/* The functions hit so far, in order, as places in the list; how many. */
uint32_t functions_hit(uint32_t *out)
{
    memcpy(out, order, hits * sizeof *out);
    return hits;
}
