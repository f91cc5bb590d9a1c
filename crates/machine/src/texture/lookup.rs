//! `tex` and `tld4`: what one lane's lookup reads.

use super::array::Kind;
use super::object::{Plane, Sampler, Shape, Texels};
use crate::memory::View;
use ir::instruction::TexGeom;
use numerics::texture::address::{AddressMode, Axis, Pair, fetch, fetch_clamped};
use numerics::texture::anisotropy::{self, Probe, Probes};
use numerics::texture::blend::{Quad, blend, split, term, weights};
use numerics::texture::cube::{self, FaceCoordinates};
use numerics::texture::footprint::{self, Footprint as Gradients};
use numerics::texture::level::{self, Levels};
use numerics::texture::{coordinate, format};

/// The shape that an instruction names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Coordinates besides layer and sample; 3 for cubes, whose coordinates are a direction.
    pub dimensions: usize,
    /// Whether a layer stands before them.
    pub layered: bool,
    /// Whether they are a direction.
    pub cube: bool,
    /// Whether texels have several samples.
    pub multisample: bool,
}

impl From<TexGeom> for Geometry {
    fn from(geometry: TexGeom) -> Self {
        let (dimensions, layered) = match geometry {
            TexGeom::N1d => (1, false),
            TexGeom::A1d => (1, true),
            TexGeom::N2d | TexGeom::N2dms => (2, false),
            TexGeom::A2d | TexGeom::A2dms => (2, true),
            TexGeom::N3d | TexGeom::Cube => (3, false),
            TexGeom::Acube => (3, true),
        };
        let cube = matches!(geometry, TexGeom::Cube | TexGeom::Acube);
        let multisample = matches!(geometry, TexGeom::N2dms | TexGeom::A2dms);
        Self { dimensions, layered, cube, multisample }
    }
}

/// How the levels of detail of an instruction are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mip {
    /// Not at all: the base level.
    Base,
    /// By an operand.
    Level,
    /// By gradients.
    Gradient,
    /// Gradients for which the unit has no instruction: the threads of a quad step along them.
    Steps,
}

/// The type of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Results {
    /// Four words.
    Words,
    /// Four `.f16`.
    Halves,
    /// Two `.f16x2`.
    Packed,
}

/// A `tex` or `tld4` instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lookup {
    /// The shape that it names.
    pub geometry: Geometry,
    /// Whether coordinates are integers.
    pub integer: bool,
    /// How the level is told.
    pub mip: Mip,
    /// The channel that `tld4` gathers.
    pub gather: Option<usize>,
    /// What it gives.
    pub results: Results,
}

/// The operands of one lane.
#[derive(Clone, Copy, Debug, Default)]
pub struct Request {
    /// The coordinates as they stand in the instruction: layer, sample, then the others.
    pub coordinates: [u32; 4],
    /// Whether a direction's greatest component is about 1 already.
    pub projected: bool,
    /// The level.
    pub lod: u32,
    /// The gradients along the screen's axes.
    pub gradients: [[u32; 3]; 2],
    /// Texels that are added to the coordinates.
    pub offsets: [i32; 3],
}

/// Why a lookup failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The texture is not what the instruction says.
    Mismatch(String),
    /// The memory behind the texture is gone.
    Address(u64),
}

/// A texel's place: column, row, slice or layer.
type Position = [u32; 3];

/// Who hears of bytes that are read: of the address and how many.
pub(crate) type Seen<'a> = &'a dyn Fn(u64, u64);

/// What one lookup works with.
struct Unit<'a> {
    memory: &'a View<'a>,
    seen: Option<Seen<'a>>,
    texels: &'a Texels,
    sampler: &'a Sampler,
    lookup: &'a Lookup,
    request: &'a Request,
    /// The layer, or the first face.
    layer: u32,
}

/// The texels of one level that a lookup blends, or those that a gather reads: two slices of four, `None` for the
/// border, and their weights.
struct Footprint {
    slices: usize,
    texels: [[Option<Position>; 4]; 2],
    weights: [[u32; 4]; 2],
    /// Whether the coordinates lie between a texel and others, be its weight rounded to nothing.
    touched: [[bool; 4]; 2],
}

/// Which texels of a quad the weights of its second column and row leave.
fn touched(s: u32, t: u32) -> [bool; 4] {
    [true, s != 0, t != 0, s != 0 && t != 0]
}

