//! The kernels: how each is launched, what it reads, and how far results of different peers may lie apart.
//!
//! `benches/peers/kernels` has each of them in CUDA, OpenCL and C++, as a function of an input, an output that holds zeros before, and a
//! size.

use super::inputs::Input;

/// A kernel.
pub(crate) struct Kernel {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) input: Input,
    /// The size it is measured with.
    pub(crate) n: u32,
    pub(crate) block: [u32; 2],
    /// The grid for a size and a block.
    pub(crate) grid: fn(u32, [u32; 2]) -> [u32; 2],
    /// Words of 32 bits that it writes.
    pub(crate) written: fn(u32) -> u32,
    pub(crate) agreement: Agreement,
}

/// When two peers have computed the same.
#[derive(Clone, Copy)]
pub(crate) enum Agreement {
    /// Where their bits are equal.
    Bits,
    /// Floats that differ by no more than this part of the largest result, and why they differ at all.
    Floats(f64, &'static str),
}

use Agreement::{Bits, Floats};

impl Kernel {
    /// Bytes that it writes.
    pub(crate) fn bytes(&self, n: u32) -> usize {
        (self.written)(n) as usize * 4
    }

    /// Its parameters: where its input and its output are, and the size.
    pub(crate) fn params(&self, input: u64, output: u64, n: u32) -> Vec<u8> {
        [&input.to_le_bytes()[..], &output.to_le_bytes(), &n.to_le_bytes()].concat()
    }
}

/// A thread an element.
fn line(n: u32, [x, _]: [u32; 2]) -> [u32; 2] {
    [n / x, 1]
}

/// A thread an element of n x n.
fn square(n: u32, [x, y]: [u32; 2]) -> [u32; 2] {
    [n / x, n / y]
}

fn one(n: u32) -> u32 {
    n
}

fn squared(n: u32) -> u32 {
    n * n
}

const ROW: u32 = 1024;
const SUMMED: u32 = 16384;

/// All of them.
pub(crate) const KERNELS: &[Kernel] = &[
    Kernel {
        name: "copy",
        about: "16 M floats; C++ calls `memcpy`",
        input: Input::Floats,
        n: 1 << 24,
        block: [256, 1],
        grid: line,
        written: one,
        agreement: Bits,
    },
    Kernel {
        name: "saxpy",
        about: "y = a * x + y, 16 M floats",
        input: Input::Floats,
        n: 1 << 24,
        block: [256, 1],
        grid: line,
        written: one,
        agreement: Bits,
    },
    Kernel {
        name: "reduction",
        about: "1,024 sums of 16,384 floats",
        input: Input::Floats,
        n: 1024 * SUMMED,
        block: [256, 1],
        grid: |n, _| [n / SUMMED, 1],
        written: |n| n / SUMMED,
        agreement: Floats(1e-5, "sums in another order: C++ adds 1,024 values one after the other"),
    },
    Kernel {
        name: "scan",
        about: "sums over each 256 of 4 M floats",
        input: Input::Floats,
        n: 1 << 22,
        block: [256, 1],
        grid: line,
        written: one,
        agreement: Floats(4e-6, "sums in another order, of up to 256 values"),
    },
    Kernel {
        name: "histogram",
        about: "256 bins of 16 M floats",
        input: Input::Floats,
        n: 1 << 24,
        block: [256, 1],
        grid: |n, _| [n / 4096, 1],
        written: |_| 256,
        agreement: Bits,
    },
    Kernel {
        name: "transpose",
        about: "2,048 x 2,048 floats",
        input: Input::Floats,
        n: 2048,
        block: [32, 32],
        grid: square,
        written: squared,
        agreement: Bits,
    },
    Kernel {
        name: "stencil2d",
        about: "five points, 2,048 x 2,048",
        input: Input::Floats,
        n: 2048,
        block: [16, 16],
        grid: square,
        written: squared,
        agreement: Bits,
    },
    Kernel {
        name: "stencil3d",
        about: "seven points, 192 x 192 x 192",
        input: Input::Floats,
        n: 192,
        block: [32, 8],
        grid: square,
        written: |n| n * n * n,
        agreement: Bits,
    },
    Kernel {
        name: "convolution",
        about: "5 x 5 weights, 1,024 x 1,024",
        input: Input::Floats,
        n: 1024,
        block: [16, 16],
        grid: square,
        written: squared,
        agreement: Bits,
    },
    Kernel {
        name: "sgemm",
        about: "512 x 512 x 512 floats",
        input: Input::Floats,
        n: 512,
        block: [16, 16],
        grid: square,
        written: squared,
        agreement: Bits,
    },
    Kernel {
        name: "dgemm",
        about: "512 x 512 x 512 doubles",
        input: Input::Doubles,
        n: 512,
        block: [16, 16],
        grid: square,
        written: |n| 2 * n * n,
        agreement: Bits,
    },
    Kernel {
        name: "hgemm",
        about: "512 x 512 x 512 halves; CUDA on tensor cores",
        input: Input::Halves,
        n: 512,
        block: [128, 1],
        grid: |n, _| [n / 32, n / 32],
        written: squared,
        agreement: Floats(
            4e-6,
            "tensor cores add 16 products at once and cut off, the others round after each",
        ),
    },
    Kernel {
        name: "igemm",
        about: "512 x 512 x 512 8-bit integers, `dp4a`",
        input: Input::Words,
        n: 512,
        block: [16, 16],
        grid: square,
        written: squared,
        agreement: Bits,
    },
    Kernel {
        name: "nbody",
        about: "2,048 bodies",
        input: Input::Floats,
        n: 2048,
        block: [256, 1],
        grid: line,
        written: |n| 3 * n,
        agreement: Floats(1e-5, "`rsqrt.approx`; 2,048 values are added in another order"),
    },
    Kernel {
        name: "mandelbrot",
        about: "1,024 x 1,024, up to 256 rounds",
        input: Input::Floats,
        n: 1024,
        block: [16, 16],
        grid: square,
        written: squared,
        agreement: Bits,
    },
    Kernel {
        name: "blackscholes",
        about: "512 K options",
        input: Input::Floats,
        n: 1 << 19,
        block: [256, 1],
        grid: line,
        written: |n| 2 * n,
        agreement: Floats(
            2e-6,
            "`ex2.approx` and `lg2.approx` are off by some 2^-22, and the price is a difference",
        ),
    },
    Kernel {
        name: "sha256",
        about: "128 K messages of 64 bytes",
        input: Input::Words,
        n: 1 << 17,
        block: [256, 1],
        grid: line,
        written: |n| 8 * n,
        agreement: Bits,
    },
    Kernel {
        name: "radixsort",
        about: "each 256 of 1 M keys by 8 bits",
        input: Input::Words,
        n: 1 << 20,
        block: [256, 1],
        grid: line,
        written: one,
        agreement: Bits,
    },
    Kernel {
        name: "bfs",
        about: "a step, 256 K vertices, 4 M edges",
        input: Input::Graph,
        n: 1 << 18,
        block: [256, 1],
        grid: line,
        written: one,
        agreement: Bits,
    },
    Kernel {
        name: "spmv",
        about: "256 K rows, 4 M values in CSR",
        input: Input::Graph,
        n: 1 << 18,
        block: [256, 1],
        grid: line,
        written: one,
        agreement: Bits,
    },
    Kernel {
        name: "gather",
        about: "from 4 M random places",
        input: Input::Words,
        n: 1 << 22,
        block: [256, 1],
        grid: line,
        written: one,
        agreement: Bits,
    },
    Kernel {
        name: "fft",
        about: "2,048 complex transforms of 512 points",
        input: Input::Floats,
        n: 1 << 20,
        block: [256, 1],
        grid: |n, _| [n / 512, 1],
        written: |n| 2 * n,
        agreement: Floats(2e-6, "`sin.approx` and `cos.approx` are off by up to 2^-20, in nine stages"),
    },
    Kernel {
        name: "montecarlo",
        about: "128 K threads, 256 points each",
        input: Input::Words,
        n: 1 << 17,
        block: [256, 1],
        grid: line,
        written: one,
        agreement: Bits,
    },
    Kernel {
        name: "softmax",
        about: "2,048 rows of 1,024",
        input: Input::Floats,
        n: 2048,
        block: [256, 1],
        grid: |n, _| [n, 1],
        written: |n| n * ROW,
        agreement: Floats(2e-6, "`ex2.approx`; 1,024 values are added in another order"),
    },
    Kernel {
        name: "layernorm",
        about: "2,048 rows of 1,024",
        input: Input::Floats,
        n: 2048,
        block: [256, 1],
        grid: |n, _| [n, 1],
        written: |n| n * ROW,
        agreement: Floats(2e-6, "`rsqrt.approx`; 1,024 values are added in another order"),
    },
    Kernel {
        name: "attention",
        about: "flash attention, 4 heads, 1,024 queries and keys of 32 floats",
        input: Input::Floats,
        n: 1024,
        block: [64, 1],
        grid: |n, [x, _]| [n / x, 4],
        written: |n| 4 * n * 32,
        agreement: Floats(4e-6, "`ex2.approx`; 1,024 values are added in another order, scaled in between"),
    },
];

#[cfg(test)]
mod tests {
    use super::KERNELS;
    use crate::bench_peers::compile::sources;
    use std::collections::BTreeSet;

    #[test]
    fn every_kernel_is_there_in_three_languages() {
        let files = std::fs::read_dir(sources().join("kernels")).unwrap();
        let files: BTreeSet<String> =
            files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        let languages = ["cl", "cpp", "cu"];
        let of = |name| languages.iter().map(move |language| format!("{name}.{language}"));
        assert_eq!(files, KERNELS.iter().flat_map(|kernel| of(kernel.name)).collect());
    }
}
