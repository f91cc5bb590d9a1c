// Threads take slots of a table from a counter, and assert that there are some left. `wrong` forgets how many there are.
#include <cassert>

extern "C" __global__ void right(unsigned *next, int *table, unsigned size) {
    unsigned at = atomicAdd(next, 1);
    if (at < size) {
        table[at] = 1;
    }
}
extern "C" __global__ void wrong(unsigned *next, int *table, unsigned size) {
    unsigned at = atomicAdd(next, 1);
    table[at] = 1;
}
extern "C" __global__ void wrong_assertion(unsigned *next, int *table, unsigned size) {
    unsigned at = atomicAdd(next, 1);
    assert(at < size);
    table[at] = 1;
}
