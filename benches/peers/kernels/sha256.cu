// SHA-256 (FIPS 180-4) of n messages of 64 bytes, a thread each: a block of the message and one of padding.
__constant__ const unsigned K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

__device__ unsigned rotated(unsigned x, int by) { return x >> by | x << (32 - by); }

__device__ __forceinline__ void compress(unsigned *hash, unsigned *w) {
    unsigned a = hash[0], b = hash[1], c = hash[2], d = hash[3], e = hash[4], f = hash[5], g = hash[6], h = hash[7];
    for (int round = 0; round < 64; round += 16) {
#pragma unroll
        for (int i = 0; i < 16; ++i) {
            unsigned s1 = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25), s0 = rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22);
            unsigned t1 = h + s1 + (e & f ^ ~e & g) + K[round + i] + w[i], t2 = s0 + (a & b ^ a & c ^ b & c);
            h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
        }
#pragma unroll
        for (int i = 0; i < 16; ++i) {
            unsigned x = w[(i + 1) % 16], y = w[(i + 14) % 16];
            w[i] += (rotated(x, 7) ^ rotated(x, 18) ^ x >> 3) + w[(i + 9) % 16] + (rotated(y, 17) ^ rotated(y, 19) ^ y >> 10);
        }
    }
    hash[0] += a, hash[1] += b, hash[2] += c, hash[3] += d, hash[4] += e, hash[5] += f, hash[6] += g, hash[7] += h;
}

extern "C" __global__ void sha256(const unsigned *in, unsigned *out, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned hash[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    unsigned w[16], padding[16] = {0x80000000, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 512};
    for (int i = 0; i < 16; ++i) w[i] = __byte_perm(in[16 * t + i], 0, 0x0123);
    compress(hash, w);
    compress(hash, padding);
    for (int i = 0; i < 8; ++i) out[8 * t + i] = __byte_perm(hash[i], 0, 0x0123);
}
