// g++: -ffast-math
// Flash attention: softmax(Q * K^T / sqrt(32)) * V for four heads of n queries, keys and values of 32 floats. A query at a time; scores
// of a tile of keys at once, and the softmax is corrected where a tile has a larger one.
#include <algorithm>
#include <cmath>
#include <vector>

const int DEPTH = 32, TILE = 32, HEADS = 4;

extern "C" void attention(const float *in, float *out, int n) {
    const int matrix = n * DEPTH;
    std::vector<float> transposed(HEADS * matrix);
#pragma omp parallel for
    for (int tile = 0; tile < HEADS * n; tile += TILE)
        for (int key = 0; key < TILE; ++key)
            for (int d = 0; d < DEPTH; ++d)
                transposed[(tile + d) * DEPTH + key] = in[HEADS * matrix + (tile + key) * DEPTH + d];
#pragma omp parallel for
    for (int query = 0; query < HEADS * n; ++query) {
        const int head = query / n * matrix;
        const float *q = in + query * DEPTH, *keys = transposed.data() + head, *values = in + 2 * HEADS * matrix + head;
        float sums[DEPTH] = {}, most = -1e30f, weight = 0;
        for (int tile = 0; tile < matrix; tile += TILE * DEPTH) {
            float scores[TILE] = {}, larger = most;
            for (int d = 0; d < DEPTH; ++d)
#pragma omp simd
                for (int key = 0; key < TILE; ++key) scores[key] += q[d] * 0.176776695f * keys[tile + d * TILE + key];
#pragma omp simd reduction(max : larger)
            for (int key = 0; key < TILE; ++key) larger = std::max(larger, scores[key]);
            float kept = std::exp(most - larger), added = 0;
#pragma omp simd reduction(+ : added)
            for (int key = 0; key < TILE; ++key) added += scores[key] = std::exp(scores[key] - larger);
            weight = weight * kept + added;
            for (int d = 0; d < DEPTH; ++d) sums[d] *= kept;
            for (int key = 0; key < TILE; ++key)
#pragma omp simd
                for (int d = 0; d < DEPTH; ++d) sums[d] += scores[key] * values[tile + key * DEPTH + d];
            most = larger;
        }
        for (int d = 0; d < DEPTH; ++d) out[query * DEPTH + d] = sums[d] / weight;
    }
}
