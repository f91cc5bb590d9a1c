//! Integers, bits, selection and comparison. A uniform instruction is the one without the `U`.

use super::{Given, NOTHING, chosen_words, compute, joined, one, test, words};
use crate::lanes;
use crate::operand::{Operand, Sign};
use crate::registers::PT;
use crate::step::Kind::{Flag, Wide, Word};
use crate::step::{Action, Compute, Input, Kind, MOST_SOURCES, Place, Source};
use numerics::bits::{self, Clamp, PermuteMode, Wrap};
use numerics::packed;

pub(super) fn action(given: &Given<'_>) -> Option<Action> {
    match given.opcode {
        "MOV" => {
            given.only(&[])?;
            chosen_words(given, vec![given.source(1, Word)?], |a, _, _| a)
        }
        "SEL" => {
            given.only(&[])?;
            words(given, &[Word, Word, Flag], |a, b, first| if first == 1 { a } else { b })
        }
        "IADD3" => sum(given),
        "VIADD" => {
            given.only(&["16x2"])?;
            if given.has("16x2") {
                let halves = |a, b| packed::map2(u16::wrapping_add, a, b);
                return words(given, &[Word, Word], move |a, b, _| halves(a, b));
            }
            words(given, &[Word, Word], |a, b, _| a.wrapping_add(b))
        }
        "VIADDMNMX" => {
            let order = Order::of(given)?;
            least_or_most(given, &[Word, Word, Word, Flag], move |s| {
                order.choose(order.sum(s[0], s[1]), s[2], s[3] == 1)
            })
        }
        "VIMNMX" | "IMNMX" => {
            let order = Order::of(given)?;
            least_or_most(given, &[Word, Word, Flag], move |s| order.choose(s[0], s[1], s[2] == 1))
        }
        "VIMNMX3" => {
            let order = Order::of(given)?;
            least_or_most(given, &[Word, Word, Word, Flag], move |s| {
                order.choose(order.choose(s[0], s[1], s[3] == 1), s[2], s[3] == 1)
            })
        }
        "LEA" => shifted_sum(given),
        "IMAD" => multiply(given),
        "IDP" => products(given),
        "SHF" => shift(given),
        "LOP3" => logic(given),
        "PLOP3" => truths(given),
        "PRMT" => permute(given),
        "IABS" => {
            given.only(&[])?;
            words(given, &[Word], |a, _, _| (a as i32).unsigned_abs())
        }
        "VABSDIFF" => {
            given.only(&["U32"])?;
            if given.has("U32") {
                return words(given, &[Word, Word, Word], |a, b, c| a.abs_diff(b).wrapping_add(c));
            }
            words(given, &[Word, Word, Word], |a, b, c| (a as i32).abs_diff(b as i32).wrapping_add(c))
        }
        "SGXT" => {
            given.only(&["U32", "W"])?;
            let function: fn(u32, u32) -> u32 = match (given.has("U32"), given.has("W")) {
                (true, false) => bits::szext::<u32, Clamp>,
                (true, true) => bits::szext::<u32, Wrap>,
                (false, false) => |a, width| bits::szext::<i32, Clamp>(a as i32, width) as u32,
                (false, true) => |a, width| bits::szext::<i32, Wrap>(a as i32, width) as u32,
            };
            words(given, &[Word, Word], move |a, width, _| function(a, width))
        }
        "BMSK" => {
            given.only(&["W"])?;
            if given.has("W") {
                return words(given, &[Word, Word], |at, width, _| bits::bmsk::<Wrap>(at, width));
            }
            words(given, &[Word, Word], |at, width, _| bits::bmsk::<Clamp>(at, width))
        }
        "POPC" => {
            given.only(&[])?;
            words(given, &[Word], |a, _, _| a.count_ones())
        }
        "BREV" => {
            given.only(&[])?;
            words(given, &[Word], |a, _, _| a.reverse_bits())
        }
        "FLO" => {
            given.only(&["U32", "SH"])?;
            let function: fn(u32) -> u32 = match (given.has("U32"), given.has("SH")) {
                (true, false) => bits::bfind::<u32, false>,
                (true, true) => bits::bfind::<u32, true>,
                (false, false) => |a| bits::bfind::<i32, false>(a as i32),
                (false, true) => |a| bits::bfind::<i32, true>(a as i32),
            };
            if given.is_predicate(1) {
                // Whether there is such a bit.
                let places = vec![given.registers(0, 1)?, given.flag(1)?];
                return Some(compute(places, given.sources(2, &[Word])?, move |s, to| {
                    to[0] = u64::from(function(s[0] as u32));
                    to[1] = u64::from(to[0] != u64::from(u32::MAX));
                }));
            }
            words(given, &[Word], move |a, _, _| function(a))
        }
        "CLMAD" => product_without_carries(given),
        "VABSDIFF4" => distances(given),
        "ISETP" => compare(given),
        _ => None,
    }
}

