//! Cube maps: from a direction to a face and coordinates on it.
//!
//! A direction is first divided by its greatest component, in the machine's ordinary approximate arithmetic; what
//! follows is exact.

use super::footprint::cut;
use crate::float::{max_f32, mul_f32};
use crate::rounding::Rn;
use crate::special::rcp_approx_f32;

/// A point of a cube.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FaceCoordinates {
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

/// The components of a projected direction that are numbers, and the face that it meets. A NaN is less than anything
/// else; where all are, +z is met.
fn meet(direction: [u32; 3]) -> ([Option<f64>; 3], usize) {
    let component = |bits: u32| Some(super::coordinate(bits)).filter(|_| bits & 0x7fff_ffff <= 0x7f80_0000);
    let [x, y, z] = direction.map(component);
    let at_least = |a: Option<f64>, b: Option<f64>| a.is_some() && a.map(f64::abs) >= b.map(f64::abs);
    let negative = |v: Option<f64>| usize::from(v.is_some_and(|v| v < 0.0));
    let face = if at_least(z, x) && at_least(z, y) {
        4 + negative(z)
    } else if at_least(y, x) {
        2 + negative(y)
    } else if x.is_none() {
        4
    } else {
        negative(x)
    };
    ([x, y, z], face)
}

/// The face that a projected direction meets, and where: in the middle of it where nothing is a number.
pub fn face_coordinates(direction: [u32; 3]) -> FaceCoordinates {
    let (components, face) = meet(direction);
    let [_, across, down] = FACES[face];
    let along = |(axis, sign): (usize, i64)| components[axis].unwrap_or(0.0) * sign as f64;
    FaceCoordinates { face: face as u32, s: normalized(along(across)), t: normalized(along(down)) }
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

/// How the normalized coordinates on the face of one projected direction change on the way to another, and whether the
/// way crosses an edge. The other face is unfolded: both distances to the edge count. The way to the opposite face is at
/// least a whole face long.
pub fn change(from: [u32; 3], to: [u32; 3]) -> ([f64; 3], bool) {
    let ((from, here), (to, there)) = (meet(from), meet(to));
    let (from, to) = (from.map(Option::unwrap_or_default), to.map(Option::unwrap_or_default));
    let ([(own, sign), across, down], [(beyond, towards), ..]) = (FACES[here], FACES[there]);
    if own == beyond && sign != towards {
        return ([1.0, 0.0, 0.0], true);
    }
    let mut way = [0, 1, 2].map(|axis| to[axis] - from[axis]);
    if own != beyond {
        let below = |v: f64, sign: i64| cut((1.0 - v * sign as f64).max(0.0));
        way[beyond] = (below(from[beyond], towards) + below(to[own], sign)) * towards as f64;
    }
    let along = |(axis, sign): (usize, i64)| way[axis] * sign as f64 / 2.0;
    ([along(across), along(down), 0.0], here != there)
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
