// Calls and puts of n European options; prices, strikes and years are the input's first three n.
const float RATE = 0.02f, VOLATILITY = 0.3f;

// The normal distribution by Abramowitz and Stegun, 26.2.17.
__device__ float normal(float d) {
    float k = 1.0f / fmaf(0.2316419f, fabsf(d), 1.0f);
    float sum = fmaf(k, fmaf(k, fmaf(k, fmaf(k, 1.330274429f, -1.821255978f), 1.781477937f), -0.356563782f), 0.319381530f);
    float tail = 0.39894228f * __expf(-0.5f * d * d) * k * sum;
    return d > 0 ? 1.0f - tail : tail;
}

extern "C" __global__ void blackscholes(const float *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float price = fmaf(25.0f, in[i], 5.0f), strike = fmaf(99.0f, in[n + i], 1.0f), years = fmaf(9.75f, in[2 * n + i], 0.25f);
    float root = sqrtf(years);
    float d1 = (__logf(price / strike) + (RATE + 0.5f * VOLATILITY * VOLATILITY) * years) / (VOLATILITY * root);
    float d2 = d1 - VOLATILITY * root;
    float n1 = normal(d1), n2 = normal(d2), discounted = strike * __expf(-RATE * years);
    out[i] = price * n1 - discounted * n2;
    out[n + i] = discounted * (1.0f - n2) - price * (1.0f - n1);
}
