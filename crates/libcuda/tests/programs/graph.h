/* As much of graphs, capture and pools as the programs here use. */
#pragma once
#include "driver.h"

typedef struct graph *CUgraph;
typedef struct node *CUgraphNode;
typedef struct exec *CUgraphExec;
typedef struct object *CUuserObject;
typedef struct pool *CUmemoryPool;

typedef struct {
    CUfunction func;
    unsigned gx, gy, gz, bx, by, bz, shared;
    void **params, **extra;
    CUkernel kern;
    CUcontext ctx;
} KernelParams;

typedef struct {
    size_t src_x, src_y, src_z, src_lod;
    unsigned src_type;
    const void *src_host;
    CUdeviceptr src_device;
    void *src_array, *reserved0;
    size_t src_pitch, src_height, dst_x, dst_y, dst_z, dst_lod;
    unsigned dst_type;
    void *dst_host;
    CUdeviceptr dst_device;
    void *dst_array, *reserved1;
    size_t dst_pitch, dst_height, width, height, depth;
} Copy3D;

typedef struct {
    CUdeviceptr dst;
    size_t pitch;
    unsigned value, size;
    size_t width, height;
} MemsetParams;

typedef struct {
    void (*fn)(void *);
    void *data;
} HostParams;

typedef struct {
    unsigned char from_port, to_port, type, reserved[5];
} EdgeData;

typedef struct {
    unsigned type;
    int id;
} Location;

typedef struct {
    unsigned alloc_type, handle_types;
    Location location;
    void *security;
    size_t max_size;
    unsigned short usage;
    unsigned char reserved[54];
} PoolProps;

typedef struct {
    PoolProps props;
    const void *access;
    size_t access_count, bytes;
    CUdeviceptr address;
} AllocParams;

typedef struct {
    uint64_t handle;
    unsigned type, size;
    CUgraph *graphs;
    CUcontext ctx;
} ConditionalParams;

typedef struct {
    unsigned type;
    int reserved0[3];
    union {
        long long reserved1[29];
        KernelParams kernel;
        MemsetParams memset;
        AllocParams alloc;
        ConditionalParams conditional;
    };
    long long reserved2;
} NodeParams;
_Static_assert(sizeof(NodeParams) == 256, "as in cuda.h");

typedef struct {
    uint64_t flags;
    CUstream upload;
    CUgraphNode node;
    unsigned result;
} InstantiateParams;

typedef struct {
    unsigned result;
    CUgraphNode node, from;
} UpdateInfo;