impl Lookup {
    /// The four results of a lane.
    ///
    /// `seen` hears of the bytes that are read.
    pub(crate) fn run(
        &self,
        (memory, seen): (&View<'_>, Option<Seen<'_>>),
        texels: &Texels,
        sampler: &Sampler,
        request: &Request,
    ) -> Result<[u32; 4], Failure> {
        self.check(texels)?;
        // An array has no texels for one-dimensional integer coordinates, linear memory none for others.
        let linear = texels.shape == Shape::Linear;
        let one = self.geometry.dimensions == 1 && !self.geometry.layered;
        if linear != (self.integer && one) && (linear || self.integer && one) {
            return Ok([0; 4]);
        }
        // Gradients with a comparison find none in a row.
        if self.mip == Mip::Steps && one {
            return Ok([0; 4]);
        }
        let layer = match self.geometry.layered {
            false => 0,
            true => {
                let layers = texels.layers / if self.geometry.cube { 6 } else { 1 };
                let layer = request.coordinates[0];
                if self.integer && self.mip != Mip::Level && layer >= layers {
                    return Ok([0; 4]);
                }
                layer.min(layers - 1) * if self.geometry.cube { 6 } else { 1 }
            }
        };
        let unit = Unit { memory, seen, texels, sampler, lookup: self, request, layer };
        let results = match (self.gather, self.integer) {
            (Some(channel), _) => unit.gather(channel)?,
            (None, true) => unit.fetch()?,
            (None, false) => unit.sample()?,
        };
        Ok(self.convert(results))
    }

    /// Whether the texture has the shape that the instruction names.
    fn check(&self, texels: &Texels) -> Result<(), Failure> {
        let geometry = &self.geometry;
        let fits = match texels.kind {
            Kind::Plain => !geometry.layered && !geometry.cube && geometry.dimensions == texels.dimensions,
            Kind::Layered => geometry.layered && !geometry.cube && geometry.dimensions == texels.dimensions,
            Kind::Cube => geometry.cube && !geometry.layered || geometry.layered && geometry.dimensions == 2,
            Kind::LayeredCube => geometry.layered && (geometry.cube || geometry.dimensions == 2),
        };
        if fits && geometry.multisample == (texels.samples > 1) {
            return Ok(());
        }
        let kind = match texels.kind {
            Kind::Plain => "",
            Kind::Layered => "layered ",
            Kind::Cube => "cube map of ",
            Kind::LayeredCube => "layered cube map of ",
        };
        let samples = if texels.samples > 1 { " with several samples" } else { "" };
        let n = texels.dimensions;
        Err(Failure::Mismatch(format!(
            "the instruction does not fit a {kind}texture of {n} dimensions{samples}"
        )))
    }

    fn convert(&self, results: [u32; 4]) -> [u32; 4] {
        let half = |c: usize| u32::from(format::narrow(results[c]));
        match self.results {
            Results::Words => results,
            Results::Halves => [half(0), half(1), half(2), half(3)],
            Results::Packed => [half(0) | half(1) << 16, half(2) | half(3) << 16, 0, 0],
        }
    }
}

