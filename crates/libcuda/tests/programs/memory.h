/* As much of virtual memory, peers and limits as the programs here use. */
#pragma once
#include "graph.h"

typedef struct {
    unsigned type, handle_types;
    Location location;
    void *meta;
    struct {
        unsigned char compression, rdma;
        unsigned short usage;
        unsigned char reserved[4];
    } flags;
} AllocationProp;

typedef struct {
    Location location;
    unsigned flags;
} Access;

CUresult cuMemGetAllocationGranularity(size_t *, const AllocationProp *, unsigned);
CUresult cuMemAddressReserve(CUdeviceptr *, size_t, size_t, CUdeviceptr, uint64_t);
CUresult cuMemAddressFree(CUdeviceptr, size_t);
CUresult cuMemCreate(uint64_t *, size_t, const AllocationProp *, uint64_t);
CUresult cuMemRelease(uint64_t);
CUresult cuMemRetainAllocationHandle(uint64_t *, void *);
CUresult cuMemMap(CUdeviceptr, size_t, size_t, uint64_t, uint64_t);
CUresult cuMemUnmap(CUdeviceptr, size_t);
CUresult cuMemSetAccess(CUdeviceptr, size_t, const Access *, size_t);
CUresult cuMemGetAccess(uint64_t *, const Location *, CUdeviceptr);
CUresult cuMemExportToShareableHandle(void *, uint64_t, unsigned, uint64_t);
CUresult cuMemImportFromShareableHandle(uint64_t *, void *, unsigned);
CUresult cuDeviceCanAccessPeer(int *, CUdevice, CUdevice);
CUresult cuCtxEnablePeerAccess(CUcontext, unsigned);
CUresult cuCtxDisablePeerAccess(CUcontext);
CUresult cuMemcpyPeer(CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t);
CUresult cuMemcpyPeerAsync(CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t, CUstream);
CUresult cuMemPoolSetAccess(CUmemoryPool, const Access *, size_t);
CUresult cuMemPoolGetAccess(unsigned *, CUmemoryPool, Location *);
CUresult cuMemPoolExportToShareableHandle(void *, CUmemoryPool, unsigned, uint64_t);
CUresult cuMemGetDefaultMemPool(CUmemoryPool *, Location *, unsigned);
CUresult cuMemGetMemPool(CUmemoryPool *, Location *, unsigned);
CUresult cuMemSetMemPool(Location *, unsigned, CUmemoryPool);
CUresult cuMemAdvise_v2(CUdeviceptr, size_t, unsigned, Location);
CUresult cuStreamAttachMemAsync(CUstream, CUdeviceptr, size_t, unsigned);
CUresult cuCtxSetLimit(unsigned, size_t);
CUresult cuCtxGetLimit(size_t *, unsigned);
CUresult cuCtxGetStreamPriorityRange(int *, int *);
CUresult cuStreamCreateWithPriority(CUstream *, unsigned, int);
CUresult cuStreamGetPriority(CUstream, int *);
CUresult cuIpcGetMemHandle(void *, CUdeviceptr);

enum { MIB = 1 << 20, UNIT = 2 * MIB };
static const AllocationProp ON_DEVICE = {.type = 1, .location = {1, 0}};
static const AllocationProp SHARED = {.type = 1, .handle_types = 1, .location = {1, 0}};
static const Access USABLE = {{1, 0}, 3}, CLOSED = {{1, 0}, 0};
