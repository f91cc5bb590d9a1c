"""The driver from Python, through ctypes, as several libraries use it."""
import ctypes as c

cu = c.CDLL("libcuda.so.1")


def call(name, *arguments):
    result = getattr(cu, name)(*arguments)
    assert result == 0, f"{name}: {result}"


PTX = b"""
.version 8.0
.target sm_70
.address_size 64
.visible .entry scale(.param .u64 p, .param .f32 k) {
  .reg .b32 %r; .reg .b64 %d<3>; .reg .f32 %f<2>;
  mov.u32 %r, %tid.x; mul.wide.u32 %d0, %r, 4; ld.param.u64 %d1, [p]; add.s64 %d2, %d0, %d1;
  ld.param.f32 %f0, [k]; ld.global.f32 %f1, [%d2]; mul.f32 %f1, %f1, %f0; st.global.f32 [%d2], %f1; ret;
}
"""

context, module, function, pointer = c.c_void_p(), c.c_void_p(), c.c_void_p(), c.c_uint64()
call("cuInit", 0)
call("cuDevicePrimaryCtxRetain", c.byref(context), 0)
call("cuCtxSetCurrent", context)
call("cuModuleLoadData", c.byref(module), PTX)
call("cuModuleGetFunction", c.byref(function), module, b"scale")
data = (c.c_float * 32)(*range(32))
call("cuMemAlloc_v2", c.byref(pointer), c.c_size_t(128))
call("cuMemcpyHtoD_v2", pointer, data, c.c_size_t(128))
factor = c.c_float(2.5)
arguments = (c.c_void_p * 2)(c.addressof(pointer), c.addressof(factor))
call("cuLaunchKernel", function, 1, 1, 1, 32, 1, 1, 0, None, arguments, None)
call("cuMemcpyDtoH_v2", data, pointer, c.c_size_t(128))
assert list(data) == [2.5 * i for i in range(32)], list(data)
print("scale: passed")