/// `IADD3 R, [P, [P,]] a, b, c` and with `.X` two predicates that carry in. The first predicate says whether the sum carries, the second
/// whether it does so twice.
fn sum(given: &Given<'_>) -> Option<Action> {
    given.only(&["X"])?;
    let mut places = vec![given.registers(0, 1)?];
    let mut at = 1;
    while given.is_predicate(at) {
        places.push(given.flag(at)?);
        at += 1;
    }
    if at == 1 && !given.has("X") {
        return words(given, &[Word, Word, Word], |a, b, c| a.wrapping_add(b).wrapping_add(c));
    }
    let carries = if given.has("X") {
        [Some(given.source(at + 3, Flag)?), Some(given.source(at + 4, Flag)?)]
    } else {
        [None; 2]
    };
    let mut sources = [given.source(at, Word)?, given.source(at + 1, Word)?, given.source(at + 2, Word)?];
    (given.operands.len() == at + 3 + 2 * usize::from(given.has("X"))).then_some(())?;
    let terms = sources.each_mut().map(|source| Term::of(source.operand.take_sign()));
    with_carries(&places, sources, carries, move |words, carries| {
        let all = (0..3).fold((0, 0), |all, at| terms[at].add(words[at], all));
        carries.into_iter().fold(all, |all, carry| Term::default().add(carry, all))
    })
}

/// A term of a sum with carries: `-` adds the complement and one, which carries where the word is zero.
#[derive(Clone, Copy, Default)]
struct Term {
    flip: u32,
    one: u32,
}

impl Term {
    fn of(sign: Sign) -> Self {
        let flips = sign.negated != sign.inverted;
        Self { flip: if flips { u32::MAX } else { 0 }, one: u32::from(sign.negated) }
    }

    /// Adds a word to a sum and its carries.
    #[inline(always)]
    fn add(self, word: u32, (sum, carries): (u32, u32)) -> (u32, u32) {
        let (word, first) = (word ^ self.flip).overflowing_add(self.one);
        let (sum, second) = sum.overflowing_add(word);
        (sum, carries + u32::from(first) + u32::from(second))
    }
}

/// A sum of words and carries; the first place is the sum's, those that follow say whether it carries, and whether it does so twice.
fn with_carries(
    places: &[Place],
    sources: [Source; 3],
    carries: [Option<Source>; 2],
    function: impl Fn([u32; 3], [u32; 2]) -> (u32, u32) + Send + Sync + 'static,
) -> Option<Action> {
    let flag = |at: usize| places.get(at).copied().unwrap_or(Place::Predicate(PT));
    Some(Action::Compute(Compute::Sum {
        sources: sources.map(Input::from),
        carries,
        place: *places.first()?,
        flags: [flag(1), flag(2)],
        function: lanes::sum(function),
    }))
}

/// `LEA[.HI[.SX32]][.X] d, [p,] a, b, [high,] shift[, carry]`: a, below its upper word if there is one, is shifted; the lower word of that,
/// with `.HI` the upper one, is added to b.
fn shifted_sum(given: &Given<'_>) -> Option<Action> {
    given.only(&["HI", "X", "SX32"])?;
    let (upper, signed) = (given.has("HI"), given.has("SX32"));
    let mut places = vec![given.registers(0, 1)?];
    if given.is_predicate(1) {
        places.push(given.flag(1)?);
    }
    let at = places.len();
    let mut sources = [given.source(at, Word)?, given.source(at + 1, Word)?, NOTHING];
    // What is negated is the shifted value.
    let sign = sources[0].operand.take_sign();
    let mut next = at + 2;
    if upper && !signed {
        sources[2] = given.source(next, Word)?;
        next += 1;
    }
    let shift = given.immediate(next)? & 31;
    let carry = if given.has("X") { Some(given.source(next + 1, Flag)?) } else { None };
    (given.operands.len() == next + 1 + usize::from(carry.is_some())).then_some(())?;
    let shifted = move |a: u32, high: u32| {
        let high = if signed { (a as i32 >> 31) as u32 } else { high };
        // A shift by 32 in two steps: by one, and by the others.
        if upper { high << shift | a >> 1 >> (31 - shift) } else { a << shift }
    };
    if places.len() == 1 && carry.is_none() && sign == Sign::default() {
        return chosen_words(given, sources.to_vec(), move |a, b, high| shifted(a, high).wrapping_add(b));
    }
    let terms = [Term::of(sign), Term::of(sources[1].operand.take_sign())];
    with_carries(&places, sources, [carry, None], move |[a, b, high], [carry, _]| {
        let all = terms[1].add(b, terms[0].add(shifted(a, high), (0, 0)));
        Term::default().add(carry, all)
    })
}

