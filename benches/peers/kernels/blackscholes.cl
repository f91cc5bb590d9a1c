// Calls and puts of n European options; prices, strikes and years are the input's first three n.
#define RATE 0.02f
#define VOLATILITY 0.3f

// The normal distribution by Abramowitz and Stegun, 26.2.17.
float normal(float d) {
    float k = 1.0f / fma(0.2316419f, fabs(d), 1.0f);
    float sum = fma(k, fma(k, fma(k, fma(k, 1.330274429f, -1.821255978f), 1.781477937f), -0.356563782f), 0.319381530f);
    float tail = 0.39894228f * native_exp(-0.5f * d * d) * k * sum;
    return d > 0 ? 1.0f - tail : tail;
}

__kernel void blackscholes(__global const float *in, __global float *out, int n) {
    int i = get_global_id(0);
    float price = fma(25.0f, in[i], 5.0f), strike = fma(99.0f, in[n + i], 1.0f), years = fma(9.75f, in[2 * n + i], 0.25f);
    float root = sqrt(years);
    float d1 = (native_log(price / strike) + (RATE + 0.5f * VOLATILITY * VOLATILITY) * years) / (VOLATILITY * root);
    float d2 = d1 - VOLATILITY * root;
    float n1 = normal(d1), n2 = normal(d2), discounted = strike * native_exp(-RATE * years);
    out[i] = price * n1 - discounted * n2;
    out[n + i] = discounted * (1.0f - n2) - price * (1.0f - n1);
}
