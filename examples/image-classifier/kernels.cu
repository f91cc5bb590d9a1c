// The layers of the network, one kernel each. A feature map stack is [channel][row][column] of float.

// How many output channels, rows and columns of the output one block of conv3x3_relu computes: one a thread.
constexpr int CHANNELS = 4;
constexpr int ROWS = 8;
constexpr int COLUMNS = 8;
constexpr int MAX_STRIDE = 2;
constexpr int PATCH_ROWS = (ROWS - 1) * MAX_STRIDE + 3;
constexpr int PATCH_COLUMNS = (COLUMNS - 1) * MAX_STRIDE + 3;

// A 3x3 convolution, a bias and ReLU. `weight` is [output][input][3][3]. Outside the input there are zeros: `padding`
// rows and columns of them take part. `stride` is 1 or 2. Launch: blocks of COLUMNS x ROWS x CHANNELS threads.
extern "C" __global__ void conv3x3_relu(float *output, const float *input, const float *weight, const float *bias,
                                        int inputs, int in_height, int in_width, int outputs, int out_height,
                                        int out_width, int stride, int padding) {
    // The part of one input channel under the block's outputs: all CHANNELS layers of threads share it.
    __shared__ float patch[PATCH_ROWS][PATCH_COLUMNS];
    int column = blockIdx.x * COLUMNS + threadIdx.x;
    int row = blockIdx.y * ROWS + threadIdx.y;
    int channel = blockIdx.z * CHANNELS + threadIdx.z;
    bool has_output = column < out_width && row < out_height && channel < outputs;

    int thread = (threadIdx.z * ROWS + threadIdx.y) * COLUMNS + threadIdx.x;
    int patch_rows = (ROWS - 1) * stride + 3;
    int patch_columns = (COLUMNS - 1) * stride + 3;
    int top = blockIdx.y * ROWS * stride - padding;
    int left = blockIdx.x * COLUMNS * stride - padding;

    float sum = has_output ? bias[channel] : 0;
    for (int i = 0; i < inputs; i++) {
        for (int cell = thread; cell < patch_rows * patch_columns; cell += CHANNELS * ROWS * COLUMNS) {
            int y = cell / patch_columns, x = cell % patch_columns;
            bool in_picture = top + y >= 0 && top + y < in_height && left + x >= 0 && left + x < in_width;
            patch[y][x] = in_picture ? input[(i * in_height + top + y) * in_width + left + x] : 0;
        }
        __syncthreads();
        if (has_output) {
            const float *w = weight + (channel * inputs + i) * 9;
            for (int y = 0; y < 3; y++) {
                for (int x = 0; x < 3; x++) {
                    sum = fmaf(w[y * 3 + x], patch[threadIdx.y * stride + y][threadIdx.x * stride + x], sum);
                }
            }
        }
        __syncthreads();
    }
    if (has_output) {
        output[(channel * out_height + row) * out_width + column] = fmaxf(sum, 0);
    }
}

// output = weight * input + bias, one block for each output. `weight` is [output][input]. Launch: blocks of
// FC_THREADS threads.
constexpr int FC_THREADS = 128;

extern "C" __global__ void fully_connected(float *output, const float *input, const float *weight, const float *bias,
                                           int inputs) {
    __shared__ float partial[FC_THREADS];
    int thread = threadIdx.x, row = blockIdx.x;
    float sum = 0;
    for (int i = thread; i < inputs; i += FC_THREADS) {
        sum = fmaf(weight[row * inputs + i], input[i], sum);
    }
    partial[thread] = sum;
    // Halve the number of partial sums until one is left.
    for (int half = FC_THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (thread < half) {
            partial[thread] += partial[thread + half];
        }
    }
    if (thread == 0) {
        output[row] = partial[0] + bias[row];
    }
}

// Turns up to 32 scores into probabilities in place. Launch: one block of one warp, one score a lane.
extern "C" __global__ void softmax(float *scores, int count) {
    int lane = threadIdx.x;
    float score = lane < count ? scores[lane] : -__builtin_inff();
    float highest = score;
    for (int distance = 16; distance > 0; distance /= 2) {
        highest = fmaxf(highest, __shfl_xor_sync(0xffffffff, highest, distance));
    }
    // Less the highest score no power exceeds 1, however large the scores are.
    float power = __expf(score - highest);
    float sum = power;
    for (int distance = 16; distance > 0; distance /= 2) {
        sum += __shfl_xor_sync(0xffffffff, sum, distance);
    }
    if (lane < count) {
        scores[lane] = power / sum;
    }
}