/// `IMAD`, `.WIDE` with 64 bits of result and third operand, `.HI` with the high half of that; a predicate that carries out, one that
/// carries in.
fn multiply(given: &Given<'_>) -> Option<Action> {
    given.only(&["WIDE", "HI", "U32", "MOV", "IADD", "SHL", "X"])?;
    let (wide, high, unsigned, extended) =
        (given.has("WIDE"), given.has("HI"), given.has("U32"), given.has("X"));
    let mut places = vec![given.registers(0, if wide { 2 } else { 1 })?];
    if given.is_predicate(1) {
        places.push(given.flag(1)?);
    }
    let at = places.len();
    if !wide && !high && !extended && at == 1 {
        return words(given, &[Word, Word, Word], |a, b, c| a.wrapping_mul(b).wrapping_add(c));
    }
    let third = if wide || high { Wide } else { Word };
    let kinds = [Word, Word, third, Flag];
    let sources = given.sources(at, if extended { &kinds } else { &kinds[..3] })?;
    Some(compute(places, sources, move |s, to| {
        let product = if unsigned {
            s[0].wrapping_mul(s[1])
        } else {
            (i64::from(s[0] as i32) * i64::from(s[1] as i32)) as u64
        };
        let carry = if extended { s[3] } else { 0 };
        let (sum, over) = product.overflowing_add(s[2]);
        let (sum, again) = sum.overflowing_add(carry);
        to[0] = match (wide, high) {
            (true, _) => sum,
            (false, true) => sum >> 32,
            (false, false) => sum & u64::from(u32::MAX),
        };
        to[1] = u64::from(over || again);
    }))
}

/// `CLMAD.half d, a, b, c`: half of a product without carries, and the bits that differ from c.
fn product_without_carries(given: &Given<'_>) -> Option<Action> {
    let shift = match given.modifiers[..] {
        ["LO"] => 0,
        ["HI"] => 64,
        _ => return None,
    };
    Some(one(given.registers(0, 2)?, given.sources(1, &[Wide, Wide, Wide])?, move |s| {
        let partial = (0..64).filter(|&bit| s[1] >> bit & 1 == 1).map(|bit| u128::from(s[0]) << bit);
        (partial.fold(0, |all, one| all ^ one) >> shift) as u64 ^ s[2]
    }))
}

/// `VABSDIFF4[.U8][.ACC] d, a, b, c`: the distances of four bytes; with `.ACC` their sum with c.
fn distances(given: &Given<'_>) -> Option<Action> {
    given.only(&["U8", "ACC"])?;
    let (unsigned, all) = (given.has("U8"), given.has("ACC"));
    words(given, &[Word, Word, Word], move |a, b, c| {
        let distance = |at: u32| {
            let (a, b) = ((a >> at) as u8, (b >> at) as u8);
            u32::from(if unsigned { a.abs_diff(b) } else { (a as i8).abs_diff(b as i8) })
        };
        let bytes = [0, 8, 16, 24];
        if all {
            bytes.into_iter().map(distance).fold(c, u32::wrapping_add)
        } else {
            bytes.into_iter().fold(0, |word, at| word | distance(at) << at)
        }
    })
}

/// `IDP.4A.type.type d, a, b, c`, `IDP.2A.half.type.type d, a, b, c`.
fn products(given: &Given<'_>) -> Option<Action> {
    let function: fn(u32, u32, u32) -> u32 = match given.modifiers[..] {
        ["4A", "U8", "U8"] => packed::dp4a::<false, false>,
        ["4A", "U8", "S8"] => packed::dp4a::<false, true>,
        ["4A", "S8", "U8"] => packed::dp4a::<true, false>,
        ["4A", "S8", "S8"] => packed::dp4a::<true, true>,
        ["2A", "LO", "U16", "U8"] => packed::dp2a::<false, false, false>,
        ["2A", "LO", "U16", "S8"] => packed::dp2a::<false, false, true>,
        ["2A", "LO", "S16", "U8"] => packed::dp2a::<false, true, false>,
        ["2A", "LO", "S16", "S8"] => packed::dp2a::<false, true, true>,
        ["2A", "HI", "U16", "U8"] => packed::dp2a::<true, false, false>,
        ["2A", "HI", "U16", "S8"] => packed::dp2a::<true, false, true>,
        ["2A", "HI", "S16", "U8"] => packed::dp2a::<true, true, false>,
        ["2A", "HI", "S16", "S8"] => packed::dp2a::<true, true, true>,
        _ => return None,
    };
    words(given, &[Word, Word, Word], function)
}

