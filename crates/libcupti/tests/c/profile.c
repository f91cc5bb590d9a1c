// What frameworks do with CUPTI: ask for its version, and try to profile.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

uint32_t cuptiGetVersion(uint32_t *version);
uint32_t cuptiGetResultString(uint32_t result, const char **text);
uint32_t cuptiActivityEnable(uint32_t kind);
uint32_t cuptiActivityGetNextRecord(uint8_t *buffer, size_t bytes, void **record);
uint32_t cuptiSubscribe(void **subscriber, void *callback, void *data);

#define CHECK(truth)                                                                                                    \
    do {                                                                                                               \
        if (!(truth)) {                                                                                                \
            printf("line %d: %s\n", __LINE__, #truth);                                                                 \
            return 1;                                                                                                  \
        }                                                                                                              \
    } while (0)

int main(void) {
    uint32_t version = 0;
    CHECK(cuptiGetVersion(&version) == 0 && version == VERSION);
    CHECK(cuptiGetVersion(NULL) == 1);
    const char *text = NULL;
    CHECK(cuptiGetResultString(27, &text) == 0 && strcmp(text, "CUPTI_ERROR_NOT_SUPPORTED") == 0);
    CHECK(cuptiGetResultString(4711, &text) == 1);
    void *nothing = &version;
    CHECK(cuptiActivityEnable(8) == 27);
    CHECK(cuptiActivityEnable(8) == 27);
    CHECK(cuptiActivityGetNextRecord(NULL, 0, &nothing) == 27);
    CHECK(cuptiSubscribe(&nothing, NULL, NULL) == 27);
    CHECK(nothing == &version);
    printf("profile: passed\n");
    return 0;
}