impl Unit<'_> {
    fn offset(&self, axis: usize) -> i32 {
        if self.texels.shape == Shape::Linear {
            return 0;
        }
        // What the instruction has room for: 4 bits, 6 of `tld4`.
        let bits = if self.lookup.gather.is_some() { 6 } else { 4 };
        self.request.offsets[axis] << (32 - bits) >> (32 - bits)
    }

    /// The coordinate of an axis, behind layer and sample.
    fn axis_coordinate(&self, axis: usize) -> u32 {
        let geometry = &self.lookup.geometry;
        let first = usize::from(geometry.layered) + usize::from(geometry.multisample);
        self.request.coordinates.get(first + axis).copied().unwrap_or(0)
    }

    fn axis(&self, plane: &Plane, axis: usize) -> Axis {
        let descriptor = &self.sampler.descriptor;
        Axis { size: plane.extents[axis], mode: descriptor.address[axis], normalized: descriptor.normalized }
    }

    /// The channels of a texel as they are stored; those it does not have are zero.
    fn read(&self, plane: &Plane, [x, y, z]: Position, sample: u32) -> Result<[u32; 4], Failure> {
        let format = self.texels.format;
        let bytes = format.texel_bytes() as usize;
        let column = u64::from(x) * u64::from(self.texels.samples) + u64::from(sample);
        let address = plane.address
            + u64::from(z) * plane.slice_pitch
            + u64::from(y) * plane.row_pitch
            + column * bytes as u64;
        if let Some(seen) = self.seen {
            seen(address, bytes as u64);
        }
        let mut texel = [0; 16];
        if !self.memory.read_block(address, &mut texel[..bytes]) {
            return Err(Failure::Address(address));
        }
        let element = format.element.bytes() as usize;
        let mut channels = [0; 4];
        for (channel, stored) in channels.iter_mut().zip(texel[..bytes].chunks_exact(element)) {
            let mut word = [0; 4];
            word[..element].copy_from_slice(stored);
            *channel = u32::from_le_bytes(word);
        }
        Ok(channels)
    }

    /// The results for a texel read by itself.
    fn values(&self, stored: [u32; 4]) -> [u32; 4] {
        let mut values = [0; 4];
        for c in 0..self.texels.format.channels as usize {
            values[c] = self.texels.meaning(c).value(stored[c]);
        }
        values
    }

    /// The border as if it were stored.
    fn border(&self) -> [u32; 4] {
        let element = self.texels.format.element;
        let mut stored = [0; 4];
        for c in 0..self.texels.format.channels as usize {
            stored[c] = format::border(element, self.texels.meaning(c), self.sampler.border[c]);
        }
        stored
    }

    /// A lookup by integer coordinates, which no sampler touches. One of a level, which is an integer too, goes no further
    /// than the edges; a level that is not there has no texels. Linear memory has one, whatever the instruction says.
    fn fetch(&self) -> Result<[u32; 4], Failure> {
        let of_level = self.lookup.mip == Mip::Level;
        let level = if of_level && self.texels.shape == Shape::Grid { self.request.lod as usize } else { 0 };
        let Some(plane) = self.texels.planes.get(level) else { return Ok([0; 4]) };
        let mut position = [0, 0, self.layer];
        for axis in 0..self.lookup.geometry.dimensions {
            let (index, size) = (self.axis_coordinate(axis) as i32, plane.extents[axis]);
            let texel = match of_level {
                true => Some(fetch_clamped(index, self.offset(axis), size)),
                false => fetch(index, self.offset(axis), size),
            };
            match texel {
                Some(texel) => position[axis] = texel,
                None => return Ok([0; 4]),
            }
        }
        let sample = match self.lookup.geometry.multisample {
            true => self.request.coordinates[usize::from(self.lookup.geometry.layered)],
            false => 0,
        };
        if sample >= self.texels.samples {
            return Ok([0; 4]);
        }
        self.read(plane, position, sample).map(|stored| self.values(stored))
    }

    /// The point of a cube that the coordinates name.
    fn cube_point(&self) -> Option<FaceCoordinates> {
        let direction = || [0, 1, 2].map(|axis| self.axis_coordinate(axis));
        let projected = || if self.request.projected { direction() } else { cube::project(direction()) };
        self.lookup.geometry.cube.then(|| cube::face_coordinates(projected()))
    }

    /// The texels of a level around the coordinates, moved by what a probe says, with its weight.
    fn footprint(
        &self,
        plane: &Plane,
        point: Option<FaceCoordinates>,
        probe: Probe,
        linear: bool,
    ) -> Footprint {
        let slice_weight = probe.weight;
        let dimensions = self.lookup.geometry.dimensions;
        if let Some(point) = point {
            let (texels, [s, t]) = cube_quad(self, plane, point, linear);
            let mut shares = weights(slice_weight, s, t);
            if self.sampler.descriptor.seamless_cube
                && let Some(corner) = texels.iter().position(Option::is_none)
            {
                share_corner(&mut shares, corner);
            }
            let layer = self.layer;
            let texels = texels.map(|texel| texel.map(|[x, y, face]| [x, y, layer + face]));
            let touched = [shares.map(|share| share != 0), [false; 4]];
            return Footprint { slices: 1, texels: [texels, [None; 4]], weights: [shares, [0; 4]], touched };
        }
        let mut pairs = [Pair { texels: [Some(0); 2], weight: 0 }; 3];
        for (axis, pair) in pairs.iter_mut().enumerate().take(dimensions) {
            let x = coordinate(self.axis_coordinate(axis));
            let along = self.axis(plane, axis);
            let shift = probe.shift.get(axis).copied().unwrap_or(0);
            *pair = match linear {
                true => along.linear(x, 256 * self.offset(axis) + shift),
                false => Pair { texels: [along.nearest(x, 256 * self.offset(axis) + shift); 2], weight: 0 },
            };
        }
        if dimensions == 1 && !self.lookup.geometry.layered {
            // A row is a texture of one row, which has borders above and below. Its offset stands in the upper bits.
            let across = Axis { size: 1, ..self.axis(plane, 1) };
            let offset = self.request.offsets[0] << 24 >> 28;
            pairs[1] = match linear {
                true => across.linear(0.0, 256 * offset),
                false => Pair { texels: [across.nearest(0.0, 256 * offset); 2], weight: 0 },
            };
        }
        let [s, t, r] = pairs;
        let layer = self.layer;
        let slices = if linear && dimensions == 3 { 2 } else { 1 };
        let shares = if slices == 2 { split(slice_weight, r.weight) } else { [slice_weight, 0] };
        let mut footprint =
            Footprint { slices, texels: [[None; 4]; 2], weights: [[0; 4]; 2], touched: [[false; 4]; 2] };
        for slice in 0..slices {
            if slice == 0 || r.weight != 0 {
                footprint.touched[slice] = touched(s.weight, t.weight);
            }
            footprint.weights[slice] = weights(shares[slice], s.weight, t.weight);
            for corner in 0..4 {
                let (column, row) = (s.texels[corner & 1], t.texels[corner >> 1]);
                footprint.texels[slice][corner] = match (column, row, r.texels[slice]) {
                    (Some(x), Some(y), Some(z)) => Some([x, y, if dimensions == 3 { z } else { layer }]),
                    _ => None,
                };
            }
        }
        footprint
    }

    /// The levels that a lookup reads, and its probes of each.
    fn levels(&self) -> (Levels, Probes) {
        let (lod, probes) = match self.lookup.mip {
            Mip::Base => (level::BASE, Probes::ONE),
            Mip::Level => (level::fixed(self.request.lod), Probes::ONE),
            Mip::Gradient | Mip::Steps => self.along_gradients(),
        };
        (self.sampler.levels.levels(lod, self.texels.planes.len() as u32), probes)
    }

    fn along_gradients(&self) -> (i32, Probes) {
        let geometry = &self.lookup.geometry;
        let extents = self.texels.planes[0].extents;
        let axes = [0, 1, 2];
        let here = axes.map(|axis| self.axis_coordinate(axis));
        let steps =
            self.request.gradients.map(|gradient| axes.map(|i| footprint::step(here[i], gradient[i])));
        if geometry.cube {
            let here = cube::project(here);
            let [x, y] = steps.map(|there| cube::change(here, cube::project(there)));
            let footprint = Gradients { sides: [x.0, y.0], diagonals: !(x.1 || y.1) };
            return (footprint.level([extents[0], extents[1], 1], 2), Probes::ONE);
        }
        let sides = match self.lookup.mip {
            Mip::Steps => steps.map(|there| axes.map(|i| footprint::difference(here[i], there[i]))),
            Mip::Base | Mip::Level | Mip::Gradient => self.request.gradients.map(|g| g.map(coordinate)),
        };
        let footprint = Gradients { sides, diagonals: true };
        // Volumes and layers of rows have no probes.
        let greatest = match (geometry.dimensions, geometry.layered) {
            (3, _) | (1, true) => 0,
            _ => self.sampler.greatest_ratio,
        };
        match greatest {
            0 => (footprint.level(extents, geometry.dimensions), Probes::ONE),
            greatest => {
                let found = footprint.elongated(extents, geometry.dimensions, greatest);
                (found.level, Probes::along(found.axis, found.ratio))
            }
        }
    }

    fn sample(&self) -> Result<[u32; 4], Failure> {
        let (levels, probes) = self.levels();
        match probes.list() {
            [_] => self.blended::<4>(levels, &probes),
            _ => self.blended::<{ 2 * anisotropy::MOST }>(levels, &probes),
        }
    }

    /// The blend of all probes, which are at most `QUADS` quads of texels.
    fn blended<const QUADS: usize>(&self, levels: Levels, probes: &Probes) -> Result<[u32; 4], Failure> {
        let point = self.cube_point();
        let linear = self.sampler.descriptor.linear && !self.texels.meanings[0].is_integer();
        let mut quads: [[Quad; QUADS]; 4] = [[[(0, 0); 4]; QUADS]; 4];
        let mut count = 0;
        for probe in probes.list() {
            let shares = split(probe.weight, levels.weight);
            for (i, &weight) in shares.iter().enumerate().filter(|&(_, &share)| share != 0) {
                let plane = &self.texels.planes[levels.first as usize + i];
                let probe = Probe { weight, ..probe.between(levels.weight, i == 1) };
                let footprint = self.footprint(plane, point, probe, linear);
                if probes.list().len() == 1 && weight == 256 && !linear {
                    return match footprint.texels[0][0] {
                        Some(position) => self.read(plane, position, 0).map(|stored| self.values(stored)),
                        None => Ok(self.values(self.border())),
                    };
                }
                for slice in 0..footprint.slices {
                    for corner in 0..4 {
                        let weight = footprint.weights[slice][corner];
                        let terms = match footprint.touched[slice][corner] {
                            true => self.terms(plane, footprint.texels[slice][corner])?,
                            false => [0; 4],
                        };
                        for c in 0..4 {
                            quads[c][count][corner] = (terms[c], weight);
                        }
                    }
                    count += 1;
                }
            }
        }
        let mut results = [0; 4];
        for c in 0..self.texels.format.channels as usize {
            results[c] = match self.texels.meaning(c) {
                meaning if meaning.is_integer() => quads[c][0][0].0,
                meaning => blend(meaning, &quads[c][..count], probes.bits),
            };
        }
        Ok(results)
    }

    /// A texel's channels in the formats that they are blended in.
    fn terms(&self, plane: &Plane, texel: Option<Position>) -> Result<[u32; 4], Failure> {
        let stored = match texel {
            Some(position) => self.read(plane, position, 0)?,
            None => self.border(),
        };
        let mut terms = [0; 4];
        for c in 0..self.texels.format.channels as usize {
            terms[c] = term(self.texels.meaning(c), stored[c]);
        }
        Ok(terms)
    }

    /// The texels that a bilinear lookup would blend, counter-clockwise from the lower left.
    fn gather(&self, channel: usize) -> Result<[u32; 4], Failure> {
        let point = self.cube_point();
        let (levels, _) = self.levels();
        let plane = &self.texels.planes[levels.first as usize];
        let footprint = self.footprint(plane, point, Probes::ONE.list()[0], true);
        let mut values = [[0; 4]; 4];
        for (values, texel) in values.iter_mut().zip(footprint.texels[0]) {
            *values = match texel {
                Some(position) => self.read(plane, position, 0)?,
                None => self.border(),
            };
        }
        let mut results = [0; 4];
        for (result, corner) in results.iter_mut().zip([2, 3, 1, 0]) {
            let meaning = self.texels.meaning(channel);
            if meaning.is_integer() {
                *result = meaning.value(values[corner][channel]);
                continue;
            }
            // What is gathered passes through the blender.
            let mut shares = [0; 4];
            shares[corner] = 256;
            if point.is_some()
                && self.sampler.descriptor.seamless_cube
                && footprint.texels[0][corner].is_none()
            {
                share_corner(&mut shares, corner);
            }
            let quad = [0, 1, 2, 3].map(|i| match shares[i] {
                0 => (0, 0),
                share => (term(meaning, values[i][channel]), share),
            });
            let gathered = blend(meaning, &[quad], 8);
            // A subnormal does not pass.
            *result = if gathered << 1 >> 24 == 0 { gathered & 0x8000_0000 } else { gathered };
        }
        Ok(results)
    }
}

