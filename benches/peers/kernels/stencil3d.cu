// Seven points of n x n x n; a thread walks through the planes and keeps its column in registers.
extern "C" __global__ void stencil3d(const float *in, float *out, int n) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, plane = n * n;
    if (x == 0 || y == 0 || x == n - 1 || y == n - 1) return;
    int i = plane + y * n + x;
    float below = in[i - plane], here = in[i];
    for (int z = 1; z < n - 1; ++z, i += plane) {
        float above = in[i + plane];
        out[i] = 0.4f * here + 0.1f * (in[i - 1] + in[i + 1] + in[i - n] + in[i + n] + below + above);
        below = here;
        here = above;
    }
}
