//! Elements that lanes access each at a place of its own: by AVX-512's gathers and scatters, or by functions of ours ([`crate::scattered`]).
//!
//! Loads of a stretch that lie one behind the other, counted from the same register, are made by the first of them as one **piece**. Between them
//! stands nothing that does more than compute, and all are tested together.

use super::Emitter;
use super::context;
use super::text::Kind;
use super::window::{Scattered, Tested};
use crate::Refusal;
use crate::llvm::has_masks;
use crate::scattered::{self, Piece};
use ir::instruction::{Instruction, Ld, Op};
use ptx::isa::Order;
use std::collections::{BTreeMap, HashMap};

/// Bytes that lanes store as a group: see [`Emitter::scatter`].
const GROUP_BYTES: u32 = 128;

/// The pieces of a stretch.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    pieces: Vec<Loaded>,
    /// Of an element of a load: its piece, and its place there.
    of: HashMap<(u32, usize), (usize, usize)>,
}

#[derive(Debug)]
struct Loaded {
    piece: Piece,
    /// How far its first element is from the register.
    offset: i64,
    /// Its elements once they are loaded, and by which instruction.
    values: Option<(u32, Vec<String>)>,
}

/// Elements of so many bytes in a group of accesses, by their distance from the register: the loads that want them, and which of their elements they are.
type Elements = BTreeMap<(usize, u32, i64), Vec<(u32, usize)>>;

impl Pieces {
    /// Of instructions, with the groups of those that are tested together.
    pub(super) fn of<'a>(
        instructions: impl Iterator<Item = (u32, &'a Instruction)>,
        group_of: &HashMap<u32, usize>,
    ) -> Self {
        let (mut all, mut elements) = (Self::default(), Elements::new());
        for (index, instruction) in instructions {
            match (&instruction.op, group_of.get(&index)) {
                (Op::Ld(ld), Some(&group)) => {
                    for (element, offset) in offsets(ld).enumerate() {
                        elements.entry((group, ld.ty.bits() / 8, offset)).or_default().push((index, element));
                    }
                }
                (Op::Ld(ld), None) if ld.order == Order::Weak => {}
                (op, _) if op.effects().is_pure() => {}
                _ => all.add(std::mem::take(&mut elements)),
            }
        }
        all.add(elements);
        all
    }

    /// Elements between which nothing stands.
    fn add(&mut self, elements: Elements) {
        let elements: Vec<_> = elements.into_iter().collect();
        let mut at = 0;
        while at < elements.len() {
            let (group, bytes, offset) = elements[at].0;
            let follows = |n: usize| {
                let here = elements.get(at + n).map(|element| element.0);
                here == Some((group, bytes, offset + n as i64 * i64::from(bytes)))
            };
            let run = (1..Piece::largest(bytes)).take_while(|&n| follows(n)).count() + 1;
            let count = 1 << run.ilog2();
            for (place, (_, wanted)) in elements[at..at + count].iter().enumerate() {
                self.of.extend(wanted.iter().map(|&load| (load, (self.pieces.len(), place))));
            }
            self.pieces.push(Loaded { piece: Piece { bytes, count }, offset, values: None });
            at += count;
        }
    }

    /// Takes back what an instruction has loaded whose text is not used.
    pub(super) fn forget(&mut self, index: u32) {
        for piece in &mut self.pieces {
            piece.values.take_if(|(by, _)| *by == index);
        }
    }
}

/// How far the elements of a load are from its register.
fn offsets(ld: &Ld) -> impl Iterator<Item = i64> {
    let bytes = i64::from(ld.ty.bits() / 8);
    (0..ld.d.len() as i64).map(move |element| ld.a.offset + element * bytes)
}

