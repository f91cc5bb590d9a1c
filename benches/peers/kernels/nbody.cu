// Accelerations of n bodies (x, y, z, mass), by tiles of bodies in shared memory.
const int TILE = 256;

extern "C" __global__ void nbody(const float *in, float *out, int n) {
    __shared__ float tile[4][TILE];
    int t = threadIdx.x, i = blockIdx.x * TILE + t;
    float x = in[4 * i], y = in[4 * i + 1], z = in[4 * i + 2], ax = 0, ay = 0, az = 0;
    for (int begin = 0; begin < n; begin += TILE) {
        for (int c = 0; c < 4; ++c) tile[c][t] = in[4 * (begin + t) + c];
        __syncthreads();
        for (int j = 0; j < TILE; ++j) {
            float dx = tile[0][j] - x, dy = tile[1][j] - y, dz = tile[2][j] - z;
            float inverse = rsqrtf(fmaf(dx, dx, fmaf(dy, dy, fmaf(dz, dz, 0.01f))));
            float pull = tile[3][j] * inverse * inverse * inverse;
            ax = fmaf(dx, pull, ax);
            ay = fmaf(dy, pull, ay);
            az = fmaf(dz, pull, az);
        }
        __syncthreads();
    }
    out[3 * i] = ax;
    out[3 * i + 1] = ay;
    out[3 * i + 2] = az;
}
