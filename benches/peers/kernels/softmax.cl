// Softmax of rows of 1,024, a group each: the row's largest value and sum by trees in local memory.
#define COLUMNS 1024
#define THREADS 256
#define OWN (COLUMNS / THREADS)

__kernel void softmax(__global const float *in, __global float *out, int n) {
    __local float values[THREADS];
    int t = get_local_id(0), row = get_group_id(0) * COLUMNS;
    float own[OWN], most = in[row + t];
    for (int i = 0; i < OWN; ++i) {
        own[i] = in[row + i * THREADS + t];
        most = fmax(most, own[i]);
    }
    values[t] = most;
    for (int middle = THREADS / 2; middle > 0; middle /= 2) {
        BARRIER;
        if (t < middle) values[t] = fmax(values[t], values[t + middle]);
    }
    BARRIER;
    most = values[0];
    BARRIER;
    float sum = 0;
    for (int i = 0; i < OWN; ++i) {
        own[i] = native_exp(own[i] - most);
        sum += own[i];
    }
    values[t] = sum;
    for (int middle = THREADS / 2; middle > 0; middle /= 2) {
        BARRIER;
        if (t < middle) values[t] += values[t + middle];
    }
    BARRIER;
    float scale = 1.0f / values[0];
    for (int i = 0; i < OWN; ++i) out[row + i * THREADS + t] = own[i] * scale;
}
