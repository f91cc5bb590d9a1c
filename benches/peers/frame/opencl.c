// An OpenCL implementation as a peer. A kernel is built when it is first asked for; its first run, for which PoCL compiles it
// again for the shape of its groups, is not the caller's to count.

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include "protocol.h"

enum { KERNELS = 64 };

static void check(cl_int status, const char *what) {
    if (status == CL_SUCCESS) return;
    fprintf(stderr, "%s: OpenCL error %d\n", what, status);
    exit(3);
}

static cl_kernel build(cl_context context, cl_device_id device, const char *folder, const char *name) {
    char path[1024];
    const char *texts[2];
    size_t lengths[2];
    snprintf(path, sizeof path, "%s/frame/opencl.h", folder);
    texts[0] = whole(path, &lengths[0]);
    snprintf(path, sizeof path, "%s/kernels/%s.cl", folder, name);
    texts[1] = whole(path, &lengths[1]);
    cl_int status;
    cl_program program = clCreateProgramWithSource(context, 2, texts, lengths, &status);
    check(status, "clCreateProgramWithSource");
    if (clBuildProgram(program, 1, &device, "", NULL, NULL) != CL_SUCCESS) {
        static char log[1 << 16];
        clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
        fail(log, path);
    }
    cl_kernel kernel = clCreateKernel(program, name, &status);
    check(status, name);
    return kernel;
}

int main(int count, char **arguments) {
    if (count != 3) return 2;
    const size_t room = strtoull(arguments[1], NULL, 10);
    const char *folder = arguments[2];
    cl_platform_id platform;
    cl_device_id device;
    cl_int status;
    check(clGetPlatformIDs(1, &platform, NULL), "no platform");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "no device");
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    check(status, "clCreateContext");
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
    check(status, "clCreateCommandQueue");
    cl_mem input = NULL, output = clCreateBuffer(context, CL_MEM_READ_WRITE, room, NULL, &status);
    check(status, "clCreateBuffer");
    struct {
        char name[64];
        cl_kernel kernel;
    } built[KERNELS];
    int kernels = 0;
    char loaded[512] = "";
    size_t written = 0;
    Request request;
    while (next(&request)) {
        if (!request.kernel[0]) {
            void *out = malloc(written);
            check(clEnqueueReadBuffer(queue, output, CL_TRUE, 0, written, out, 0, NULL, NULL), "read");
            save(request.file, out, written);
            free(out);
            answer((Clocks){0, 0}, (Clocks){0, 0});
            continue;
        }
        if (strcmp(loaded, request.file)) {
            if (input) clReleaseMemObject(input);
            size_t bytes;
            void *data = whole(request.file, &bytes);
            input = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, bytes, data, &status);
            check(status, "clCreateBuffer");
            free(data);
            strcpy(loaded, request.file);
        }
        int at = 0;
        while (at < kernels && strcmp(built[at].name, request.kernel)) ++at;
        if (at == KERNELS) fail("too many kernels", request.kernel);
        if (at == kernels) {
            strcpy(built[at].name, request.kernel);
            built[at].kernel = build(context, device, folder, request.kernel);
            ++kernels;
        }
        cl_kernel kernel = built[at].kernel;
        check(clSetKernelArg(kernel, 0, sizeof input, &input), "in");
        check(clSetKernelArg(kernel, 1, sizeof output, &output), "out");
        check(clSetKernelArg(kernel, 2, sizeof request.n, &request.n), "n");
        const cl_uint zero = 0;
        written = request.bytes;
        check(clEnqueueFillBuffer(queue, output, &zero, sizeof zero, 0, written, 0, NULL, NULL), "clear");
        check(clFinish(queue), "clear");
        const size_t all[2] = {request.grid[0] * request.block[0], request.grid[1] * request.block[1]};
        Clocks begin = now();
        check(clEnqueueNDRangeKernel(queue, kernel, 2, NULL, all, request.block, 0, NULL, NULL), request.kernel);
        check(clFinish(queue), "clFinish");
        answer(begin, now());
    }
}
