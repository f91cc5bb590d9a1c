// Stands before each kernel. Products and sums are contracted where a kernel says fma, as in the other languages.
#pragma OPENCL FP_CONTRACT OFF
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define BARRIER barrier(CLK_LOCAL_MEM_FENCE)
