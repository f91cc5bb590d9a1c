//! Which cells of tensor memory the registers of a warp are (PTX ISA, "Data Movement Shape", "Memory Layout").
//!
//! A warp accesses 32 lanes, or 16 of them, from the one that the address names. With `.pack::16b` and `.unpack::16b` a
//! register stands for the lower halves of two neighbouring columns.

use ir::instruction::Tcgen05LdShape as Shape;

/// The lane of tensor memory and the column, counted from the address, that a register of a lane of the warp is. `half` is
/// what the second half of the warp is moved by (`.16x32bx2`).
pub(crate) fn cell(shape: Shape, lane: u32, register: u32, half: u32) -> (u32, u32) {
    let (group, quad) = (lane / 4, lane % 4);
    match shape {
        Shape::N32x32b => (lane, register),
        Shape::N16x32bx2 => (lane % 16, register + lane / 16 * half),
        Shape::N16x64b => (group + 8 * (quad % 2), quad / 2 + 2 * register),
        Shape::N16x128b => (group + 8 * (register % 2), quad + 4 * (register / 2)),
        Shape::N16x256b => (group + 8 * (register / 2 % 2), 2 * quad + register % 2 + 8 * (register / 4)),
    }
}

/// Lanes of tensor memory that are accessed.
pub(crate) fn lanes(shape: Shape) -> u32 {
    match shape {
        Shape::N32x32b => 32,
        Shape::N16x32bx2 | Shape::N16x64b | Shape::N16x128b | Shape::N16x256b => 16,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_is_accessed_once() {
        for (shape, registers, columns) in [
            (Shape::N32x32b, 8, 8),
            (Shape::N16x32bx2, 4, 8),
            (Shape::N16x64b, 4, 8),
            (Shape::N16x128b, 8, 16),
            (Shape::N16x256b, 16, 32),
        ] {
            let mut cells: Vec<_> = (0..32)
                .flat_map(|lane| (0..registers).map(move |register| cell(shape, lane, register, 4)))
                .collect();
            cells.sort_unstable();
            cells.dedup();
            assert_eq!(cells.len() as u32, lanes(shape) * columns, "{shape:?}");
            assert!(cells.iter().all(|&(lane, column)| lane < lanes(shape) && column < columns));
        }
    }
}
