//! Cube maps: from a direction to a face and coordinates on it.
//!
//! A direction is first divided by its greatest component, in the machine's ordinary approximate arithmetic; what
//! follows is exact.

use crate::float::{max_f32, mul_f32};
use crate::rounding::Rn;
use crate::special::rcp_approx_f32;

/// A place on a cube.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// The face: +x, -x, +y, -y, +z, -z.
    pub face: u32,
    /// Normalized coordinates on it, as multiples of 2^-32 or so: exact.
    pub s: f64,
    /// The same downwards.
    pub t: f64,
}

/// A direction scaled so that its greatest component is about 1.
pub fn project(direction: [u32; 3]) -> [u32; 3] {
    let [x, y, z] = direction;
    let magnitude = |v: u32| v & 0x7fff_ffff;
    let most = max_f32::<false, false, false>(
        magnitude(z),
        max_f32::<false, false, false>(magnitude(x), magnitude(y)),
    );
    let scale = rcp_approx_f32::<false>(most);
    [x, y, z].map(|v| mul_f32::<Rn, false, false>(v, scale))
}

/// The face that a projected direction meets, and where.
pub fn place(direction: [u32; 3]) -> Place {
    let [x, y, z] = direction.map(super::coordinate);
    let (face, s, t) = if z.abs() >= x.abs() && z.abs() >= y.abs() {
        if z >= 0.0 { (4, x, -y) } else { (5, -x, -y) }
    } else if y.abs() >= x.abs() {
        if y >= 0.0 { (2, x, z) } else { (3, x, -z) }
    } else if x >= 0.0 {
        (0, -z, -y)
    } else {
        (1, z, -y)
    };
    Place { face, s: (s + 1.0) / 2.0, t: (t + 1.0) / 2.0 }
}

/// How the normalized coordinates on a face change along a gradient of the direction.
pub fn derivative(direction: [u32; 3], gradient: [u32; 3]) -> [f64; 3] {
    let direction = direction.map(super::coordinate);
    let gradient = gradient.map(super::coordinate);
    let major = (0..3).max_by(|&a, &b| direction[a].abs().total_cmp(&direction[b].abs())).unwrap_or(0);
    let mut change = [0.0; 3];
    let minors = [[1, 2], [0, 2], [0, 1]][major];
    for (change, minor) in change.iter_mut().zip(minors) {
        let numerator = gradient[minor] * direction[major] - direction[minor] * gradient[major];
        *change = numerator / (2.0 * direction[major] * direction[major]);
    }
    if change.iter().all(|c| c.is_finite()) { change } else { [0.0; 3] }
}
