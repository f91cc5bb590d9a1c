//! Instructions that one instruction can do together: sums of three, the less or greater of a sum and something else, products and shifts with a sum, logic of three, products of 64 bits
//! with an address, a sign that the reader changes itself, and offsets in addresses.

use super::slots;
use super::values::{Made, Number, Parts, Values};
use crate::code::{Instruction, Operand};
use crate::opcode::Name;
use smol_str::format_smolstr;
use std::rc::Rc;

/// An offset in an address has 24 bits.
const OFFSETS: std::ops::Range<i64> = -0x80_0000..0x7f_ff00;

fn zero(operand: Option<&Operand>) -> bool {
    operand == Some(&Operand::zero())
}

/// A register as it is.
fn plain(operand: &Operand) -> bool {
    matches!(operand, Operand::General { before: "", after: "", .. })
}

/// Lets an instruction do what one that it reads does. Whether the line in front goes for it.
pub(crate) fn fuse(one: &mut Instruction, at: usize, values: &mut Values<'_>) -> bool {
    match one.name.as_str() {
        "IADD3" if one.written == 1 => sum(one, values),
        "LOP3.LUT" if one.written == 1 => logic(one, values),
        "VIMNMX" | "VIMNMX.U32" if values.target.has("VIADDMNMX") => extreme_of_sum(one, values),
        "IADD3.X" if one.written == 1 && one.guard.is_none() => return wide(one, at, values),
        "PLOP3.LUT" => both(one, values),
        name => match name.split('.').next().unwrap_or_default() {
            "FADD" | "FSETP" => signs(one, true, values),
            "FMUL" | "FFMA" => signs(one, false, values),
            "DADD" | "DMUL" | "DFMA" | "DSETP" => signs_of_doubles(one, values),
            "ISETP" => chosen(one, values),
            _ => {}
        },
    }
    false
}

/// What a source was computed by, if nobody else reads it.
fn only_reader<'v>(source: &Operand, values: &'v Values<'_>) -> Option<&'v Rc<Made>> {
    if !plain(source) || values.reads_of(source) != 1 {
        return None;
    }
    let (made, _) = values.made(values.of(source)?)?;
    (made.written == 1).then_some(made)
}

/// The first `count` operands of a past instruction as they can be read now.
fn again(made: &Made, count: usize, values: &Values<'_>) -> Option<Vec<Operand>> {
    made.read.iter().zip(&made.numbers).take(count).map(|(it, numbers)| values.again(it, numbers)).collect()
}

fn sum(one: &mut Instruction, values: &Values<'_>) {
    let [_, a, b, c] = &one.operands.clone()[..] else { return };
    if *c != Operand::zero() {
        return;
    }
    for (source, other) in [(a, b), (b, a)] {
        let Some(made) = only_reader(source, values) else { continue };
        let third = |read: &[Operand]| zero(read.get(2));
        let fused = match made.name.as_str() {
            "SHF.L.U32" if third(&made.read) && plain(other) => {
                let by = slots::constant(&made.read[1]).filter(|by| (1..31).contains(by));
                let from = again(made, 1, values).filter(|from| plain(&from[0]));
                by.zip(from)
                    .map(|(by, from)| ("LEA", vec![from[0].clone(), other.clone(), Operand::number(by)]))
            }
            "IMAD" if third(&made.read) && plain(other) => again(made, 2, values).map(|mut read| {
                read.push(other.clone());
                ("IMAD", read)
            }),
            "IADD3" if third(&made.read) => again(made, 2, values).and_then(|read| three(&read, other)),
            _ => None,
        };
        if let Some((name, read)) = fused {
            one.name = name.into();
            one.operands.truncate(1);
            one.operands.extend(read);
            return;
        }
    }
}

/// A sum of two and one more: constants stand second, and are one.
fn three(two: &[Operand], other: &Operand) -> Option<(&'static str, Vec<Operand>)> {
    let is_text = |it: &Operand| matches!(it, Operand::Text(_)) && *it != Operand::zero();
    let [x, y] = two else { return None };
    match (is_text(y), is_text(other)) {
        (true, true) => {
            let all = slots::constant(y)?.wrapping_add(slots::constant(other)?) as i32;
            let text = if all < 0 { format!("-{:#x}", all.unsigned_abs()) } else { format!("{all:#x}") };
            (all != i32::MIN && all != 0)
                .then(|| ("IADD3", vec![x.clone(), Operand::Text(text.into()), Operand::zero()]))
        }
        (false, true) => Some(("IADD3", vec![x.clone(), other.clone(), y.clone()])),
        (_, false) => Some(("IADD3", vec![x.clone(), y.clone(), other.clone()])),
    }
}

