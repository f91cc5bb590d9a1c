// C = A * B^T, all n x n; A and B of halves, C of floats; B comes behind A. On tensor cores: four warps with 16 x 16 elements of C
// each, two mma.m16n8k16 a step. How the matrices lie in registers is said in the PTX manual, 9.7.14.5.8.
extern "C" __global__ void hgemm(const unsigned *in, float *out, int n) {
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, group = lane / 4, pair = lane % 4, words = n / 2;
    int row = blockIdx.y * 32 + warp / 2 * 16 + group, column = blockIdx.x * 32 + warp % 2 * 16;
    const unsigned *a = in + row * words + pair, *b = in + n * words + (column + group) * words + pair;
    float c[2][4] = {};
    for (int k = 0; k < words; k += 8) {
        unsigned a0 = a[k], a1 = a[k + 8 * words], a2 = a[k + 4], a3 = a[k + 8 * words + 4];
        for (int i = 0; i < 2; ++i) {
            unsigned b0 = b[k + i * 8 * words], b1 = b[k + i * 8 * words + 4];
            asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                : "+f"(c[i][0]), "+f"(c[i][1]), "+f"(c[i][2]), "+f"(c[i][3])
                : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
        }
    }
    for (int i = 0; i < 2; ++i) {
        float *place = out + row * n + column + i * 8 + pair * 2;
        place[0] = c[i][0];
        place[1] = c[i][1];
        place[8 * n] = c[i][2];
        place[8 * n + 1] = c[i][3];
    }
}
