// A step of a breadth-first search from the frontier, a work-item for each vertex. The graph: where the neighbours of each vertex begin,
// colours, n floats, neighbours. White vertices were not seen, grey ones are the frontier.
#define WHITE 0
#define GREY 1

__kernel void bfs(__global const int *in, __global int *out, int n) {
    __global const int *begin = in, *colour = in + n + 1, *neighbour = colour + 2 * n;
    int v = get_global_id(0);
    if (colour[v] != GREY) return;
    for (int i = begin[v]; i < begin[v + 1]; ++i)
        if (colour[neighbour[i]] == WHITE) out[neighbour[i]] = 1;
}
