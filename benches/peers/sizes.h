// What all peers know of the sizes. `kernels.txt` has the launches that follow from them.

#define FLOATS (1 << 24)
#define SUMMED 16384
#define SUMS 1024
#define SIDE 2048
#define TILE 32
#define MATRIX 512
#define BLOCK 16
#define PIXELS 1024
#define ROUNDS 256
#define BINS 256
#define SEGMENT 256
