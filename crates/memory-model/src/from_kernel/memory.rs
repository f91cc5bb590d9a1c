//! The memory of a launch: where buffers and variables lie, and which object of the test an address is in.

use super::Launch;
use crate::event::Bytes;
use crate::program::{Location, Program};
use ir::operand::Space;
use ptx::module::{Module, Symbol, VarId};
use ptx::types::StateSpace;
use rustc_hash::FxHashMap;

/// Where the variables of `.global` and `.const` begin; the buffers of the launch are elsewhere.
const VARIABLES: u64 = 0x6000_0000_0000;
/// Where shared memory is in generic addresses.
const SHARED: u64 = 0x5000_0000_0000;
/// Where local memory is in generic addresses.
const LOCAL: u64 = 0x4000_0000_0000;
/// The memory that the driver gives to grids whose CTAs meet.
pub(super) const WORKSPACE: u64 = 0x3000_0000_0000;
/// The most bytes of an area.
const MAX_AREA: usize = 1 << 16;

/// Whose an area is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    /// All threads have the same.
    Grid,
    /// Nobody writes it.
    Constant,
    /// Each CTA has its own.
    Cta,
    /// Each thread has its own.
    Thread,
}

struct Area {
    name: String,
    /// Its generic address.
    base: u64,
    bytes: Vec<u8>,
    /// Bytes of an element, for names.
    element: u32,
    owner: Owner,
}

/// A place in an area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    area: usize,
    start: u32,
}

/// Who accesses memory: the numbers of a CTA and a thread in the grid.
pub(super) type Who = (usize, usize);

pub(super) struct Memory {
    areas: Vec<Area>,
    variables: FxHashMap<VarId, usize>,
    objects: FxHashMap<(usize, usize), u32>,
}

/// What is added to an address of a state space to make it generic.
pub(super) fn window(space: Space) -> u64 {
    match space {
        Space::Shared | Space::SharedCta | Space::SharedCluster => SHARED,
        Space::Local => LOCAL,
        Space::Generic
        | Space::Const
        | Space::Global
        | Space::Param
        | Space::ParamEntry
        | Space::ParamFunc => 0,
    }
}

impl Memory {
    /// Places the buffers of a launch and the variables of a module.
    pub(super) fn new(module: &Module, launch: &Launch) -> Result<Self, String> {
        let mut memory =
            Self { areas: Vec::new(), variables: FxHashMap::default(), objects: FxHashMap::default() };
        for buffer in &launch.buffers {
            let (base, element) = (buffer.address, buffer.element.max(1));
            memory.add(&buffer.name, base, buffer.bytes.clone(), element, Owner::Grid)?;
        }
        memory.add("workspace", WORKSPACE, vec![0; 64], 4, Owner::Grid)?;
        let mut next = [VARIABLES, SHARED, LOCAL];
        // Shared memory whose size the launch says lies behind the rest.
        let sized = |variable: &ptx::module::Variable| !variable.unsized_array;
        let (first, last): (Vec<usize>, Vec<usize>) =
            (0..module.variables.len()).partition(|&index| sized(&module.variables[index]));
        for index in first.into_iter().chain(last) {
            let variable = &module.variables[index];
            let (next, owner) = match variable.space {
                StateSpace::Global => (&mut next[0], Owner::Grid),
                StateSpace::Const => (&mut next[0], Owner::Constant),
                StateSpace::Shared => (&mut next[1], Owner::Cta),
                StateSpace::Local => (&mut next[2], Owner::Thread),
                _ => continue,
            };
            let size = if sized(variable) { variable.size } else { u64::from(launch.shared) };
            let size = usize::try_from(size).ok().filter(|size| *size <= MAX_AREA);
            let size = size.ok_or_else(|| format!("`{}` is too large", variable.name))?;
            let base = next.next_multiple_of(u64::from(variable.align.max(1)));
            if sized(variable) {
                *next = base + size as u64;
            }
            let mut bytes = variable.init.clone();
            bytes.resize(size, 0);
            memory.variables.insert(VarId(index as u32), memory.areas.len());
            memory.add(&variable.name, base, bytes, variable.ty.bytes().max(1), owner)?;
        }
        memory.relocate(module)?;
        Ok(memory)
    }

    fn add(
        &mut self,
        name: &str,
        base: u64,
        bytes: Vec<u8>,
        element: u32,
        owner: Owner,
    ) -> Result<(), String> {
        if bytes.len() > MAX_AREA {
            return Err(format!("`{name}` has {} bytes; there may be {MAX_AREA}", bytes.len()));
        }
        self.areas.push(Area { name: name.to_owned(), base, bytes, element, owner });
        Ok(())
    }