/// The less or greater of a sum of two and something else. One of the three may be a constant, but not the first.
fn extreme_of_sum(one: &mut Instruction, values: &Values<'_>) {
    let [_, a, b, least] = &one.operands.clone()[..] else { return };
    let is_fixed = |it: &Operand| slots::constant(it).is_some_and(|bits| bits != 0);
    let takes = |it: &Operand| plain(it) || slots::constant(it).is_some();
    for (source, other) in [(a, b), (b, a)] {
        let Some(made) = only_reader(source, values).filter(|made| made.name == "IADD3") else { continue };
        let Some(read) = again(made, 2, values).filter(|_| zero(made.read.get(2))) else { continue };
        let [x, y] = read.as_slice() else { continue };
        if !plain(x) || !takes(y) || !takes(other) || is_fixed(y) && is_fixed(other) {
            continue;
        }
        one.name = format_smolstr!("VIADDMNMX{}", &one.name["VIMNMX".len()..]).into();
        one.operands.truncate(1);
        let all = [x, y, other].map(|it| match slots::constant(it) {
            Some(0) => Operand::zero(),
            Some(bits) => Operand::number(bits),
            None => it.clone(),
        });
        one.operands.extend(all);
        one.operands.push(least.clone());
        return;
    }
}

/// Two logic functions as one, if there are no more than three things that they are of.
fn logic(one: &mut Instruction, values: &Values<'_>) {
    let [_, sources @ .., table, last] = &one.operands.clone()[..] else { return };
    let Some(outer) = slots::constant(table).filter(|_| sources.len() == 3) else { return };
    for (index, source) in sources.iter().enumerate() {
        let Some(made) = only_reader(source, values).filter(|made| made.name == "LOP3.LUT") else { continue };
        let Some(inner) = made.read.get(3).and_then(slots::constant) else { continue };
        let Some(read) = again(made, 3, values) else { continue };
        let others = sources.iter().enumerate().filter(|&(at, _)| at != index).map(|(_, it)| it);
        let mut of: Vec<Operand> = Vec::new();
        for operand in read.iter().chain(others) {
            if *operand != Operand::zero() && !of.contains(operand) {
                of.push(operand.clone());
            }
        }
        let is_text = |it: &Operand| matches!(it, Operand::Text(_));
        let constants = of.iter().filter(|it| is_text(it)).count();
        if of.len() > 3 || constants > 1 || !of.iter().all(|it| is_text(it) || plain(it)) {
            continue;
        }
        of.resize(3, Operand::zero());
        // A constant stands second.
        if let Some(at) = of.iter().position(|it| is_text(it) && *it != Operand::zero()) {
            of.swap(at, 1);
        }
        let mut fused = 0;
        for row in 0..8 {
            let bit = |it: &Operand| match of.iter().position(|of| of == it) {
                Some(at) if *it != Operand::zero() => row >> (2 - at) & 1,
                _ => 0,
            };
            let function = |table: u32, [a, b, c]: [u32; 3]| table >> (a << 2 | b << 1 | c) & 1;
            let within = function(inner, [0, 1, 2].map(|at| bit(&read[at])));
            let given = [0, 1, 2].map(|at| if at == index { within } else { bit(&sources[at]) });
            fused |= function(outer, given) << row;
        }
        let last = last.clone();
        one.operands.truncate(1);
        one.operands.extend(of);
        one.operands.extend([Operand::number(fused), last]);
        return;
    }
}

