"""PyTorch's own wheel on the virtual GPU: memory, streams, events, Triton kernels, and functions that `torch.compile` makes
kernels of.

What PyTorch computes without compiling ("eager") is SASS in its wheel, as cuBLAS and cuDNN are, and is refused. So tensors are
made on the CPU and copied, gradients begin with a tensor that is given, and matrix products are sums or a Triton kernel. The CPU computes what
to expect.
"""

import pytest
import torch
import triton
import triton.language as tl
from torch._inductor import config

CUDA = torch.device("cuda")


@pytest.fixture(autouse=True)
def compiler():
    """Inductor folds constants by eager kernels unless it may not."""
    torch.manual_seed(7)
    torch._dynamo.reset()
    with config.patch(joint_graph_constant_folding=False):
        yield


def close(found, expected, **tolerance):
    torch.testing.assert_close(found.cpu(), expected, **tolerance)


# Devices, memory, order


def test_the_device_is_there():
    assert torch.cuda.is_available()
    assert torch.cuda.device_count() == 1
    properties = torch.cuda.get_device_properties(0)
    assert "H200" in properties.name
    assert (properties.major, properties.minor) == (9, 0)
    assert properties.multi_processor_count == 132


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.bool])
def test_tensors_go_there_and_back(dtype):
    host = torch.randint(0, 2, (37, 41)).to(dtype)
    there = host.to(CUDA)
    assert there.is_cuda
    assert torch.equal(there.cpu(), host)


def test_copies_between_tensors_of_the_device():
    host = torch.randn(1 << 16)
    one, other = host.to(CUDA), torch.empty(1 << 16, device=CUDA)
    other.copy_(one)
    assert torch.equal(other.cpu(), host)
    assert torch.equal(one[100:300].cpu(), host[100:300])


def test_memory_is_accounted_for():
    before = torch.cuda.memory_allocated()
    held = torch.empty(1 << 20, dtype=torch.uint8, device=CUDA)
    assert torch.cuda.memory_allocated() - before == 1 << 20
    del held
    assert torch.cuda.memory_allocated() == before
    free, total = torch.cuda.mem_get_info()
    assert 0 < free <= total


def test_too_much_memory_is_refused():
    _, total = torch.cuda.mem_get_info()
    with pytest.raises(torch.OutOfMemoryError):
        torch.empty(2 * total, dtype=torch.uint8, device=CUDA)
    # And the device goes on.
    assert torch.equal(torch.arange(5).to(CUDA).cpu(), torch.arange(5))


def test_pinned_memory_and_streams():
    host = torch.randn(1 << 18).pin_memory()
    assert host.is_pinned()
    back = torch.empty(1 << 18, pin_memory=True)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        there = host.to(CUDA, non_blocking=True)
        back.copy_(there, non_blocking=True)
    stream.synchronize()
    assert torch.equal(back, host)


def test_events_order_streams_and_tell_time():
    first, second = torch.cuda.Stream(), torch.cuda.Stream()
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    host = torch.randn(1 << 18)
    with torch.cuda.stream(first):
        begin.record()
        there = host.to(CUDA, non_blocking=True)
        end.record()
    second.wait_event(end)
    with torch.cuda.stream(second):
        copy = torch.empty_like(there)
        copy.copy_(there)
    second.synchronize()
    assert end.query()
    assert begin.elapsed_time(end) >= 0
    assert torch.equal(copy.cpu(), host)


def test_the_profiler_says_that_there_is_nothing_to_see():
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profiler:
        torch.arange(1000).to(CUDA).cpu()
    assert any("copy" in entry.key for entry in profiler.key_averages())


def test_kernels_of_the_wheel_are_refused():
    with pytest.raises(Exception, match="no kernel image|not supported"):
        (torch.ones(4).to(CUDA) + 1).cpu()
    assert torch.equal(torch.arange(5).to(CUDA).cpu(), torch.arange(5))


# Triton's kernels


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


@triton.jit
def product_kernel(a, b, out, M, N, K, A0, A1, B0, B1, TILE: tl.constexpr):
    rows = tl.program_id(0) * TILE + tl.arange(0, TILE)
    columns = tl.program_id(1) * TILE + tl.arange(0, TILE)
    total = tl.zeros((TILE, TILE), dtype=tl.float32)
    for start in range(0, K, TILE):
        inner = start + tl.arange(0, TILE)
        left = tl.load(
            a + rows[:, None] * A0 + inner[None, :] * A1, mask=(rows[:, None] < M) & (inner[None, :] < K), other=0
        )
        right = tl.load(
            b + inner[:, None] * B0 + columns[None, :] * B1,
            mask=(inner[:, None] < K) & (columns[None, :] < N),
            other=0,
        )
        total += tl.dot(left, right, input_precision="ieee")
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(out + rows[:, None] * N + columns[None, :], total, mask=inside)


def product(a, b):
    """The product of two matrices, by a kernel."""
    (m, k), (_, n) = a.shape, b.shape
    out = torch.empty(m, n, device=a.device)
    grid = (triton.cdiv(m, 32), triton.cdiv(n, 32))
    product_kernel[grid](a, b, out, m, n, k, *a.stride(), *b.stride(), TILE=32)
    return out


