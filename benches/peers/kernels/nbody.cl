// Accelerations of n bodies (x, y, z, mass), by tiles of bodies in local memory.
#define TILE 256

__kernel void nbody(__global const float *in, __global float *out, int n) {
    __local float tile[4][TILE];
    int t = get_local_id(0), i = get_global_id(0);
    float x = in[4 * i], y = in[4 * i + 1], z = in[4 * i + 2], ax = 0, ay = 0, az = 0;
    for (int begin = 0; begin < n; begin += TILE) {
        for (int c = 0; c < 4; ++c) tile[c][t] = in[4 * (begin + t) + c];
        BARRIER;
        for (int j = 0; j < TILE; ++j) {
            float dx = tile[0][j] - x, dy = tile[1][j] - y, dz = tile[2][j] - z;
            float inverse = native_rsqrt(fma(dx, dx, fma(dy, dy, fma(dz, dz, 0.01f))));
            float pull = tile[3][j] * inverse * inverse * inverse;
            ax = fma(dx, pull, ax);
            ay = fma(dy, pull, ay);
            az = fma(dz, pull, az);
        }
        BARRIER;
    }
    out[3 * i] = ax;
    out[3 * i + 1] = ay;
    out[3 * i + 2] = az;
}
