// Softmax of rows of 1,024, a block each: the row's largest value and sum by trees in shared memory.
const int COLUMNS = 1024, THREADS = 256, OWN = COLUMNS / THREADS;

extern "C" __global__ void softmax(const float *in, float *out, int n) {
    __shared__ float values[THREADS];
    int t = threadIdx.x, row = blockIdx.x * COLUMNS;
    float own[OWN], most = in[row + t];
    for (int i = 0; i < OWN; ++i) {
        own[i] = in[row + i * THREADS + t];
        most = fmaxf(most, own[i]);
    }
    values[t] = most;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (t < half) values[t] = fmaxf(values[t], values[t + half]);
    }
    __syncthreads();
    most = values[0];
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < OWN; ++i) {
        own[i] = __expf(own[i] - most);
        sum += own[i];
    }
    values[t] = sum;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (t < half) values[t] += values[t + half];
    }
    __syncthreads();
    float scale = 1.0f / values[0];
    for (int i = 0; i < OWN; ++i) out[row + i * THREADS + t] = own[i] * scale;
}
