// A step of a radix sort: each 256 keys are sorted, stably, by their lowest 8 bits, by counting.
const int TILE = 256, DIGITS = 256;

extern "C" void radixsort(const unsigned *in, unsigned *out, int n) {
#pragma omp parallel for
    for (int first = 0; first < n; first += TILE) {
        int place[DIGITS] = {};
        for (int i = 0; i < TILE; ++i) ++place[in[first + i] % DIGITS];
        for (int digit = 0, sum = first; digit < DIGITS; ++digit) {
            int count = place[digit];
            place[digit] = sum;
            sum += count;
        }
        for (int i = 0; i < TILE; ++i) out[place[in[first + i] % DIGITS]++] = in[first + i];
    }
}