CUresult cuGraphDestroy(CUgraph);
CUresult cuGraphAddKernelNode_v2(CUgraphNode *, CUgraph, const CUgraphNode *, size_t, const KernelParams *);
CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode, KernelParams *);
CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode, const KernelParams *);
CUresult cuGraphKernelNodeSetAttribute(CUgraphNode, unsigned, const void *);
CUresult cuGraphKernelNodeGetAttribute(CUgraphNode, unsigned, void *);
CUresult cuGraphAddMemcpyNode(CUgraphNode *, CUgraph, const CUgraphNode *, size_t, const Copy3D *, CUcontext);
CUresult cuGraphMemcpyNodeGetParams(CUgraphNode, Copy3D *);
CUresult cuGraphAddMemsetNode(CUgraphNode *, CUgraph, const CUgraphNode *, size_t, const MemsetParams *, CUcontext);
CUresult cuGraphMemsetNodeGetParams(CUgraphNode, MemsetParams *);
CUresult cuGraphAddHostNode(CUgraphNode *, CUgraph, const CUgraphNode *, size_t, const HostParams *);
CUresult cuGraphHostNodeGetParams(CUgraphNode, HostParams *);
CUresult cuGraphAddChildGraphNode(CUgraphNode *, CUgraph, const CUgraphNode *, size_t, CUgraph);
CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode, CUgraph *);
CUresult cuGraphAddEmptyNode(CUgraphNode *, CUgraph, const CUgraphNode *, size_t);
CUresult cuGraphAddEventRecordNode(CUgraphNode *, CUgraph, const CUgraphNode *, size_t, CUevent);
CUresult cuGraphAddEventWaitNode(CUgraphNode *, CUgraph, const CUgraphNode *, size_t, CUevent);
CUresult cuGraphAddMemAllocNode(CUgraphNode *, CUgraph, const CUgraphNode *, size_t, AllocParams *);
CUresult cuGraphAddMemFreeNode(CUgraphNode *, CUgraph, const CUgraphNode *, size_t, CUdeviceptr);
CUresult cuGraphAddNode(CUgraphNode *, CUgraph, const CUgraphNode *, size_t, NodeParams *);
CUresult cuGraphAddNode_v2(CUgraphNode *, CUgraph, const CUgraphNode *, const EdgeData *, size_t, NodeParams *);
CUresult cuGraphConditionalHandleCreate(uint64_t *, CUgraph, CUcontext, unsigned, unsigned);
CUresult cuGraphGetNodes(CUgraph, CUgraphNode *, size_t *);
CUresult cuGraphGetRootNodes(CUgraph, CUgraphNode *, size_t *);
CUresult cuGraphGetEdges(CUgraph, CUgraphNode *, CUgraphNode *, size_t *);
CUresult cuGraphGetEdges_v2(CUgraph, CUgraphNode *, CUgraphNode *, EdgeData *, size_t *);
CUresult cuGraphNodeGetDependencies(CUgraphNode, CUgraphNode *, size_t *);
CUresult cuGraphNodeGetDependentNodes(CUgraphNode, CUgraphNode *, size_t *);
CUresult cuGraphNodeGetType(CUgraphNode, unsigned *);
CUresult cuGraphAddDependencies(CUgraph, const CUgraphNode *, const CUgraphNode *, size_t);
CUresult cuGraphRemoveDependencies(CUgraph, const CUgraphNode *, const CUgraphNode *, size_t);
CUresult cuGraphDestroyNode(CUgraphNode);
CUresult cuGraphClone(CUgraph *, CUgraph);
CUresult cuGraphNodeFindInClone(CUgraphNode *, CUgraphNode, CUgraph);
CUresult cuGraphInstantiateWithFlags(CUgraphExec *, CUgraph, uint64_t);
CUresult cuGraphInstantiateWithParams(CUgraphExec *, CUgraph, InstantiateParams *);
CUresult cuGraphExecGetFlags(CUgraphExec, uint64_t *);
CUresult cuGraphExecDestroy(CUgraphExec);
CUresult cuGraphLaunch(CUgraphExec, CUstream);
CUresult cuGraphUpload(CUgraphExec, CUstream);
CUresult cuGraphExecUpdate_v2(CUgraphExec, CUgraph, UpdateInfo *);
CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec, CUgraphNode, const KernelParams *);
CUresult cuGraphNodeSetEnabled(CUgraphExec, CUgraphNode, unsigned);
CUresult cuGraphNodeGetEnabled(CUgraphExec, CUgraphNode, unsigned *);
CUresult cuGraphDebugDotPrint(CUgraph, const char *, unsigned);
CUresult cuUserObjectCreate(CUuserObject *, void *, void (*)(void *), unsigned, unsigned);
CUresult cuUserObjectRelease(CUuserObject, unsigned);
CUresult cuGraphRetainUserObject(CUgraph, CUuserObject, unsigned, unsigned);
CUresult cuStreamBeginCapture_v2(CUstream, unsigned);
CUresult cuStreamBeginCaptureToGraph(CUstream, CUgraph, const CUgraphNode *, const EdgeData *, size_t, unsigned);
CUresult cuStreamEndCapture(CUstream, CUgraph *);
CUresult cuStreamIsCapturing(CUstream, unsigned *);
CUresult cuStreamGetCaptureInfo_v2(CUstream, unsigned *, uint64_t *, CUgraph *, const CUgraphNode **, size_t *);
CUresult cuStreamUpdateCaptureDependencies(CUstream, CUgraphNode *, size_t, unsigned);
CUresult cuThreadExchangeStreamCaptureMode(unsigned *);
CUresult cuEventRecordWithFlags(CUevent, CUstream, unsigned);
CUresult cuStreamWriteValue32_v2(CUstream, CUdeviceptr, uint32_t, unsigned);
CUresult cuStreamWaitValue32_v2(CUstream, CUdeviceptr, uint32_t, unsigned);
CUresult cuStreamWaitValue64_v2(CUstream, CUdeviceptr, uint64_t, unsigned);
CUresult cuMemAllocFromPoolAsync(CUdeviceptr *, size_t, CUmemoryPool, CUstream);
CUresult cuMemPoolCreate(CUmemoryPool *, const PoolProps *);
CUresult cuMemPoolDestroy(CUmemoryPool);
CUresult cuMemPoolTrimTo(CUmemoryPool, size_t);
CUresult cuMemPoolGetAttribute(CUmemoryPool, unsigned, void *);
CUresult cuMemPoolSetAttribute(CUmemoryPool, unsigned, void *);
CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *, CUdevice);
CUresult cuDeviceGetMemPool(CUmemoryPool *, CUdevice);
CUresult cuDeviceSetMemPool(CUdevice, CUmemoryPool);
CUresult cuDeviceGetGraphMemAttribute(CUdevice, unsigned, void *);
CUresult cuDeviceSetGraphMemAttribute(CUdevice, unsigned, void *);
CUresult cuDeviceGraphMemTrim(CUdevice);

/* Kernel, copy, fill, host, child graph, empty, event wait, event record, allocation, free, values, condition. */
enum { KERNEL, COPY, FILL, HOST, CHILD, EMPTY, WAIT, RECORD, ALLOC = 10, FREE, VALUES, CONDITIONAL };

/* A launch of one thread. */
static inline KernelParams one_thread(CUfunction function, void **params) {
    return (KernelParams){.func = function, .gx = 1, .gy = 1, .gz = 1, .bx = 1, .by = 1, .bz = 1, .params = params};
}