impl Emitter<'_> {
    /// The elements of active lanes where a test holds: so many of so many bits, from a distance of the register on. One of its own has in the
    /// other lanes what it is otherwise, if that is told.
    pub(super) fn gather(
        &mut self,
        tested: &Tested,
        (offset, stride): (i64, i64),
        (bits, count): (u32, usize),
        (active, otherwise): (&str, Option<&str>),
    ) -> Result<Vec<String>, Refusal> {
        let (index, bytes) = (self.index, bits / 8);
        let at = self.scattered(tested, stride);
        let mut values = Vec::new();
        for element in 0..count {
            let known = self.stretch.pieces.of.get(&(index, element)).copied();
            let known = known.filter(|_| tested.is_of_group);
            let (piece, from, place) = match known {
                Some((number, place)) => {
                    let Loaded { piece, offset, values: loaded } = &self.stretch.pieces.pieces[number];
                    if let Some((_, loaded)) = loaded {
                        values.push(loaded[place].clone());
                        continue;
                    }
                    (*piece, *offset, place)
                }
                None => (Piece { bytes, count: 1 }, offset + element as i64 * i64::from(bytes), 0),
            };
            let at = self.behind(&at, from - offset);
            let loaded = match piece.count {
                1 if has_masks() => vec![self.gather_by_mask(&at, bits, active, otherwise)],
                _ => self.load_piece(&at, piece, active)?,
            };
            values.push(loaded[place].clone());
            if let Some((number, _)) = known {
                self.stretch.pieces.pieces[number].values = Some((index, loaded));
            }
        }
        if let (Some(otherwise), [value]) = (otherwise, &values[..])
            && !self.all_execute()
        {
            let (ty, bit) = (self.text.int(bits, Kind::Vector), self.text.int(1, Kind::Vector));
            values = vec![self.text.value(&format!("select {bit} {active}, {ty} {value}, {ty} {otherwise}"))];
        }
        Ok(values)
    }

    /// Places so many bytes behind others.
    pub(super) fn behind(&mut self, at: &Scattered, by: i64) -> Scattered {
        let first = match by {
            0 => at.first.clone(),
            by => self.text.value(&format!("getelementptr i8, ptr {}, i64 {by}", at.first)),
        };
        Scattered { first, ..at.clone() }
    }

    fn gather_by_mask(&mut self, at: &Scattered, bits: u32, active: &str, otherwise: Option<&str>) -> String {
        let width = self.rows.width;
        let (ty, bit) = (self.text.int(bits, Kind::Vector), self.text.int(1, Kind::Vector));
        let pointers = self.pointers(at);
        let name = format!("llvm.masked.gather.v{width}i{bits}.v{width}p0");
        self.intrinsic(&format!("declare {ty} @{name}(<{width} x ptr>, i32, {bit}, {ty})"));
        let otherwise = otherwise.unwrap_or("zeroinitializer");
        self.text.value(&format!(
            "call {ty} @{name}(<{width} x ptr> {pointers}, i32 {}, {bit} {active}, {ty} {otherwise})",
            bits / 8
        ))
    }

    /// The elements of a piece in each active lane; in the others anything.
    fn load_piece(&mut self, at: &Scattered, piece: Piece, active: &str) -> Result<Vec<String>, Refusal> {
        let function = piece.load(self.rows.width).ok_or_else(|| self.unsupported())?;
        let lists = self.access_scattered(function, at, active, (piece.bytes, piece.count), 0, &[]);
        let ty = self.text.int(8 * piece.bytes, Kind::Vector);
        Ok(lists.iter().map(|list| self.text.value(&format!("load {ty}, ptr {list}"))).collect())
    }

    /// Calls a function of [`crate::scattered`], with elements to store if there are any; where the lists of elements are.
    fn access_scattered(
        &mut self,
        function: usize,
        at: &Scattered,
        active: &str,
        (bytes, count): (u32, usize),
        turn: u32,
        stored: &[&str],
    ) -> Vec<String> {
        let (width, word) = (self.rows.width, self.text.int(32, Kind::Vector));
        self.text.line(&format!("store {word} {}, ptr %args, align 64", at.numbers));
        let place = |element: usize| (4 + element * bytes as usize) * width as usize;
        let lists: Vec<String> = (0..count).map(|element| self.list(place(element))).collect();
        self.arguments = self.arguments.max(place(count));
        let ty = self.text.int(8 * bytes, Kind::Vector);
        for (value, list) in stored.iter().zip(&lists) {
            self.text.line(&format!("store {ty} {value}, ptr {list}"));
        }
        let lanes = match self.all_execute() {
            true => "-1".to_owned(),
            false => self.text.mask_bits(active),
        };
        let functions = self.constant_field(context::SCATTERED, "ptr");
        let entry = size_of::<scattered::Access>() * function;
        let entry = self.text.value(&format!("getelementptr i8, ptr {functions}, i64 {entry}"));
        let function = self.text.value(&format!("load ptr, ptr {entry}, !invariant.load !1"));
        let shift = at.bytes.trailing_zeros();
        self.text.line(&format!(
            "call void {function}(ptr {}, i32 {shift}, i32 {lanes}, ptr %args, i32 {turn})",
            at.first
        ));
        lists
    }

    /// Stores scattered elements so that where lanes meet, the one wins that wins on a GPU: the text's order is that of
    /// the lanes, the last one winning, so each group of lanes is turned round.
    /// Groups are the smaller the more bytes a lane stores, of which an element is so many bits.
    pub(super) fn scatter(
        &mut self,
        value: &str,
        at: &Scattered,
        bits: u32,
        all: u32,
        active: &str,
    ) -> Result<(), Refusal> {
        let width = self.rows.width;
        let group = if all <= 4 { 32 } else { (GROUP_BYTES / all).max(1) }.min(width);
        let turn = group - 1;
        if !has_masks() {
            let function = scattered::store(bits / 8, width).ok_or_else(|| self.unsupported())?;
            self.access_scattered(function, at, active, (bits / 8, 1), turn, &[value]);
            return Ok(());
        }
        let places: Vec<String> = (0..width).map(|l| format!("i32 {}", l ^ turn)).collect();
        let places = places.join(", ");
        let turned = |e: &mut Self, vector: &str, element: &str| {
            e.text.value(&format!(
                "shufflevector <{width} x {element}> {vector}, <{width} x {element}> poison, <{width} x i32> <{places}>"
            ))
        };
        let element = format!("i{bits}");
        let value = turned(self, value, &element);
        // Numbers rather than pointers, which have twice the bits and would hide from LLVM what they are counted from.
        let numbers = turned(self, &at.numbers, "i32");
        let pointers = self.pointers(&Scattered { numbers, ..at.clone() });
        let mask = turned(self, active, "i1");
        let name = format!("llvm.masked.scatter.v{width}{element}.v{width}p0");
        self.intrinsic(&format!(
            "declare void @{name}(<{width} x {element}>, <{width} x ptr>, i32, <{width} x i1>)"
        ));
        self.text.line(&format!(
            "call void @{name}(<{width} x {element}> {value}, <{width} x ptr> {pointers}, i32 {}, <{width} x i1> {mask})",
            bits / 8
        ));
        Ok(())
    }
}
