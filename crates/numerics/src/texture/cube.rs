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
    /// The normalized coordinate across it.
    pub s: f64,
    /// The normalized coordinate down it.
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
    let scale = rcp_approx_f32::<true>(most);
    [x, y, z].map(|v| mul_f32::<Rn, false, false>(v, scale))
}

/// The face that a projected direction meets, and where. What is not finite is less than anything else; where nothing
/// is finite, the middle of -y is met.
pub fn place(direction: [u32; 3]) -> Place {
    let component = |bits: u32| Some(super::coordinate(bits)).filter(|_| bits >> 23 & 0xff != 0xff);
    let [x, y, z] = direction.map(component);
    let at_least = |a: Option<f64>, b: Option<f64>| a.is_some() && a.map(f64::abs) >= b.map(f64::abs);
    let finite = [x, y, z].map(|v| v.unwrap_or(0.0));
    let [fx, fy, fz] = finite;
    let (face, s, t) = if at_least(z, x) && at_least(z, y) {
        if fz < 0.0 { (5, -fx, -fy) } else { (4, fx, -fy) }
    } else if at_least(y, x) {
        if fy < 0.0 { (3, fx, -fz) } else { (2, fx, fz) }
    } else if x.is_none() {
        (3, 0.0, 0.0)
    } else if fx < 0.0 {
        (1, fz, -fy)
    } else {
        (0, -fz, -fy)
    };
    Place { face, s: normalized(s), t: normalized(t) }
}

/// A coordinate from -1 to 1 as one from 0 to 1: cut to 2^-41, which is finer than whatever follows, as a tiny one must
/// not vanish beside 1.
fn normalized(v: f64) -> f64 {
    const STEPS: f64 = (1u64 << 40) as f64;
    // The quotient of two components that are equal may be a little more than 1.
    let v = v.clamp(-1.0, 1.0);
    ((v * STEPS).floor() + STEPS) / (2.0 * STEPS)
}

/// The axes of a face: its own, and those along which s and t grow; each with its sign.
const FACES: [[(usize, i64); 3]; 6] = [
    [(0, 1), (2, -1), (1, -1)],
    [(0, -1), (2, 1), (1, -1)],
    [(1, 1), (0, 1), (2, 1)],
    [(1, -1), (0, 1), (2, -1)],
    [(2, 1), (0, 1), (1, -1)],
    [(2, -1), (0, -1), (1, -1)],
];

/// The texel at column `i` and row `j` of a face of `size`, which may lie one beyond an edge: then it is on the next
/// face. `None` beyond a corner, where three faces meet and there is none.
pub fn across_edges(face: u32, i: i64, j: i64, size: u32) -> Option<[u32; 3]> {
    let size = i64::from(size);
    let [(own, sign), (s_axis, s_sign), (t_axis, t_sign)] = FACES[face as usize];
    let inside = 0..size;
    let (axis, beyond) = match (inside.contains(&i), inside.contains(&j)) {
        (true, true) => return Some([i as u32, j as u32, face]),
        (true, false) => (t_axis, t_sign * (2 * j + 1 - size)),
        (false, true) => (s_axis, s_sign * (2 * i + 1 - size)),
        (false, false) => return None,
    };
    // In units of half a texel from the centre of the cube: a texel of the next face, next to the edge.
    let mut at = [0; 3];
    at[s_axis] = s_sign * (2 * i + 1 - size);
    at[t_axis] = t_sign * (2 * j + 1 - size);
    at[own] = sign * (size - 1);
    at[axis] = beyond.signum() * size;
    let next = FACES.iter().position(|[major, ..]| *major == (axis, beyond.signum()))?;
    let [_, (s_axis, s_sign), (t_axis, t_sign)] = FACES[next];
    let texel = |coordinate: i64| ((coordinate + size - 1) / 2) as u32;
    Some([texel(s_sign * at[s_axis]), texel(t_sign * at[t_axis]), next as u32])
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_are_crossed_and_crossed_back() {
        for face in 0..6 {
            for (i, j) in [(-1, 2), (4, 1), (0, -1), (3, 4)] {
                let [x, y, next] = across_edges(face, i, j, 4).unwrap();
                assert_ne!(next, face);
                // From the neighbour, one of the four ways out leads back to the texel at the edge.
                let home = [i.clamp(0, 3) as u32, j.clamp(0, 3) as u32, face];
                let (x, y) = (i64::from(x), i64::from(y));
                let ways = [(x - 1, y), (x + 1, y), (x, y - 1), (x, y + 1)];
                assert!(
                    ways.iter().any(|&(x, y)| across_edges(next, x, y, 4) == Some(home)),
                    "{face} {i} {j}"
                );
            }
            assert_eq!(across_edges(face, -1, 4, 4), None);
        }
    }
}