/// A product or an extended register, and what is added to it in 64 bits: this is the upper half, the line in front the lower one.
fn wide(one: &mut Instruction, at: usize, values: &mut Values<'_>) -> bool {
    let Some((carry, low)) = lower_half(one, values) else { return false };
    let Operand::General { reg, part: 1, .. } = one.operands[0] else { return false };
    let in_place = values.of(&Operand::part(reg, 0)) == Some(low);
    let made_in_front = values.made(carry).is_some_and(|(made, _)| made.line + 1 == at);
    if !in_place || !made_in_front || values.reads_of(&one.operands[4]) != 1 {
        return false;
    }
    let Some(lower) = values.made(carry).map(|(made, _)| Rc::clone(made)) else { return false };
    let half = |slot: usize| {
        let low = values.value(lower.read.get(slot)?)?;
        Some([low, values.value(one.operands.get(1 + slot)?)?])
    };
    let (Some(a), Some(b)) = (half(0), half(1)) else { return false };
    for (product, base) in [(a, b), (b, a)] {
        let Some((base, first)) = values.row(&base) else { continue };
        let Some((name, read)) = product_of(product, values) else { continue };
        let carried = one.operands[4].clone();
        one.name = name;
        one.operands = vec![Operand::wide(reg, 2)];
        one.operands.extend(read);
        one.operands.push(Operand::General { reg: base, part: first, width: 2, before: "", after: "" });
        values.forget(&carried);
        return true;
    }
    false
}

/// A comparison and another condition: the comparison takes that in.
fn both(one: &mut Instruction, values: &Values<'_>) {
    let [_, second, a, b, third, table, last] = &one.operands.clone()[..] else { return };
    let how = match slots::constant(table) {
        Some(0xc0) => "AND",
        Some(0xfc) => "OR",
        _ => return,
    };
    let always = Operand::always(false);
    if *second != always || *third != always || slots::constant(last) != Some(0) {
        return;
    }
    for (compared, other) in [(b, a), (a, b)] {
        let (&Operand::Predicate(_, not), Operand::Predicate(..)) = (compared, other) else { continue };
        if values.reads_of(compared) != 1 {
            continue;
        }
        let made = values.of(compared).and_then(|number| values.made(number));
        let Some((made, 0)) = made.filter(|(made, _)| made.written == 1) else { continue };
        let Some(name) = comparison(&made.name, not) else { continue };
        let [.., with] = made.read.as_slice() else { continue };
        if *with != always || made.read.len() != 3 {
            continue;
        }
        let Some(mut read) = again(made, 2, values) else { continue };
        read.push(other.clone());
        one.name = format_smolstr!("{name}.{how}").into();
        one.operands.truncate(2);
        one.operands.extend(read);
        return;
    }
}

/// The name of a comparison, or of its opposite, without what it is joined by. A float may be no number, which is another opposite.
fn comparison(name: &str, is_opposite: bool) -> Option<String> {
    let joined = name.strip_suffix(".AND")?;
    if !is_opposite {
        return ["ISETP.", "FSETP."].iter().any(|head| name.starts_with(head)).then(|| joined.to_owned());
    }
    let rest = joined.strip_prefix("ISETP.")?;
    let opposites = [("EQ", "NE"), ("LT", "GE"), ("LE", "GT"), ("NE", "EQ"), ("GE", "LT"), ("GT", "LE")];
    let (of, opposite) = opposites.into_iter().find(|(of, _)| rest.starts_with(of))?;
    Some(format!("ISETP.{opposite}{}", &rest[of.len()..]))
}

