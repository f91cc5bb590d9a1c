"""Floating-point formats as rational numbers: what Python computes with them is exact, and rounded once."""
import fractions
import random

Fraction = fractions.Fraction


class Format:
    """A format by the bits of its exponent and mantissa, and whether its greatest exponent is of infinities and NaNs."""

    def __init__(self, name, exponent, mantissa, special=False, nan=None):
        self.name, self.exponent, self.mantissa, self.special, self.nan = name, exponent, mantissa, special, nan
        self.bias = (1 << exponent - 1) - 1
        self.bits = 1 + exponent + mantissa

    def value(self, bits):
        """The number that bits are."""
        field = bits >> self.mantissa & (1 << self.exponent) - 1
        significand = bits & (1 << self.mantissa) - 1
        if field:
            significand += 1 << self.mantissa
        magnitude = significand * Fraction(2) ** (max(field, 1) - self.bias - self.mantissa)
        return -magnitude if bits >> self.bits - 1 & 1 else magnitude

    def is_finite(self, bits):
        field = bits >> self.mantissa & (1 << self.exponent) - 1
        return not (self.special and field == (1 << self.exponent) - 1) and bits & ~(1 << self.bits - 1) != self.nan

    def nearest(self, value):
        """The bits of the nearest number, the even one of two; zero is positive."""
        low, high = 0, ((1 << self.exponent) - 1) << self.mantissa
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.value(middle) <= abs(value) else (low, middle)
        below, above = self.value(low), self.value(low + 1)
        rest = (abs(value) - below) / (above - below)
        magnitude = min(low + (rest > Fraction(1, 2) or rest == Fraction(1, 2) and low & 1), ((1 << self.exponent) - 1) << self.mantissa)
        return magnitude | (1 << self.bits - 1 if value < 0 and magnitude else 0)

    def random(self, source, least=0, most=None):
        """The bits of a finite number, with an exponent field in a range if that is given."""
        while True:
            bits = source.getrandbits(self.bits)
            field = bits >> self.mantissa & (1 << self.exponent) - 1
            if self.is_finite(bits) and field >= least and (most is None or field <= most):
                return bits


F16 = Format("f16", 5, 10, special=True)
BF16 = Format("bf16", 8, 7, special=True)
TF32 = Format("tf32", 8, 10, special=True)
F32 = Format("f32", 8, 23, special=True)
E4M3 = Format("e4m3", 4, 3, nan=0x7f)
E5M2 = Format("e5m2", 5, 2, special=True)
E3M2 = Format("e3m2", 3, 2)
E2M3 = Format("e2m3", 2, 3)
E2M1 = Format("e2m1", 2, 1)


class Ue8m0:
    """The scale factors that are powers of two."""
    name = "ue8m0"

    @staticmethod
    def value(bits):
        return Fraction(2) ** (bits - 127)

    @staticmethod
    def random(source):
        return source.randrange(118, 137)


class Ue4m3:
    """The scale factors that are `e4m3` without a sign."""
    name = "ue4m3"

    @staticmethod
    def value(bits):
        return E4M3.value(bits & 0x7f)

    @staticmethod
    def random(source):
        return source.randrange(0x7f)


def metadata(source, groups, size=4):
    """For each group of `size` the places of the two that are kept, in order."""
    return [sorted(source.sample(range(size), 2)) for _ in range(groups)]


def wrapped(name, values, width=116):
    """A directive with a list of words."""
    lines, line = [], name
    for value in values:
        word = f" {value:#x}"
        if len(line) + len(word) > width:
            lines.append(line)
            line = "//| "
        line += word
    return "\n".join(lines + [line])


def seeded(name):
    """A source of numbers that a test's name chooses."""
    return random.Random(name)