/// How a minimum or maximum compares.
#[derive(Clone, Copy)]
struct Order {
    unsigned: bool,
    /// Two halves, each for itself.
    halves: bool,
    /// No result below zero.
    relu: bool,
}

impl Order {
    fn of(given: &Given<'_>) -> Option<Self> {
        given.only(&["U32", "S32", "U16x2", "S16x2", "RELU"])?;
        Some(Self {
            unsigned: given.has("U32") || given.has("U16x2"),
            halves: given.has("U16x2") || given.has("S16x2"),
            relu: given.has("RELU"),
        })
    }

    fn sum(self, a: u64, b: u64) -> u64 {
        let (a, b) = (a as u32, b as u32);
        u64::from(if self.halves { packed::map2(u16::wrapping_add, a, b) } else { a.wrapping_add(b) })
    }

    fn choose(self, a: u64, b: u64, least: bool) -> u64 {
        let one = |a: i64, b: i64| {
            if least { a.min(b) } else { a.max(b) }.max(if self.relu { 0 } else { i64::MIN })
        };
        let (a, b) = (a as u32, b as u32);
        u64::from(match (self.halves, self.unsigned) {
            (false, true) => one(i64::from(a), i64::from(b)) as u32,
            (false, false) => one(i64::from(a as i32), i64::from(b as i32)) as u32,
            (true, true) => packed::map2(|a, b| one(i64::from(a), i64::from(b)) as u16, a, b),
            (true, false) => packed::map2(|a, b| one(i64::from(a as i16), i64::from(b as i16)) as u16, a, b),
        })
    }
}

fn least_or_most(
    given: &Given<'_>,
    kinds: &[Kind],
    function: impl Fn(&[u64; MOST_SOURCES]) -> u64 + Send + Sync + 'static,
) -> Option<Action> {
    // Some devices name two carries behind the result, which nobody wants.
    let never = Operand::Predicate { number: PT, negated: false };
    let from = if given.operands.get(1..3) == Some(&[never, never]) { 3 } else { 1 };
    Some(one(given.registers(0, 1)?, given.sources(from, kinds)?, function))
}

/// `SHF.{L,R}.type[.HI] d, low, amount, high`: 64 bits are shifted, and one half of them is the result.
fn shift(given: &Given<'_>) -> Option<Action> {
    given.only(&["L", "R", "U32", "S32", "U64", "S64", "HI", "W"])?;
    let (left, high, wrap) = (given.has("L"), given.has("HI"), given.has("W"));
    let signed = given.has("S32") || given.has("S64");
    let most: u32 = if given.has("U64") || given.has("S64") { 64 } else { 32 };
    // Where the other word does not come in.
    match (left, high, signed, wrap) {
        (true, false, _, true) if most == 32 => {
            return words(given, &[Word, Word, Word], |low, amount, _| low << (amount & 31));
        }
        (true, false, _, false) => {
            return words(given, &[Word, Word, Word], |low, amount, _| bits::shl(low, amount));
        }
        (false, true, false, false) => {
            return words(given, &[Word, Word, Word], |_, amount, upper| bits::shr(upper, amount));
        }
        _ => {}
    }
    words(given, &[Word, Word, Word], move |low, amount, upper| {
        let value = u64::from(upper) << 32 | u64::from(low);
        let amount = if wrap { amount % most } else { amount.min(most) };
        let shifted = match (left, signed) {
            (true, _) => value.checked_shl(amount).unwrap_or(0),
            (false, false) => value.checked_shr(amount).unwrap_or(0),
            (false, true) => ((value as i64) >> amount.min(63)) as u64,
        };
        if high { (shifted >> 32) as u32 } else { shifted as u32 }
    })
}

