// Small programs of other kinds: grids, searches, tables, loops of their own length.

// A byte table of the kernel's constants, which lanes index by what they have.
__constant__ u32 table[64] = {
    0x77073096, 0xee0e612c, 0x990951ba, 0x076dc419, 0x706af48f, 0xe963a535, 0x9e6495a3, 0x0edb8832, 0x79dcb8a4, 0xe0d5e91e, 0x97d2d988,
    0x09b64c2b, 0x7eb17cbd, 0xe7b82d07, 0x90bf1d91, 0x1db71064, 0x6ab020f2, 0xf3b97148, 0x84be41de, 0x1adad47d, 0x6ddde4eb, 0xf4d4b551,
    0x83d385c7, 0x136c9856, 0x646ba8c0, 0xfd62f97a, 0x8a65c9ec, 0x14015c4f, 0x63066cd9, 0xfa0f3d63, 0x8d080df5, 0x3b6e20c8, 0x4c69105e,
    0xd56041e4, 0xa2677172, 0x3c03e4d1, 0x4b04d447, 0xd20d85fd, 0xa50ab56b, 0x35b5a8fa, 0x42b2986c, 0xdbbbc9d6, 0xacbcf940, 0x32d86ce3,
    0x45df5c75, 0xdcd60dcf, 0xabd13d59, 0x26d930ac, 0x51de003a, 0xc8d75180, 0xbfd06116, 0x21b4f4b5, 0x56b3c423, 0xcfba9599, 0xb8bda50f,
    0x2802b89e, 0x5f058808, 0xc60cd9b2, 0xb10be924, 0x2f6f7c87, 0x58684c11, 0xc1611dab, 0xb6662d3d, 0x76dc4190};

extern "C" __global__ void table_lookup(const u32 *in, u32 *out, int rounds) {
    u32 x = in[thread_id()];
    for (int i = 0; i < rounds; ++i) x = x >> 6 ^ table[x & 63] ^ x << 13;
    out[thread_id()] = x;
}

// Thirty-two rounds of Jacobi's method in shared memory, on a tile of 32 x 32 a CTA.
extern "C" __global__ void jacobi(const float *in, float *out) {
    __shared__ float tile[2][34][34];
    int x = threadIdx.x + 1, y = threadIdx.y + 1, at = blockIdx.x * 1024 + threadIdx.y * 32 + threadIdx.x;
    for (int i = threadIdx.y * 32 + threadIdx.x; i < 2 * 34 * 34; i += 1024) (&tile[0][0][0])[i] = 0;
    __syncthreads();
    tile[0][y][x] = in[at];
    for (int round = 0; round < 32; ++round) {
        __syncthreads();
        float (*from)[34] = tile[round % 2];
        tile[(round + 1) % 2][y][x] = 0.25f * (from[y][x - 1] + from[y][x + 1] + from[y - 1][x] + from[y + 1][x]);
    }
    out[at] = tile[0][y][x];
}

// A generation of Conway's life on a torus, a byte a cell.
extern "C" __global__ void life(const u8 *in, u8 *out, int width) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, count = 0;
    for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx)
            if (dx | dy) count += in[((y + dy) & (width - 1)) * width + ((x + dx) & (width - 1))] & 1;
    out[y * width + x] = count == 3 || (count == 2 && (in[y * width + x] & 1));
}

// The nearest of some centres in eight dimensions.
extern "C" __global__ void nearest(const float4 *points, const float4 *centres, u32 *numbers, int count) {
    float4 low = points[2 * thread_id()], high = points[2 * thread_id() + 1];
    float least = 1e30f;
    u32 which = 0;
    for (int i = 0; i < count; ++i) {
        float4 a = low - centres[2 * i], b = high - centres[2 * i + 1];
        a = a * a + b * b;
        float distance = a.x + a.y + a.z + a.w;
        if (distance < least) least = distance, which = i;
    }
    numbers[thread_id()] = which;
}

// Steps of Collatz' sequence: lanes end at different times.
extern "C" __global__ void collatz(u32 *steps) {
    u32 n = thread_id() + 1, count = 0;
    for (; n != 1; ++count) n = n & 1 ? 3 * n + 1 : n / 2;
    steps[thread_id()] = count;
}

// Each lane follows a list of its own.
extern "C" __global__ void follow(const u32 *next, u32 *ends, int steps, u32 mask) {
    u32 at = thread_id();
    for (int i = 0; i < steps; ++i) at = next[at] & mask;
    ends[thread_id()] = at;
}

// A round of Floyd's and Warshall's shortest ways, n x n.
extern "C" __global__ void shortest_ways(const float *in, float *out, int n, int by) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    float direct = in[y * n + x], around = in[y * n + by] + in[by * n + x];
    out[y * n + x] = direct < around ? direct : around;
}

// Walsh's and Hadamard's transformation of 1,024 elements a CTA.
extern "C" __global__ void hadamard(const float *in, float *out) {
    __shared__ float values[1024];
    int t = threadIdx.x, base = blockIdx.x * 1024;
    for (int i = t; i < 1024; i += 256) values[i] = in[base + i];
    for (int half = 512; half > 0; half /= 2) {
        __syncthreads();
        for (int i = t; i < 512; i += 256) {
            int low = i / half * 2 * half + i % half;
            float a = values[low], b = values[low + half];
            values[low] = a + b, values[low + half] = a - b;
        }
    }
    __syncthreads();
    for (int i = t; i < 1024; i += 256) out[base + i] = values[i];
}

// A polynomial of degree 15 in double precision.
extern "C" __global__ void polynomial(const double *in, double *out) {
    double x = in[thread_id()], sum = 1;
#pragma unroll
    for (int i = 15; i > 0; --i) sum = fma(sum, x, 1.0 / i);
    out[thread_id()] = sum;
}

// Edit distances of 32 letters to 32, a pair a thread, with the row in registers.
extern "C" __global__ void edit_distance(const uint4 *words, u32 *distances) {
    int row[16];
    uint4 a = words[2 * thread_id()], b = words[2 * thread_id() + 1];
    u32 left[4] = {a.x, a.y, a.z, a.w}, right[4] = {b.x, b.y, b.z, b.w};
#pragma unroll
    for (int i = 0; i < 16; ++i) row[i] = i + 1;
#pragma unroll
    for (int i = 0; i < 16; ++i) {
        int corner = i, before = i + 1;
        u32 letter = left[i / 4] >> i % 4 * 8 & 3;
#pragma unroll
        for (int k = 0; k < 16; ++k) {
            int change = corner + (letter != (right[k / 4] >> k % 4 * 8 & 3)), other = (row[k] < before ? row[k] : before) + 1;
            corner = row[k];
            before = row[k] = change < other ? change : other;
        }
    }
    distances[thread_id()] = row[15];
}

// Every element of a column of rows of n, and its successor: a line for each lane.
extern "C" __global__ void column_sums(const float *in, float *sums, int n) {
    float sum = 0;
    for (int i = 0; i < n; ++i) sum += in[thread_id() * n + i];
    sums[thread_id()] = sum;
}
