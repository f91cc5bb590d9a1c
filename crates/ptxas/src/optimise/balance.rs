//! Sums and copies that the pipe of products can do as well go there where the integer pipe has more to do. Each takes a warp every
//! other cycle.

use super::slots;
use crate::allocate::blocks;
use crate::code::{Code, Instruction, Line, Operand};
use crate::schedule::{Latency, Pipe, latency};
use smol_str::format_smolstr;

/// Divides the work of each block.
pub(crate) fn balance(code: &mut Code) {
    for block in blocks(code) {
        let (mut integers, mut products) = (0_usize, 0_usize);
        for line in &mut code.lines[block.lines] {
            let Line::Instruction(one) = line else { continue };
            match latency(one) {
                Latency::Fixed(Pipe::Integer) if integers > products && other_pipe(one) => products += 1,
                Latency::Fixed(Pipe::Integer) => integers += 1,
                Latency::Fixed(Pipe::Products | Pipe::Wide) => products += 1,
                Latency::Fixed(
                    Pipe::Halves | Pipe::Doubles | Pipe::UniformLoad | Pipe::Uniform | Pipe::Matrices(_),
                )
                | Latency::Variable { .. }
                | Latency::Branch
                | Latency::Meeting
                | Latency::Uniform
                | Latency::Product
                | Latency::Products
                | Latency::Group
                | Latency::Serial => {}
            }
        }
    }
}

/// Lets the pipe of products compute a copy, or a sum of two; whether it can.
fn other_pipe(one: &mut Instruction) -> bool {
    let plain = |it: &Operand| matches!(it, Operand::General { width: 1, before: "", after: "", .. });
    let signed = |it: &Operand| matches!(it, Operand::General { width: 1, before: "-", after: "", .. });
    match (one.name.as_str(), one.operands.as_slice()) {
        ("MOV", [to, from]) if plain(to) => {
            let from = match slots::constant(from) {
                Some(0) => Operand::zero(),
                // A signed number there.
                Some(bits) if bits >> 31 == 1 => {
                    Operand::Text(format_smolstr!("-{:#x}", bits.wrapping_neg()))
                }
                Some(bits) => Operand::number(bits),
                None if plain(from) => from.clone(),
                None => return false,
            };
            one.name = "IMAD.MOV.U32".into();
            one.operands = vec![to.clone(), Operand::zero(), Operand::zero(), from];
            true
        }
        ("IADD3", [to, a, b, c]) if *c == Operand::zero() && plain(to) && plain(a) => {
            let b = match slots::constant(b).filter(|&bits| bits != 0) {
                Some(bits) => Operand::number(bits),
                None if plain(b) || signed(b) => b.clone(),
                None => return false,
            };
            one.name = "VIADD".into();
            one.operands = vec![to.clone(), a.clone(), b];
            true
        }
        _ => false,
    }
}
