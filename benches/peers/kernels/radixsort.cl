// A step of a radix sort: each 256 keys are sorted, stably, by their lowest 8 bits: split by a bit at a time, where a scan
// says how many zeros stand before.
#define TILE 256
#define BITS 8

__kernel void radixsort(__global const uint *in, __global uint *out, int n) {
    __local uint keys[TILE];
    __local int zeros[TILE];
    int t = get_local_id(0), i = get_global_id(0);
    uint key = in[i];
    for (int bit = 0; bit < BITS; ++bit) {
        int zero = ~key >> bit & 1;
        zeros[t] = zero;
        for (int reach = 1; reach < TILE; reach *= 2) {
            BARRIER;
            int before = t >= reach ? zeros[t - reach] : 0;
            BARRIER;
            zeros[t] += before;
        }
        BARRIER;
        int place = zero ? zeros[t] - 1 : zeros[TILE - 1] + t - zeros[t];
        keys[place] = key;
        BARRIER;
        key = keys[t];
    }
    out[i] = key;
}
