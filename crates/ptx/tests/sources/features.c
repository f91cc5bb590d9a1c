// Compiled to PTX with `clang --target=nvptx64-nvidia-cuda`: calls, tables, switches, vectors, debug information.
typedef float float4 __attribute__((ext_vector_type(4)));
typedef int (*callback)(int);

struct record {
  double weight;
  int count;
  char tag[13];
};

extern int external(int, double);

__attribute__((address_space(1))) int table[4][3] = {{1, 2, 3}, {4, 5, 6}, {-7, 8, 0}};
__attribute__((address_space(4))) const double weights[] = {0.5, -1.25, 1e300};
const char *message = "hello, world\n";
__attribute__((address_space(3))) float tile[16][17];
static int twice(int x) { return x * 2; }
static int thrice(int x) { return x * 3; }
callback callbacks[2] = {twice, thrice};

__attribute__((noinline)) struct record bump(struct record r, int by) {
  r.count += by;
  r.tag[by & 7] = (char)by;
  r.weight *= 1.5;
  return r;
}

int dispatch(int which, int x) { return callbacks[which](x); }

int choose(int x) {
  switch (x) {
  case 0: return external(x, 1.0);
  case 1: return 17;
  case 2: return x * 31;
  case 3: return table[x][x & 1];
  case 4: return external(4, weights[1]);
  case 5: return 99;
  default: return -1;
  }
}

__attribute__((device_kernel)) void kernel(float4 *out, float *in, int n) {
  int thread = __nvvm_read_ptx_sreg_tid_x() + __nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x();
  if (thread >= n)
    return;
  struct record r = {in[thread], thread, "abc"};
  r = bump(r, choose(thread) + dispatch(thread & 1, n));
  tile[thread & 15][3] = (float)r.weight;
  __syncthreads();
  float4 v = {in[0], tile[3][thread & 15], (float)r.count, (float)r.tag[3]};
  out[thread] = v * v;
  float sum = 0;
  for (int i = 0; i < n; i++)
    sum += in[i] / (float)(i + 1);
  out[0].x = __builtin_sqrtf(sum);
}
