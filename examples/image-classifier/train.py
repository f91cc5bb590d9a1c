"""Trains the small network of this example and writes weights.npz.

    pip install numpy "jax[cpu]"
    python train.py

The pictures are drawn here by the rules that README.md lays down under "The drawing rules"; shapes.rs draws by the
same rules, with a random generator of its own, so the program never sees a picture that the network was trained on.
"""

import argparse
import time

import jax
import jax.numpy as jnp
import numpy as np

SIDE = 48
CLASSES = ["circle", "square", "triangle", "cross", "ring", "star", "crescent", "heart", "stripes", "checkerboard"]

# Output channels and stride of the 14 convolutions: 3x3, one pixel of zero padding, ReLU after each.
CONVOLUTIONS = [(8, 1), (8, 1), (12, 2), (12, 1), (12, 1), (12, 1), (16, 2), (16, 1), (16, 1), (16, 1)]
CONVOLUTIONS += [(24, 2), (24, 1), (24, 1), (24, 1)]


# ---- pictures ------------------------------------------------------------------------------------------------------

def half_planes(u, v, corners):
    """How far the points lie along each of `corners` evenly spread directions, of which the first is down."""
    angles = [2 * np.pi * k / corners for k in range(corners)]
    return np.array([v * np.cos(a) - u * np.sin(a) for a in angles])


def inside(shape, u, v):
    """Whether the points (u, v), in units of the shape's radius with v pointing down, belong to the shape."""
    squared = u * u + v * v
    match shape:
        case "circle":
            return squared <= 0.9**2
        case "square":
            return np.maximum(abs(u), abs(v)) <= 0.8
        case "triangle":
            return (half_planes(u, v, 3) <= 0.5).all(axis=0)
        case "cross":
            return (np.minimum(abs(u), abs(v)) <= 0.28) & (np.maximum(abs(u), abs(v)) <= 1)
        case "ring":
            return (squared >= 0.55**2) & (squared <= 1)
        case "star":
            # The lines of a pentagram: its heart is on the inner side of all five, an arm on that of four.
            return (half_planes(u, v, 5) <= np.cos(2 * np.pi / 5)).sum(axis=0) >= 4
        case "crescent":
            return (squared <= 1) & ((u - 0.45) ** 2 + v * v >= 0.8**2)
        case "heart":
            x, y = 1.2 * u, 0.1 - 1.2 * v
            return (x * x + y * y - 1) ** 3 <= x * x * y**3
        case "stripes":
            return np.floor(u / 0.4) % 2 == 0
        case "checkerboard":
            return (np.floor(u / 0.5) + np.floor(v / 0.5)) % 2 == 0


def draw(shape, rng):
    """One picture, SIDE x SIDE x 3 bytes."""
    radius = rng.uniform(10, 18)
    centre = SIDE / 2 + rng.uniform(-1, 1, 2) * (SIDE / 2 - 1 - radius)
    turn = rng.uniform(0, 2 * np.pi)
    luma = np.array([0.299, 0.587, 0.114])
    while True:
        paper, ink = rng.uniform(0, 1, (2, 3))
        if abs((paper - ink) @ luma) >= 0.3:
            break
    shade, light = rng.uniform(0, 0.3), rng.uniform(0, 2 * np.pi)
    grain = rng.uniform(0, 0.15)

    # Sixteen samples a pixel; the share of them inside the shape is how much ink the pixel has.
    x, y = np.meshgrid((np.arange(SIDE * 4) + 0.5) / 4, (np.arange(SIDE * 4) + 0.5) / 4)
    dx, dy = (x - centre[0]) / radius, (y - centre[1]) / radius
    hits = inside(shape, dx * np.cos(turn) + dy * np.sin(turn), dy * np.cos(turn) - dx * np.sin(turn))
    cover = hits.reshape(SIDE, 4, SIDE, 4).mean(axis=(1, 3))[..., None]

    middle = (np.arange(SIDE) + 0.5) / (SIDE / 2) - 1
    slope = middle[None, :] * np.cos(light) + middle[:, None] * np.sin(light)
    colour = (paper * (1 - cover) + ink * cover) * (1 + shade * slope)[..., None]
    colour += rng.uniform(-grain, grain, colour.shape)
    return np.round(np.clip(colour, 0, 1) * 255).astype(np.uint8)


