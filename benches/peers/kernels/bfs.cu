// A step of a breadth-first search from the frontier, a thread for each vertex. The graph: where the neighbours of each vertex begin,
// colours, n floats, neighbours. White vertices were not seen, grey ones are the frontier.
const int WHITE = 0, GREY = 1;

extern "C" __global__ void bfs(const int *in, int *out, int n) {
    const int *begin = in, *colour = in + n + 1, *neighbour = colour + 2 * n;
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (colour[v] != GREY) return;
    for (int i = begin[v]; i < begin[v + 1]; ++i)
        if (colour[neighbour[i]] == WHITE) out[neighbour[i]] = 1;
}
