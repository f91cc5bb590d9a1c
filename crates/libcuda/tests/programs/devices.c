/* Prints the names of the devices, or why there are none. */
#include "driver.h"

int main(void) {
    CUresult status = cuInit(0);
    if (status != 0) {
        const char *name;
        cuGetErrorName(status, &name);
        puts(name);
        return 1;
    }
    int count;
    cuDeviceGetCount(&count);
    for (int i = 0; i < count; i++) {
        char name[64];
        cuDeviceGetName(name, sizeof name, i);
        puts(name);
    }
    return 0;
}
