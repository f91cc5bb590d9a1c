#ifndef TYPES_H
#define TYPES_H
#define COUNT 3
typedef struct { short s1:9; long long l1:9; char c1; short s2:9; short s3:9; char c2; } boundary;
struct packet { unsigned char kind; float4 places[COUNT]; union { int i; char c[2]; } u; };
struct __attribute__((packed, aligned(2))) header { char tag; int length __attribute__((aligned(8))); };
#endif