/// Whether a predicate chose something that is not zero, or zero: that predicate.
fn chosen(one: &mut Instruction, values: &Values<'_>) {
    let [to @ Operand::Predicate(_, false), second, a, b, with] = &one.operands.clone()[..] else { return };
    let is = match one.name.as_str() {
        "ISETP.NE.U32.AND" | "ISETP.NE.AND" | "ISETP.NE.S32.AND" => true,
        "ISETP.EQ.U32.AND" | "ISETP.EQ.AND" | "ISETP.EQ.S32.AND" => false,
        _ => return,
    };
    let always = Operand::always(false);
    let is_zero = zero(Some(b)) || slots::constant(b) == Some(0);
    if !is_zero || !plain(a) || *second != always || *with != always {
        return;
    }
    let made = values.of(a).and_then(|number| values.made(number));
    let Some((made, 0)) = made.filter(|(made, _)| made.name == "SEL" && made.written == 1) else { return };
    let [x, y, by] = made.numbers.as_slice() else { return };
    let bits = |slot: usize, numbers: &[Number]| match numbers {
        [number] => values.is_constant(*number),
        _ => made.read.get(slot).and_then(slots::constant),
    };
    let (Some(x), Some(y), [_]) = (bits(0, x), bits(1, y), by.as_slice()) else { return };
    let is = match (x != 0, y != 0) {
        (true, false) => is,
        (false, true) => !is,
        _ => return,
    };
    if !values.is_here(made) {
        // Until here a general register holds it, as predicates are few: it is compared again.
        let (Operand::Predicate(_, not), Some((compared, 0))) = (&made.read[2], values.made(by[0])) else {
            return;
        };
        let is_whole =
            compared.written == 1 && compared.read.get(2) == Some(&always) && compared.read.len() == 3;
        let name = comparison(&compared.name, *not == is).filter(|_| is_whole);
        if let (Some(name), Some(read)) = (name, again(compared, 2, values)) {
            one.name = format_smolstr!("{name}.AND").into();
            one.operands.splice(2..4, read);
        }
        return;
    }
    let Some(Operand::Predicate(from, not)) = values.again(&made.read[2], by) else { return };
    one.name = "PLOP3.LUT".into();
    let from = Operand::Predicate(from, not == is);
    one.operands = vec![to.clone(), second.clone(), from, always.clone(), always];
    one.operands.extend([Operand::number(0xf0), Operand::number(0)]);
}

/// The carry that the upper half of a sum takes, and the lower half.
fn lower_half(one: &Instruction, values: &Values<'_>) -> Option<(Number, Number)> {
    let [_, a, b, c, carry, last] = one.operands.as_slice() else { return None };
    let as_is = |it: &Operand| plain(it) || matches!(it, Operand::Text(_));
    if *c != Operand::zero() || *last != Operand::always(true) || !as_is(a) || !as_is(b) {
        return None;
    }
    let Operand::Predicate(_, false) = carry else { return None };
    let carry = values.of(carry)?;
    let (made, index) = values.made(carry)?;
    let lower = made.name == "IADD3" && made.written == 2 && index == 1 && zero(made.read.get(2));
    (lower && made.read[..2].iter().all(as_is)).then_some((carry, *values.carries.get(&carry)?))
}

/// A value of 64 bits as a product of 32-bit factors: `IMAD.WIDE`, and its two factors.
fn product_of(pair: [Number; 2], values: &Values<'_>) -> Option<(Name, Vec<Operand>)> {
    let [low, high] = pair;
    let halves = values.made(low).zip(values.made(high));
    if let Some(((made, 0), (other, 1))) = halves
        && Rc::ptr_eq(made, other)
        && made.name.starts_with("IMAD.WIDE")
        && zero(made.read.get(2))
    {
        return Some((made.name.clone(), again(made, 2, values)?));
    }
    // The lower half shifted, or as it is; and which register it extends.
    let extends = |low: Number, high: Number| -> Option<&'static str> {
        if values.is_constant(high) == Some(0) {
            return Some("IMAD.WIDE.U32");
        }
        let (sign, _) = values.made(high)?;
        let by = sign.read.get(1).and_then(slots::constant);
        let signed =
            sign.name == "SHF.R.S32.HI" && by == Some(31) && sign.numbers.get(2)?.as_slice() == [low];
        signed.then_some("IMAD.WIDE")
    };
    if let Some((upper, _)) = values.made(high)
        && upper.name == "SHF.L.U64.HI"
        && let Some((lower, _)) = values.made(low)
        && lower.name == "SHF.L.U32"
        && let ([x], [y], [z]) = (&upper.numbers[0][..], &lower.numbers[0][..], &upper.numbers.get(2)?[..])
        && x == y
        && let Some(by) = slots::constant(&lower.read[1]).filter(|by| (1..31).contains(by))
        && slots::constant(&upper.read[1]) == Some(by)
    {
        let from = again(lower, 1, values)?;
        let name = extends(*x, *z)?;
        return Some((name.into(), vec![from[0].clone(), Operand::number(1 << by)]));
    }
    None
}

