// Flash attention: softmax(Q * K^T / sqrt(32)) * V for four heads of n queries, keys and values of 32 floats. A thread has a query;
// keys and values come in tiles through shared memory, and the softmax is corrected as larger scores are met.
const int DEPTH = 32, TILE = 32, THREADS = 64, HEADS = 4;

extern "C" __global__ void attention(const float *in, float *out, int n) {
    __shared__ float k[TILE][DEPTH], v[TILE][DEPTH];
    int t = threadIdx.x, matrix = n * DEPTH, head = blockIdx.y * matrix, query = (blockIdx.x * THREADS + t) * DEPTH;
    const float *queries = in + head, *keys = in + HEADS * matrix + head, *values = in + 2 * HEADS * matrix + head;
    float q[DEPTH], sums[DEPTH], most = -1e30f, weight = 0;
#pragma unroll
    for (int d = 0; d < DEPTH; ++d) {
        q[d] = queries[query + d] * 0.176776695f;
        sums[d] = 0;
    }
    for (int tile = 0; tile < n; tile += TILE) {
        __syncthreads();
        for (int i = t; i < TILE * DEPTH; i += THREADS) {
            k[i / DEPTH][i % DEPTH] = keys[tile * DEPTH + i];
            v[i / DEPTH][i % DEPTH] = values[tile * DEPTH + i];
        }
        __syncthreads();
        for (int key = 0; key < TILE; ++key) {
            float score = 0;
#pragma unroll
            for (int d = 0; d < DEPTH; ++d) score = fmaf(q[d], k[key][d], score);
            float larger = fmaxf(most, score), kept = __expf(most - larger), added = __expf(score - larger);
            weight = fmaf(weight, kept, added);
#pragma unroll
            for (int d = 0; d < DEPTH; ++d) sums[d] = fmaf(sums[d], kept, added * v[key][d]);
            most = larger;
        }
    }
#pragma unroll
    for (int d = 0; d < DEPTH; ++d) out[head + query + d] = sums[d] / weight;
}
