/* A program with NVIDIA's runtime inside asks for the table by which that tests a driver: it gets none, and is named. */
#include "driver.h"

int main(void) {
    unsigned char test[16] = {0xd4, 0x08, 0x20, 0x55}, other[16] = {0xd4, 0x08};
    const void *table = &table;
    OK(cuInit(0));
    for (int i = 0; i < 2; i++) {
        EXPECT(500, cuGetExportTable(&table, other));
        TRUE(!table);
        table = &table;
        EXPECT(500, cuGetExportTable(&table, test));
        TRUE(!table);
    }
    printf("static_runtime: passed\n");
    return 0;
}
