// A step of a breadth-first search from the frontier. The graph: where the neighbours of each vertex begin, colours, n floats,
// neighbours. White vertices were not seen, grey ones are the frontier.
const int WHITE = 0, GREY = 1;

extern "C" void bfs(const int *in, int *out, int n) {
    const int *begin = in, *colour = in + n + 1, *neighbour = colour + 2 * n;
#pragma omp parallel for
    for (int v = 0; v < n; ++v) {
        if (colour[v] != GREY) continue;
        for (int i = begin[v]; i < begin[v + 1]; ++i)
            if (colour[neighbour[i]] == WHITE)
#pragma omp atomic write
                out[neighbour[i]] = 1;
    }
}