def draw_many(count, seed):
    """Pictures as the network takes them (channels last, -1 to 1) and their classes."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, len(CLASSES), count)
    pictures = np.stack([draw(CLASSES[label], rng) for label in labels])
    return pictures.astype(np.float32) / 127.5 - 1, labels


# ---- network -------------------------------------------------------------------------------------------------------

def initial_weights(rng):
    """He's initialisation. Convolutions are [out][in][3][3] and the last matrix is [class][channel * height * width]."""
    weights, channels, side = {}, 3, SIDE
    for index, (outputs, stride) in enumerate(CONVOLUTIONS, 1):
        deviation = np.sqrt(2 / (channels * 9))
        weights[f"conv{index}.weight"] = rng.normal(0, deviation, (outputs, channels, 3, 3))
        weights[f"conv{index}.bias"] = np.zeros(outputs)
        channels, side = outputs, (side - 1) // stride + 1
    inputs = channels * side * side
    weights["fc.weight"] = rng.normal(0, np.sqrt(1 / inputs), (len(CLASSES), inputs))
    weights["fc.bias"] = np.zeros(len(CLASSES))
    return {name: jnp.asarray(value, jnp.float32) for name, value in weights.items()}


def scores(weights, pictures):
    """The score of each class before softmax."""
    x = pictures
    for index, (_, stride) in enumerate(CONVOLUTIONS, 1):
        x = jax.lax.conv_general_dilated(
            x, weights[f"conv{index}.weight"], (stride, stride), ((1, 1), (1, 1)), dimension_numbers=("NHWC", "OIHW", "NHWC")
        )
        x = jax.nn.relu(x + weights[f"conv{index}.bias"])
    flat = x.transpose(0, 3, 1, 2).reshape(len(x), -1)
    return flat @ weights["fc.weight"].T + weights["fc.bias"]


def loss(weights, pictures, labels):
    """Cross entropy, a little smoothed so that the scores stay small."""
    log_probabilities = jax.nn.log_softmax(scores(weights, pictures))
    wanted = 0.98 * jax.nn.one_hot(labels, len(CLASSES)) + 0.02 / len(CLASSES)
    return -(wanted * log_probabilities).sum(axis=1).mean()


@jax.jit
def adam_step(weights, mean, square, pictures, labels, step, rate):
    """One step of Adam (Kingma and Ba, 2015)."""
    value, gradient = jax.value_and_grad(loss)(weights, pictures, labels)
    mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, gradient)
    square = jax.tree.map(lambda s, g: 0.999 * s + 0.001 * g * g, square, gradient)
    weights = jax.tree.map(
        lambda w, m, s: w - rate * (m / (1 - 0.9**step)) / (jnp.sqrt(s / (1 - 0.999**step)) + 1e-8), weights, mean, square
    )
    return weights, mean, square, value


def accuracy(weights, pictures, labels):
    """The share of pictures whose best class is theirs, and how often each class was taken for each."""
    guess = jax.jit(lambda w, p: scores(w, p).argmax(axis=1))
    guesses = np.concatenate([guess(weights, pictures[i : i + 500]) for i in range(0, len(pictures), 500)])
    confusion = np.zeros((len(CLASSES), len(CLASSES)), int)
    np.add.at(confusion, (labels, guesses), 1)
    return (guesses == labels).mean(), confusion


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pictures", type=int, default=50000, help="how many pictures to train on")
    parser.add_argument("--epochs", type=int, default=8, help="how often each is seen")
    parser.add_argument("--out", default="weights.npz", help="where the weights go")
    options = parser.parse_args()

    started = time.time()
    train, test = draw_many(options.pictures, seed=1), draw_many(4000, seed=2)
    print(f"drew {options.pictures} + 4000 pictures in {time.time() - started:.0f} s", flush=True)

    rng = np.random.default_rng(3)
    weights = initial_weights(rng)
    mean = square = jax.tree.map(jnp.zeros_like, weights)
    batch, step = 100, 0
    steps = options.epochs * (options.pictures // batch)
    for epoch in range(1, options.epochs + 1):
        order, total = rng.permutation(options.pictures), 0.0
        for first in range(0, options.pictures - batch + 1, batch):
            chosen = order[first : first + batch]
            step += 1
            # The rate climbs for a tenth of the way and then follows half a cosine down.
            rate = 2e-3 * min(step / (0.1 * steps), 0.5 + 0.5 * np.cos(np.pi * step / steps))
            weights, mean, square, value = adam_step(weights, mean, square, train[0][chosen], train[1][chosen], step, rate)
            total += float(value) * batch / options.pictures
        right, confusion = accuracy(weights, *test)
        print(f"epoch {epoch:2}: loss {total:.4f}, {right:.2%} of the test pictures right, {time.time() - started:.0f} s", flush=True)

    for name, row in zip(CLASSES, confusion):
        print(f"{name:>12} {row}")
    strides = np.array([stride for _, stride in CONVOLUTIONS], np.int32)
    np.savez(options.out, strides=strides, **{name: np.asarray(value) for name, value in weights.items()})
    print(f"{sum(value.size for value in weights.values())} weights in {options.out}")


if __name__ == "__main__":
    main()
