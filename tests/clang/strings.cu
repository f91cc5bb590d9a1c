//: run cubes block=40
//: out text u8[640] = 48 61 48 46*13 49 61 49 46*13 50 61 56 46*13 51 61 50 55 46*12 52 61 54 52 46*12 53 61 49 50 53 46*11 54 61 50
//|   49 54 46*11 55 61 51 52 51 46*11 56 61 53 49 50 46*11 57 61 55 50 57 46*11 49 48 61 49 48*3 46*9 49*2 61 49
//|   51*2 49 46*9 49 50 61 49 55 50 56 46*9 49 51 61 50 49 57 55 46*9 49 52 61 50 55 52*2 46*9 49 53 61 51*2 55 53
//|   46*9 49 54 61 52 48 57 54 46*9 49 55 61 52 57 49 51 46*9 49 56 61 53 56 51 50 46*9 49 57 61 54 56 53 57 46*9
//|   50 48 61 56 48*3 46*9 50 49 61 57 50 54 49 46*9 50*2 61 49 48 54 52 56 46*8 50 51 61 49 50 49 54 55 46*8 50 52
//|   61 49 51 56 50 52 46*8 50 53 61 49 53 54 50 53 46*8 50 54 61 49 55 53 55 54 46*8 50 55 61 49 57 54 56 51 46*8
//|   50 56 61 50 49 57 53 50 46*8 50 57 61 50 52 51 56 57 46*8 51 48 61 50 55 48*3 46*8 51 49 61 50 57 55 57 49
//|   46*8 51 50 61 51 50 55 54 56 46*8 51*2 61 51 53 57 51 55 46*8 51 52 61 51 57 51 48 52 46*8 51 53 61 52 50 56
//|   55 53 46*8 51 54 61 52 54*2 53 54 46*8 51 55 61 53 48 54 53 51 46*8 51 56 61 53 52 56 55 50 46*8 51 57 61 53
//|   57 51 49 57 46*8
//: run reverse_words block=32
//: in text u8[59] = 100 97 116 97 32 102 108 111 119 32 105 115 32 116 104 101 32 116 114 101*2 32 111 102 32 97 32 112 114 111
//|   103 114 97 109 32 116 104 97 116 32 110 111 98 111 100 121 32 104 97 115 32 116 111 32 100 114 97 119 32
//: out text u8[59] = 97 116 97 100 32 119 111 108 102 32 115 105 32 101 104 116 32 101*2 114 116 32 102 111 32 97 32 109 97 114 103
//|   111 114 112 32 116 97 104 116 32 121 100 111 98 111 110 32 115 97 104 32 111 116 32 119 97 114 100 32
//: arg length u32 = 59
// Text work in local memory: numbers to decimal, words turned round.
static __device__ __noinline__ int decimal(char *to, u32 value) {
    char digits[12];
    int n = 0;
    do {
        digits[n++] = '0' + value % 10;
        value /= 10;
    } while (value != 0);
    for (int i = 0; i < n; i++) to[i] = digits[n - 1 - i];
    return n;
}

// Thread i writes "i*i*i=" and the number into its 16 characters; the rest are dots.
extern "C" __global__ void cubes(char *text) {
    char line[16];
    u32 i = global_thread();
    for (int k = 0; k < 16; k++) line[k] = '.';
    int n = decimal(line, i);
    line[n++] = '=';
    n += decimal(line + n, i * i * i);
    for (int k = 0; k < 16; k++) text[i * 16 + k] = line[k];
}

// Each thread reverses the letters of one word of a text whose words end with a space.
extern "C" __global__ void reverse_words(char *text, u32 length) {
    u32 i = global_thread();
    u32 word = 0, start = 0;
    while (start < length && word < i) {
        if (text[start] == ' ') word++;
        start++;
    }
    u32 end = start;
    while (end < length && text[end] != ' ') end++;
    // Everybody has looked before anybody writes.
    __syncthreads();
    for (; start + 1 < end; start++, end--) {
        char swap = text[start];
        text[start] = text[end - 1];
        text[end - 1] = swap;
    }
}
