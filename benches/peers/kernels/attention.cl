// Flash attention: softmax(Q * K^T / sqrt(32)) * V for four heads of n queries, keys and values of 32 floats. A work-item has a query;
// keys and values come in tiles through local memory, and the softmax is corrected as larger scores are met.
#define DEPTH 32
#define TILE 32
#define THREADS 64
#define HEADS 4

__kernel void attention(__global const float *in, __global float *out, int n) {
    __local float k[TILE][DEPTH], v[TILE][DEPTH];
    int t = get_local_id(0), matrix = n * DEPTH, head = get_group_id(1) * matrix, query = get_global_id(0) * DEPTH;
    __global const float *queries = in + head, *keys = in + HEADS * matrix + head, *values = in + 2 * HEADS * matrix + head;
    float q[DEPTH], sums[DEPTH], most = -1e30f, weight = 0;
    for (int d = 0; d < DEPTH; ++d) {
        q[d] = queries[query + d] * 0.176776695f;
        sums[d] = 0;
    }
    for (int tile = 0; tile < n; tile += TILE) {
        BARRIER;
        for (int i = t; i < TILE * DEPTH; i += THREADS) {
            k[i / DEPTH][i % DEPTH] = keys[tile * DEPTH + i];
            v[i / DEPTH][i % DEPTH] = values[tile * DEPTH + i];
        }
        BARRIER;
        for (int key = 0; key < TILE; ++key) {
            float score = 0;
            for (int d = 0; d < DEPTH; ++d) score = fma(q[d], k[key][d], score);
            float larger = fmax(most, score), kept = native_exp(most - larger), added = native_exp(score - larger);
            weight = fma(weight, kept, added);
            for (int d = 0; d < DEPTH; ++d) sums[d] = fma(sums[d], kept, added * v[key][d]);
            most = larger;
        }
    }
    for (int d = 0; d < DEPTH; ++d) out[head + query + d] = sums[d] / weight;
}
