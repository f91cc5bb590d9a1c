// An OpenCL implementation as a peer. Built once; the first run of a kernel, which PoCL compiles for its group size, is not the
// caller's to count.

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include "../protocol.h"

static void check(cl_int status, const char *what) {
    if (status != CL_SUCCESS) {
        fprintf(stderr, "%s: error %d\n", what, status);
        exit(3);
    }
}

int main(int count, char **arguments) {
    if (count != 4) return 2;
    void *in = whole(arguments[1], FLOATS * sizeof(float)), *zeros = calloc(1, OUTPUT);
    cl_platform_id platform;
    cl_device_id device;
    cl_int status;
    check(clGetPlatformIDs(1, &platform, NULL), "no platform");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "no device");
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    check(status, "clCreateContext");
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
    check(status, "clCreateCommandQueue");
    FILE *file = fopen(arguments[2], "rb");
    static char text[1 << 16];
    size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
    const char *source = text;
    cl_program program = clCreateProgramWithSource(context, 1, &source, &length, &status);
    check(status, "clCreateProgramWithSource");
    static char options[1024];
    snprintf(options, sizeof options, "-I%s", arguments[3]);
    check(clBuildProgram(program, 1, &device, options, NULL, NULL), "clBuildProgram");
    cl_mem input = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, FLOATS * sizeof(float), in, &status);
    check(status, "clCreateBuffer");
    cl_mem output = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, OUTPUT, zeros, &status);
    check(status, "clCreateBuffer");
    Request request;
    while (next(&request)) {
        if (!request.name[0]) {
            void *out = malloc(request.bytes);
            check(clEnqueueReadBuffer(queue, output, CL_TRUE, 0, request.bytes, out, 0, NULL, NULL), "read");
            save(request.file, out, request.bytes);
            free(out);
            answer(0);
            continue;
        }
        cl_kernel kernel = clCreateKernel(program, request.name, &status);
        check(status, request.name);
        check(clSetKernelArg(kernel, 0, sizeof input, &input), "argument");
        check(clSetKernelArg(kernel, 1, sizeof output, &output), "argument");
        check(clEnqueueWriteBuffer(queue, output, CL_TRUE, 0, request.bytes, zeros, 0, NULL, NULL), "clear");
        size_t all[2] = {request.grid[0] * request.block[0], request.grid[1] * request.block[1]};
        long long begin = now();
        check(clEnqueueNDRangeKernel(queue, kernel, 2, NULL, all, request.block, 0, NULL, NULL), "launch");
        check(clFinish(queue), "clFinish");
        answer(now() - begin);
        clReleaseKernel(kernel);
    }
}
