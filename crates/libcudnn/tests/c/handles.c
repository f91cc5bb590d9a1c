// What frameworks do with cuDNN before they compute anything, and one operation.
#include <stddef.h>
#include <stdio.h>
#include <string.h>

size_t cudnnGetVersion(void);
unsigned cudnnGetProperty(unsigned which, int *value);
const char *cudnnGetErrorString(unsigned status);
unsigned cudnnCreate(void **handle);
unsigned cudnnDestroy(void *handle);
unsigned cudnnSetStream(void *handle, void *stream);
unsigned cudnnGetStream(void *handle, void **stream);
unsigned cudnnBackendExecute(void *handle, void *plan, void *pack);

#define CHECK(truth)                                                                                                    \
    do {                                                                                                               \
        if (!(truth)) {                                                                                                \
            printf("line %d: %s\n", __LINE__, #truth);                                                                 \
            return 1;                                                                                                  \
        }                                                                                                              \
    } while (0)

int main(void) {
    int major = 0, minor = 0, patch = 0, nothing = 0;
    CHECK(cudnnGetProperty(0, &major) == 0 && cudnnGetProperty(1, &minor) == 0 && cudnnGetProperty(2, &patch) == 0);
    CHECK(cudnnGetVersion() == 10000 * (size_t)major + 100 * (size_t)minor + (size_t)patch && major == 9);
    CHECK(cudnnGetProperty(3, &nothing) == 2000 && cudnnGetProperty(0, NULL) == 2002);
    void *one = NULL, *other = NULL, *stream = NULL;
    CHECK(cudnnCreate(&one) == 0 && cudnnCreate(&other) == 0 && one && other && one != other);
    CHECK(cudnnSetStream(one, (void *)64) == 0);
    CHECK(cudnnGetStream(one, &stream) == 0 && stream == (void *)64);
    CHECK(cudnnGetStream(other, &stream) == 0 && stream == NULL);
    CHECK(cudnnDestroy(one) == 0 && cudnnDestroy(one) == 2000 && cudnnSetStream(one, NULL) == 2000);
    CHECK(cudnnBackendExecute(other, NULL, NULL) == 3000);
    CHECK(strcmp(cudnnGetErrorString(3000), "CUDNN_STATUS_NOT_SUPPORTED") == 0);
    printf("handles: passed\n");
    return 0;
}