/// Remembers a sum of 64 bits, for addresses.
pub(crate) fn remember_sum(one: &Instruction, values: &mut Values<'_>) {
    if one.name == "IADD3"
        && one.written == 2
        && let (Some(low), Some(carry)) = (values.of(&one.operands[0]), values.of(&one.operands[1]))
    {
        values.carries.insert(carry, low);
    }
    if one.name != "IADD3.X" || one.written != 1 {
        return;
    }
    let Some((carry, low)) = lower_half(one, values) else { return };
    let Some((lower, _)) = values.made(carry) else { return };
    let half = |slot: usize| {
        let low = values.value(lower.read.get(slot)?)?;
        Some([low, values.value(one.operands.get(1 + slot)?)?])
    };
    if let (Some(a), Some(b), Some(high)) = (half(0), half(1), values.of(&one.operands[0])) {
        values.sums.insert((low, high), (a, b));
    }
}

/// Takes constants that are added to an address into its offset. The coordinates on a surface have none.
pub(crate) fn address(one: &mut Instruction, values: &Values<'_>) {
    if ["SULD.", "SUST.", "SURED."].iter().any(|head| one.name.starts_with(head)) {
        return;
    }
    for operand in &mut one.operands {
        while let Some(better) = nearer(operand, values) {
            *operand = better;
        }
    }
}

fn nearer(operand: &Operand, values: &Values<'_>) -> Option<Operand> {
    let &Operand::Address { before, width, beside, offset, .. } = operand else { return None };
    if before.starts_with("c[") {
        return None;
    }
    let numbers = values.numbers(operand)?;
    let (base, by) = match *numbers.as_slice() {
        [low, high] => {
            let (a, b) = values.sums.get(&(low, high))?;
            let constant = |pair: &[Number; 2]| {
                let (low, high) = (values.is_constant(pair[0])?, values.is_constant(pair[1])?);
                Some((u64::from(high) << 32 | u64::from(low)) as i64)
            };
            match (constant(a), constant(b)) {
                (_, Some(by)) => (Parts::from_slice(a), by),
                (Some(by), None) => (Parts::from_slice(b), by),
                (None, None) => return None,
            }
        }
        [number] => {
            let (made, _) = values.made(number)?;
            let by = made.read.get(1).and_then(slots::constant)?;
            if made.name != "IADD3" || !zero(made.read.get(2)) || !plain(&made.read[0]) {
                return None;
            }
            (made.numbers[0].clone(), i64::from(by as i32))
        }
        _ => return None,
    };
    let offset = offset.checked_add(by).filter(|offset| OFFSETS.contains(offset))?;
    let (reg, 0) = values.row(&base)? else { return None };
    Some(Operand::Address { before, reg, width, beside, offset })
}

/// Floats whose sign was changed, or taken away, by a sum with zero.
fn signs(one: &mut Instruction, magnitudes: bool, values: &Values<'_>) {
    for operand in &mut one.operands[one.written..] {
        let &mut Operand::General { width: 1, before, after: "", .. } = operand else { continue };
        let Some((made, _)) = values.of(operand).and_then(|it| values.made(it)) else { continue };
        let Some(&Operand::General { width: 1, before: inner, after: "", .. }) = made.read.get(1) else {
            continue;
        };
        if made.name != "FADD" || made.read[0] != Operand::Text("-RZ".into()) {
            continue;
        }
        let sign = match (before, inner) {
            ("", "-") => "-",
            ("-", "-") => "",
            ("", "|") if magnitudes => "|",
            _ => continue,
        };
        if let Some((reg, part)) = values.row(&made.numbers[1]) {
            *operand = Operand::General { reg, part, width: 1, before: sign, after: "" };
        }
    }
}

fn signs_of_doubles(one: &mut Instruction, values: &Values<'_>) {
    for operand in &mut one.operands[one.written..] {
        let &mut Operand::General { width: 2, before, after: "", .. } = operand else { continue };
        let sign = match before {
            "" => "-",
            "-" => "",
            _ => continue,
        };
        let Some(numbers) = values.numbers(operand) else { continue };
        let Some((made, 1)) = values.made(numbers[1]) else { continue };
        let negated = matches!(made.read.get(1), Some(Operand::General { before: "-", width: 2, .. }));
        let whole = values.made(numbers[0]).is_some_and(|(low, index)| index == 0 && Rc::ptr_eq(low, made));
        if made.name != "DADD" || made.read[0] != Operand::Text("-RZ".into()) || !negated || !whole {
            continue;
        }
        if let Some((reg, part)) = values.row(&made.numbers[1]) {
            *operand = Operand::General { reg, part, width: 2, before: sign, after: "" };
        }
    }
}