/// `LOP3.LUT[.PAND] [p,] d, a, b, c, table, q`: the predicate says whether the result has any bit, or q; with `.PAND`, and q.
fn logic(given: &Given<'_>) -> Option<Action> {
    given.only(&["LUT", "PAND"])?;
    let both = given.has("PAND");
    let at = usize::from(given.is_predicate(0));
    let table = given.immediate(at + 4)? as u8;
    let sources = vec![given.source(at + 1, Word)?, given.source(at + 2, Word)?, given.source(at + 3, Word)?];
    if at == 0 {
        return match table {
            0xc0 => chosen_words(given, sources, |a, b, _| a & b),
            0xfc => chosen_words(given, sources, |a, b, _| a | b),
            0x3c => chosen_words(given, sources, |a, b, _| a ^ b),
            _ => chosen_words(given, sources, move |a, b, c| bits::lop3(a, b, c, table)),
        };
    }
    let sources = sources.into_iter().chain([given.source(at + 5, Flag)?]).collect();
    Some(compute(vec![given.registers(1, 1)?, given.flag(0)?], sources, move |s, to| {
        to[0] = u64::from(bits::lop3(s[0] as u32, s[1] as u32, s[2] as u32, table));
        let any = to[0] != 0;
        to[1] = u64::from(if both { any && s[3] == 1 } else { any || s[3] == 1 });
    }))
}

/// `PLOP3.LUT p, q, a, b, c, table, other table`.
fn truths(given: &Given<'_>) -> Option<Action> {
    given.only(&["LUT"])?;
    let tables = [given.immediate(5)?, given.immediate(6)?];
    let sources = vec![given.source(2, Flag)?, given.source(3, Flag)?, given.source(4, Flag)?];
    Some(compute(vec![given.flag(0)?, given.flag(1)?], sources, move |s, to| {
        let row = s[0] << 2 | s[1] << 1 | s[2];
        (to[0], to[1]) = (u64::from(tables[0]) >> row & 1, u64::from(tables[1]) >> row & 1);
    }))
}

/// `PRMT[.mode] d, a, selector, b`.
fn permute(given: &Given<'_>) -> Option<Action> {
    let mode = match given.modifiers[..] {
        [] => None,
        ["F4E"] => Some(PermuteMode::Forward4),
        ["B4E"] => Some(PermuteMode::Backward4),
        ["RC8"] => Some(PermuteMode::Replicate8),
        ["ECL"] => Some(PermuteMode::EdgeClampLeft),
        ["ECR"] => Some(PermuteMode::EdgeClampRight),
        ["RC16"] => Some(PermuteMode::Replicate16),
        _ => return None,
    };
    let kinds = &[Word, Word, Word];
    match mode {
        None => words(given, kinds, |a, selector, b| bits::prmt(a, b, selector)),
        Some(mode) => words(given, kinds, move |a, selector, b| bits::prmt_mode(mode, a, b, selector)),
    }
}

/// `ISETP.op[.U32].bool[.EX] p, q, a, b, c[, lower]`: with `.EX` words are the high halves, and where they are equal it is said by
/// the comparison of the lower ones.
fn compare(given: &Given<'_>) -> Option<Action> {
    given.only(&["F", "T", "LT", "LE", "EQ", "NE", "GT", "GE", "U32", "AND", "OR", "XOR", "EX"])?;
    let (unsigned, extended) = (given.has("U32"), given.has("EX"));
    macro_rules! holds {
        ($holds:expr) => {{
            let holds: fn(i64, i64) -> bool = $holds;
            if extended {
                return compare_high(given, unsigned, holds);
            }
            if unsigned {
                test(given, Word, move |a, b| $holds(i64::from(a), i64::from(b)))
            } else {
                test(given, Word, move |a, b| $holds(i64::from(a as i32), i64::from(b as i32)))
            }
        }};
    }
    match *given.modifiers.first()? {
        "F" => holds!(|_: i64, _: i64| false),
        "T" => holds!(|_: i64, _: i64| true),
        "LT" => holds!(|a: i64, b: i64| a < b),
        "LE" => holds!(|a: i64, b: i64| a <= b),
        "EQ" => holds!(|a: i64, b: i64| a == b),
        "NE" => holds!(|a: i64, b: i64| a != b),
        "GT" => holds!(|a: i64, b: i64| a > b),
        "GE" => holds!(|a: i64, b: i64| a >= b),
        _ => None,
    }
}

fn compare_high(given: &Given<'_>, unsigned: bool, holds: fn(i64, i64) -> bool) -> Option<Action> {
    let join = joined(given)?;
    let sources = given.sources(2, &[Word, Word, Flag, Flag])?;
    Some(compute(vec![given.flag(0)?, given.flag(1)?], sources, move |s, to| {
        let number = |value: u64| if unsigned { value as i64 } else { i64::from(value as i32) };
        let (a, b) = (number(s[0]), number(s[1]));
        let holds = if a == b { s[3] == 1 } else { holds(a, b) };
        to[0] = u64::from(join(u32::from(holds), s[2] as u32));
        to[1] = u64::from(join(u32::from(!holds), s[2] as u32));
    }))
}
