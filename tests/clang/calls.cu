//: run recursion block=36
//: out out u32[36] = 1 2 3 2 3 5 3 4 7 4 5 9 1 2 3 2 3 5 3 4 7 4 5 9 1 2 3 2 3 5 3 4 7 4 5 9
//: run pointers grid=2 block=40
//: in a s32[80] = -74 -21 97 -1 -17 -84 26 -85 79 66 82 59 -69 -71 19 -93 -18 95 12 -46 60 -32 -97 74 -85 -100 81 75 1 95 -68 87
//|   77 -30 24 25 -2 -3 -49 23 -99 45 49 59 -85 -57 68 75 11 -92 -35 -85 -8 -5 0 -11 13 -22 72 -43 25 -74 87 36 43
//|   -67 -52 -89 -67 38 32 -59 15 10 36 -70 -6 -27 -81 -85
//: in b s32[80] = 64 86 6 8 -2 13 81 64 94 5 -89 35 -98 -2 62 44 -57 50 45 9 26 27 -99 -33 -32 -62 21 94 -5 -87 -6 -2 -4 -73 6
//|   -43 -33 66 96 62 31 -90 94 73 21 28 -67 -51 70 -45 -16 23 -31 -57 -70 -18 -36 92 66 22 -7 26 -86*2 -32 -9 -2
//|   86 -47 12 46 99 -2 43 56 76 -36 93 -39 57
//: out out s32[80] = -10 -107 582 8 -19 -97 2106 64 173 61 -7298 59 -167 -69 1178 44 -75 45 540 9 86 -59 9603 74 -117 -38 1701 94
//|   -4 182 408 87 73 43 144 25 -35 -69 -4704 62 -68 135 4606 73 -64 -85 -4556 75 81 -47 560 23 -39 52 0 -11 -23
//|   -114 4752 22 18 -100 -7482 36 11 -58 104 86 -114 26 1472 99 13 -33 2016 76 -42 -120 3159 57
//: run structures block=40
//: out out s64[120] = 7*2 8 9 14 11 13 21 10 19 28 13 27 35 12 37 42 15 49*2 14 63 56 1 79 63 8 97 70 11 117 77 10 139 84 13 163 91
//|   12 189 98 15 217 105 14 247 112 1 279 119 8 313 126 11 349 133 10 387 140 13 427 147 12 469 154 15 513 161 14
//|   559 168 1 607 175 8 657 182 11 709 189 10 763 196 13 819 203 12 877 210 15 937 217 14 999 224 1 1063 231 8
//|   1129 238 11 1197 245 10 1267 252 13 1339 259 12 1413 266 15 1489 273 14 1567 280 1
//: run interpreter block=48
//: in programs u8[48] = 6 10 1 4 2 3 0*10 6 5 2 5 7 5 3 0*9 6 200 1 3 7 4 2 9 0*8
//: out out s32[48] = 55 31 -1 58 26 -1 61 25 -1 64 20 -1 67 19 -1 70 14 -1 73 13 -1 76 8 -1 79 7 -1 82 2 -1 85 1 -1 88 60 -1 91 59
//|   -1 94 54 -1 97 53 -1 100 48 -1
// Recursion, function pointers, structures by value, switches.
static __device__ __noinline__ u32 ackermann(u32 m, u32 n) {
    if (m == 0) return n + 1;
    if (n == 0) return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}
extern "C" __global__ void recursion(u32 *out) {
    u32 i = threadIdx.x;
    out[i] = ackermann(i % 3, i / 3 % 4);
}

static __device__ int plus(int a, int b) { return a + b; }
static __device__ int minus(int a, int b) { return a - b; }
static __device__ int times(int a, int b) { return a * b; }
static __device__ int larger(int a, int b) { return a > b ? a : b; }
static __constant__ int (*const operations[4])(int, int) = {plus, minus, times, larger};
extern "C" __global__ void pointers(const int *a, const int *b, int *out) {
    u32 i = global_thread();
    out[i] = operations[i % 4](a[i], b[i]);
}

struct Fraction {
    long long numerator, denominator;
    u8 note[8];
};
static __device__ __noinline__ Fraction add(Fraction a, Fraction b) {
    Fraction sum = {a.numerator * b.denominator + b.numerator * a.denominator, a.denominator * b.denominator, {}};
    for (int k = 0; k < 8; k++) sum.note[k] = a.note[k] ^ b.note[7 - k];
    return sum;
}
extern "C" __global__ void structures(long long *out) {
    long long i = threadIdx.x;
    Fraction a = {1, i + 1, {1, 2, 3, 4, 5, 6, 7, 8}}, b = {i, 7, {9, 9, 9, 9, 9, 9, 9, 9}};
    Fraction c = add(a, b);
    out[3 * i] = c.numerator;
    out[3 * i + 1] = c.denominator;
    out[3 * i + 2] = c.note[i % 8];
}

// A little machine with a switch: lanes run different programs.
extern "C" __global__ void interpreter(const u8 *programs, int *out) {
    u32 i = threadIdx.x;
    const u8 *at = programs + i % 3 * 16;
    int a = i, b = 1;
    for (;;) {
        switch (*at++) {
            case 0: out[i] = a; return;
            case 1: a += b; break;
            case 2: b *= 3; break;
            case 3: a ^= b; break;
            case 4: b -= 1; if (b > 0) at = programs + i % 3 * 16 + *at; else at++; break;
            case 5: { int t = a; a = b; b = t; break; }
            case 6: b = *at++; break;
            case 7: a <<= 1; break;
            default: out[i] = -1; return;
        }
    }
}
