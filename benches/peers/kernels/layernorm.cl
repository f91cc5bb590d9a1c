// Layer norm of rows of 1,024, a group each: mean and variance by trees in local memory.
#define COLUMNS 1024
#define THREADS 256
#define OWN (COLUMNS / THREADS)

// The sum of all work-items' values.
float total(__local float *values, float value) {
    int t = get_local_id(0);
    values[t] = value;
    for (int middle = THREADS / 2; middle > 0; middle /= 2) {
        BARRIER;
        if (t < middle) values[t] += values[t + middle];
    }
    BARRIER;
    float sum = values[0];
    BARRIER;
    return sum;
}

__kernel void layernorm(__global const float *in, __global float *out, int n) {
    __local float values[THREADS];
    int t = get_local_id(0), row = get_group_id(0) * COLUMNS;
    float own[OWN], sum = 0, squares = 0;
    for (int i = 0; i < OWN; ++i) {
        own[i] = in[row + i * THREADS + t];
        sum += own[i];
    }
    float mean = total(values, sum) / COLUMNS;
    for (int i = 0; i < OWN; ++i) {
        own[i] -= mean;
        squares = fma(own[i], own[i], squares);
    }
    float scale = native_rsqrt(total(values, squares) / COLUMNS + 1e-5f);
    for (int i = 0; i < OWN; ++i) out[row + i * THREADS + t] = own[i] * scale;
}
