"""JAX's own wheels on the virtual GPU: XLA compiles functions to PTX, which `warploom ptxas` packs for the driver.

cuBLAS, cuDNN and cuFFT are SASS and refused; the settings of this client keep XLA from using them, so that matrix products are
XLA's own kernels. The CPU computes what to expect.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

CPU = jax.devices("cpu")[0]


def random(*shape):
    return np.random.default_rng(7).standard_normal(shape).astype(np.float32)


def agree(function, *arguments, tolerance=2e-5):
    """Compares what a function gives on the device with what it gives on the CPU."""
    found = jax.jit(function)(*arguments)
    assert all(device.platform == "gpu" for leaf in jax.tree.leaves(found) for device in leaf.devices())
    with jax.default_device(CPU):
        expected = jax.jit(function)(*arguments)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected)):
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=tolerance, atol=tolerance)


def test_the_device_is_there():
    device = jax.devices()[0]
    assert device.platform == "gpu"
    assert "H200" in device.device_kind
    assert device.compute_capability == "9.0"


def test_arrays_go_there_and_back():
    host = random(37, 41)
    there = jax.device_put(host)
    assert there.devices() == {jax.devices()[0]}
    assert np.array_equal(np.asarray(there), host)


FUNCTIONS = {
    "polynomial": lambda x, y: 3 * x * x - 2 * y + 1,
    "transcendental": lambda x, y: jnp.exp(-x * x) + jnp.sin(y) * jnp.log1p(jnp.abs(x)),
    "where": lambda x, y: jnp.where(x > y, x, jnp.clip(y, -0.5, 0.5)),
    "rows": lambda x, y: (x + y).sum(axis=1),
    "columns": lambda x, y: (x + y).max(axis=0),
    "softmax": lambda x, y: jax.nn.softmax(x + y, axis=-1),
    "layer norm": lambda x, y: (x - x.mean(1, keepdims=True)) / jnp.sqrt(x.var(1, keepdims=True) + 1e-5) + y,
    "transpose": lambda x, y: x.T @ jnp.ones(x.shape[0]) + y.sum(axis=0),
    "cumulative sum": lambda x, y: jnp.cumsum(x, axis=1) + y,
    "argmax": lambda x, y: jnp.argmax(x * y, axis=1),
    "concatenate": lambda x, y: jnp.concatenate([x, y], axis=1) * 2,
    "gather": lambda x, y: x[jnp.arange(x.shape[0])[::-1]] + y,
    "scatter": lambda x, y: x.at[jnp.array([1, 3, 3])].add(y[:3]),
    "half": lambda x, y: (x.astype(jnp.float16) * y.astype(jnp.float16)).astype(jnp.float32),
    "integers": lambda x, y: (x * 100).astype(jnp.int32) // 7 + (y * 100).astype(jnp.int32) % 5,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    tolerance = 1e-4 if name in ("cumulative sum", "transpose") else 2e-5
    agree(FUNCTIONS[name], random(33, 65), random(33, 65)[::-1], tolerance=tolerance)


def test_sorting():
    agree(lambda x: jnp.sort(x, axis=-1), random(5, 1000))
    agree(lambda x: jnp.argsort(x), random(300))


def test_a_loop_on_the_device():
    agree(lambda x: jax.lax.fori_loop(0, 10, lambda i, y: y * 0.9 + i, x), random(100))
    agree(lambda x: jax.lax.scan(lambda total, row: (total + row, total.max()), jnp.zeros(8), x), random(20, 8))


def test_random_numbers_are_the_same():
    agree(lambda seed: jax.random.normal(jax.random.key(seed), (1000,)), np.uint32(3))


def test_a_matrix_product():
    agree(lambda a, b: a @ b, random(48, 40), random(40, 56), tolerance=1e-2)


def loss(parameters, x, wanted):
    hidden = jnp.tanh(x @ parameters["first"] + parameters["offset"])
    logits = hidden @ parameters["second"]
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), wanted[:, None], axis=1).mean()


def test_a_network_learns():
    parameters = {"first": random(24, 48) / 5, "offset": random(48) / 5, "second": random(48, 10) / 5}
    x, wanted = random(16, 24), np.arange(16, dtype=np.int32) % 10

    def steps(parameters, x, wanted):
        losses = []
        for _ in range(3):
            value, gradient = jax.value_and_grad(loss)(parameters, x, wanted)
            parameters = jax.tree.map(lambda p, g: p - 0.5 * g, parameters, gradient)
            losses.append(value)
        return parameters, jnp.stack(losses)

    agree(steps, parameters, x, wanted, tolerance=1e-2)
    _, losses = jax.jit(steps)(parameters, x, wanted)
    assert losses[-1] < losses[0]


def test_nothing_fell_back_to_the_cpu():
    """JAX goes on with the CPU, and says nothing, where one of its checks of a GPU fails."""
    assert jax.default_backend() == "gpu"