/// The four texels around a point of a cube, with their faces, and the weights of the second column and row.
fn cube_quad(
    unit: &Unit<'_>,
    plane: &Plane,
    point: FaceCoordinates,
    linear: bool,
) -> ([Option<Position>; 4], [u32; 2]) {
    let axis = |axis| Axis { normalized: true, ..unit.axis(plane, axis) };
    let (across, down) = (axis(0), axis(1));
    if linear && unit.sampler.descriptor.seamless_cube {
        let edges = |axis: Axis| Axis { mode: AddressMode::Border, ..axis };
        let [s, t] = [edges(across).position(point.s), edges(down).position(point.t)];
        let corner = |i: i64| {
            cube::across_edges(point.face, (s >> 8) + (i & 1), (t >> 8) + (i >> 1), plane.extents[0])
        };
        return ([corner(0), corner(1), corner(2), corner(3)], [(s & 255) as u32, (t & 255) as u32]);
    }
    let pair = |axis: Axis, x: f64| match linear {
        true => axis.linear(x, 0),
        false => Pair { texels: [axis.nearest(x, 0); 2], weight: 0 },
    };
    let (s, t) = (pair(across, point.s), pair(down, point.t));
    let corner = |i: usize| Some([s.texels[i & 1]?, t.texels[i >> 1]?, point.face]);
    ([corner(0), corner(1), corner(2), corner(3)], [s.weight, t.weight])
}

/// Gives the weight of a missing corner to the three texels that meet there: a third to each of its neighbours, the
/// rest to the one across.
fn share_corner(weights: &mut [u32; 4], corner: usize) {
    let all = std::mem::take(&mut weights[corner]);
    let third = (all + 1) / 3;
    weights[corner ^ 1] += third;
    weights[corner ^ 2] += third;
    weights[corner ^ 3] += all - 2 * third;
}