    /// Writes the addresses that first values of variables contain.
    fn relocate(&mut self, module: &Module) -> Result<(), String> {
        for (index, variable) in module.variables.iter().enumerate() {
            let Some(&area) = self.variables.get(&VarId(index as u32)) else { continue };
            for relocation in &variable.relocations {
                let target = match relocation.target {
                    Symbol::Variable(target) => self.variables.get(&target).copied(),
                    Symbol::Function(_) => None,
                };
                let target = target.filter(|_| relocation.shift.is_none());
                let target = target
                    .ok_or_else(|| format!("the first value of `{}` is not understood", variable.name))?;
                let value = self.areas[target].base.wrapping_add_signed(relocation.addend).to_le_bytes();
                let (start, len) = (relocation.offset as usize, relocation.bytes.min(8) as usize);
                if let Some(place) = self.areas[area].bytes.get_mut(start..start + len) {
                    place.copy_from_slice(&value[..len]);
                }
            }
        }
        Ok(())
    }

    /// The address of a variable in its own state space.
    pub(super) fn address(&self, variable: VarId) -> Option<u64> {
        let area = &self.areas[*self.variables.get(&variable)?];
        Some(match area.owner {
            Owner::Grid | Owner::Constant => area.base,
            Owner::Cta => area.base - SHARED,
            Owner::Thread => area.base - LOCAL,
        })
    }

    /// Where a generic address is.
    pub(super) fn find(&self, address: u64, size: u32) -> Result<Place, String> {
        let inside = |area: &Area| {
            let start = address.checked_sub(area.base)?;
            let end = start.checked_add(u64::from(size))?;
            (end <= area.bytes.len() as u64).then_some(start as u32)
        };
        let found = self.areas.iter().enumerate().find_map(|(index, area)| Some((index, inside(area)?)));
        match found {
            None => Err(format!("an access of {size} bytes at {address:#x}, where no memory is")),
            Some(_) if !address.is_multiple_of(u64::from(size.next_power_of_two())) => {
                Err(format!("an access of {size} bytes at {address:#x}, which is misaligned"))
            }
            Some((area, start)) => Ok(Place { area, start }),
        }
    }

    /// All generic addresses in some memory at which an access of a size may be.
    pub(super) fn all(&self, size: u32, shared: Option<bool>) -> impl Iterator<Item = u64> + '_ {
        let wanted = move |area: &&Area| match shared {
            None => true,
            Some(shared) => (area.owner == Owner::Cta) == shared,
        };
        let step = u64::from(size.next_power_of_two());
        self.areas.iter().filter(wanted).flat_map(move |area| {
            let first = area.base.next_multiple_of(step);
            let end = area.base + area.bytes.len() as u64;
            (first..end).step_by(step as usize).filter(move |at| at + u64::from(size) <= end)
        })
    }

    /// What constant memory holds.
    pub(super) fn constant(&self, place: Place, size: u32) -> Option<u64> {
        let area = &self.areas[place.area];
        let bytes = area.bytes.get(place.start as usize..(place.start + size) as usize)?;
        (area.owner == Owner::Constant && size <= 8)
            .then(|| bytes.iter().rev().fold(0, |all, &byte| all << 8 | u64::from(byte)))
    }

    /// The bytes of an access, which are a location of the test.
    pub(super) fn bytes(&mut self, program: &mut Program, place: Place, size: u32, who: Who) -> Bytes {
        let area = &self.areas[place.area];
        let (whose, owner) = match area.owner {
            Owner::Grid | Owner::Constant => (0, String::new()),
            Owner::Cta => (who.0, format!("cta{}.", who.0)),
            Owner::Thread => (who.1, format!("thread{}.", who.1)),
        };
        let object = *self.objects.entry((place.area, whose)).or_insert_with(|| {
            program.objects.push(area.bytes.clone());
            program.objects.len() as u32 - 1
        });
        let bytes = Bytes { object, address: object, start: place.start, len: size };
        if !program.locations.iter().any(|location| location.bytes == bytes) {
            let (index, rest) = (place.start / area.element, place.start % area.element);
            let name = match (rest, size == area.element, area.bytes.len() as u32 == size) {
                (0, true, true) => format!("{owner}{}", area.name),
                (0, true, false) => format!("{owner}{}[{index}]", area.name),
                _ => format!("{owner}{}+{}:{size}", area.name, place.start),
            };
            program.locations.push(Location { name, bytes });
        }
        bytes
    }

    /// An element of a named area that all threads have in common.
    pub(super) fn element(&self, name: &str, index: u64) -> Option<(Place, u32)> {
        let found = |area: &Area| area.name == name && area.owner == Owner::Grid;
        let area = self.areas.iter().position(found)?;
        let element = self.areas[area].element;
        let start = index.checked_mul(u64::from(element))?;
        let end = start.checked_add(u64::from(element))?;
        (end <= self.areas[area].bytes.len() as u64).then_some((Place { area, start: start as u32 }, element))
    }
}