class Product(torch.autograd.Function):
    @staticmethod
    def forward(context, a, b):
        context.save_for_backward(a, b)
        return product(a, b)

    @staticmethod
    def backward(context, gradient):
        a, b = context.saved_tensors
        return product(gradient, b.t()), product(a.t(), gradient)


def test_a_triton_kernel_on_tensors():
    x, y = torch.randn(10_001), torch.randn(10_001)
    out = torch.empty(10_001, device=CUDA)
    add_kernel[(triton.cdiv(10_001, 256),)](x.to(CUDA), y.to(CUDA), out, 10_001, BLOCK=256)
    assert torch.equal(out.cpu(), x + y)


def test_a_matrix_product_by_triton():
    a, b = torch.randn(70, 50), torch.randn(50, 90)
    close(product(a.to(CUDA), b.to(CUDA)), a @ b, rtol=1e-4, atol=1e-4)


# torch.compile

FUNCTIONS = {
    "polynomial": lambda x, y: 3 * x * x - 2 * y + 1,
    "activation": lambda x, y: torch.nn.functional.gelu(x) * torch.sigmoid(y),
    "transcendental": lambda x, y: torch.exp(-x * x) + torch.sin(y) * torch.log1p(x.abs()),
    "where": lambda x, y: torch.where(x > y, x, y.clamp(-0.5, 0.5)),
    "sum": lambda x, y: (x * y).sum(),
    "rows": lambda x, y: (x + y).sum(dim=1),
    "columns": lambda x, y: (x + y).amax(dim=0),
    "softmax": lambda x, y: torch.softmax(x + y, dim=-1),
    "layer norm": lambda x, y: torch.nn.functional.layer_norm(x, (x.shape[-1],)) + y,
    "variance": lambda x, y: torch.var(x, dim=1) + y.mean(dim=1),
    "transpose": lambda x, y: (x.t().contiguous() + y.t()).t(),
    "cumulative sum": lambda x, y: torch.cumsum(x, dim=1) + y,
    "argmax": lambda x, y: torch.argmax(x * y, dim=1),
    "cat": lambda x, y: torch.cat([x, y], dim=1) * 2,
    "gather": lambda x, y: torch.gather(x, 1, (y > 0).long()),
    "half": lambda x, y: (x.half() * y.half()).float() + 1,
    "integers": lambda x, y: (x * 100).int() // 7 + (y * 100).int() % 5,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_compiled_functions(name):
    function = FUNCTIONS[name]
    x, y = torch.randn(33, 257), torch.randn(33, 257)
    found = torch.compile(function)(x.to(CUDA), y.to(CUDA))
    expected = function(x, y)
    # A long sum is added in another order; the product of halves is rounded once, by inductor's choice, not twice.
    tolerance = {"sum": 1e-3, "half": 1e-2}.get(name, 2e-5)
    close(found, expected, rtol=tolerance, atol=tolerance)


def test_shapes_that_change():
    compiled = torch.compile(lambda x: (x * 2).sum(dim=-1), dynamic=True)
    for columns in [5, 64, 300]:
        x = torch.randn(7, columns)
        close(compiled(x.to(CUDA)), (x * 2).sum(dim=-1), rtol=1e-5, atol=1e-5)


class Network(torch.nn.Module):
    """A perceptron with two layers, whose products are by `multiply`."""

    def __init__(self, multiply):
        super().__init__()
        self.multiply = multiply
        self.first = torch.nn.Parameter(torch.randn(24, 48) / 5)
        self.offset = torch.nn.Parameter(torch.randn(48) / 5)
        self.second = torch.nn.Parameter(torch.randn(48, 10) / 5)

    def forward(self, x, wanted):
        hidden = torch.relu(self.multiply(x, self.first) + self.offset)
        logits = self.multiply(hidden, self.second)
        return torch.nn.functional.cross_entropy(logits, wanted)


def sums(a, b):
    """A product of matrices that the compiler makes a reduction of."""
    return (a[:, :, None] * b[None]).sum(dim=1)


def learn(network, x, wanted, steps=3, rate=0.1):
    """Losses and parameters of some steps down the gradient, which the CPU takes."""
    losses = []
    for _ in range(steps):
        loss = network(x, wanted)
        loss.backward(torch.ones(()).to(loss.device))
        losses.append(loss.detach().cpu())
        with torch.no_grad():
            for parameter in network.parameters():
                moved = parameter.detach().cpu() - rate * parameter.grad.cpu()
                parameter.copy_(moved)
                parameter.grad = None
    return losses, [parameter.detach().cpu() for parameter in network.parameters()]


@pytest.mark.parametrize("multiply", [sums, Product.apply], ids=["sums", "triton"])
def test_a_network_learns(multiply):
    network = Network(torch.matmul)
    there = Network(multiply)
    there.load_state_dict(network.state_dict())
    there.to(CUDA)
    x, wanted = torch.randn(16, 24), torch.randint(0, 10, (16,))
    expected = learn(network, x, wanted)
    found = learn(torch.compile(there), x.to(CUDA), wanted.to(CUDA))
    for one, other in zip([*found[0], *found[1]], [*expected[0], *expected[1]]):
        close(one, other, rtol=1e-4, atol=1e-5)
    assert expected[0][-1] < expected[0][0]
