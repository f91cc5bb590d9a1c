// g++: -ffast-math
// Calls and puts of n European options; prices, strikes and years are the input's first three n.
#include <cmath>

const float RATE = 0.02f, VOLATILITY = 0.3f;

// The normal distribution by Abramowitz and Stegun, 26.2.17.
static inline float normal(float d) {
    float k = 1.0f / std::fma(0.2316419f, std::fabs(d), 1.0f);
    float sum = std::fma(k, 1.330274429f, -1.821255978f);
    sum = std::fma(k, std::fma(k, std::fma(k, sum, 1.781477937f), -0.356563782f), 0.319381530f);
    float tail = 0.39894228f * std::exp(-0.5f * d * d) * k * sum;
    return d > 0 ? 1.0f - tail : tail;
}

extern "C" void blackscholes(const float *in, float *out, int n) {
#pragma omp parallel for simd
    for (int i = 0; i < n; ++i) {
        float price = std::fma(25.0f, in[i], 5.0f), strike = std::fma(99.0f, in[n + i], 1.0f);
        float years = std::fma(9.75f, in[2 * n + i], 0.25f), root = std::sqrt(years);
        float d1 = (std::log(price / strike) + (RATE + 0.5f * VOLATILITY * VOLATILITY) * years) / (VOLATILITY * root);
        float d2 = d1 - VOLATILITY * root;
        float n1 = normal(d1), n2 = normal(d2), discounted = strike * std::exp(-RATE * years);
        out[i] = price * n1 - discounted * n2;
        out[n + i] = discounted * (1.0f - n2) - price * (1.0f - n1);
    }
}
