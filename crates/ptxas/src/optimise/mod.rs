//! What is done for speed between selection and allocation, above the lowest level. Selection copies freely and computes everything
//! where it is needed, because of this.

mod again;
mod balance;
mod branches;
mod converge;
mod fuse;
mod graph;
mod join;
mod merge;
mod narrow;
mod needed;
mod order;
mod predicate;
mod pressure;
mod rename;
mod sink;
mod slots;
mod uniform;
mod values;
mod waits;

use crate::Tuning;
use crate::code::{Code, Line, Operand};
use graph::Flow;
pub(crate) use slots::constant;
use values::Stage;
pub(crate) use waits::{Waits, waits};

/// Takes out copies and what nobody reads, and no more.
pub(crate) fn tidy(code: &mut Code) {
    let flow = Flow::new(code);
    values::number(code, &flow, Stage::Within);
    code.note_order();
}

/// Takes out what sets the stack pointer, of a kernel without local memory: nobody asks for it.
pub(crate) fn without_stack(code: &mut Code) {
    let pointer = Operand::Text("R1".into());
    code.lines
        .retain(|line| !matches!(line, Line::Instruction(one) if one.operands.first() == Some(&pointer)));
}

/// Makes a kernel's code faster. `waits`: a thread may wait for what others do.
pub(crate) fn optimise(code: &mut Code, waits: bool, tuning: &Tuning) {
    branches::lay_out(code);
    predicate::predicate(code, tuning.guarded);
    rename::rename(code);
    for stage in [Stage::Copies, Stage::Fusing, Stage::Fusing] {
        let flow = Flow::new(code);
        values::number(code, &flow, stage);
        narrow::narrow(code);
    }
    needed::keep_needed(code);
    join::join(code);
    values::number(code, &Flow::new(code), Stage::Copies);
    predicate::predicate(code, tuning.guarded);
    branches::lay_out(code);
    if !waits {
        converge::converge(code);
        branches::without_unnamed(code);
    }
    rename::rename(code);
    values::number(code, &Flow::new(code), Stage::Copies);
    narrow::narrow(code);
    sink::sink(code);
    merge::merge(code);
    again::compare_again(code);
    uniform::choose(code);
    balance::balance(code);
    code.note_order();
    order::order(code, tuning);
}

#[cfg(test)]
mod tests {
    use super::{optimise, tidy};
    use crate::Tuning;
    use crate::code::{Class, Code, Instruction, Line, Operand, Reg};

    fn instructions(code: &Code) -> Vec<&Instruction> {
        let all = code.lines.iter().map(|line| match line {
            Line::Instruction(one) => Some(one),
            Line::Label(_) => None,
        });
        all.flatten().collect()
    }

    fn names(code: &Code) -> Vec<&str> {
        instructions(code).iter().map(|one| one.name.as_str()).collect()
    }

    fn registers<const N: usize>(code: &mut Code, width: u8) -> [Reg; N] {
        [(); N].map(|()| code.register(Class::General(width), false))
    }

    fn mov(code: &mut Code, to: Operand, from: Operand) {
        code.push(None, "MOV", vec![to], vec![from]);
    }

    fn store(code: &mut Code, at: Reg, value: Reg) {
        code.push(None, "STS", vec![], vec![Operand::address(at), Operand::low(value)]);
    }

    #[test]
    fn a_copy_is_read_where_it_came_from_until_that_is_written() {
        let mut code = Code::default();
        let [source, copy, late] = registers(&mut code, 1);
        code.push(None, "LDS", vec![Operand::low(source)], vec![Operand::Text("[0x400]".into())]);
        mov(&mut code, Operand::low(copy), Operand::low(source));
        mov(&mut code, Operand::low(late), Operand::low(source));
        store(&mut code, copy, copy);
        mov(&mut code, Operand::low(source), Operand::number(8));
        store(&mut code, source, late);
        tidy(&mut code);
        // The first copy is gone; the second is read behind a write of its source.
        assert_eq!(names(&code), ["LDS", "MOV", "STS", "MOV", "STS"]);
        assert_eq!(instructions(&code)[2].operands, [Operand::address(source), Operand::low(source)]);
    }

    #[test]
    fn lanes_that_meet_keep_their_registers() {
        let mut code = Code::default();
        let [one, other, mask] = registers(&mut code, 1);
        for source in [one, other] {
            code.push(None, "LDS", vec![Operand::low(source)], vec![Operand::Text("[0x400]".into())]);
        }
        for source in [one, other] {
            let behind = code.label();
            mov(&mut code, Operand::low(mask), Operand::low(source));
            let read = vec![Operand::low(mask), Operand::Target(behind)];
            code.push(None, "WARPSYNC.COLLECTIVE", vec![], read);
            code.push(None, "ENDCOLLECTIVE", vec![], vec![]);
            code.place(behind);
        }
        store(&mut code, one, other);
        optimise(&mut code, false, &Tuning::default());
        // Whatever the register is, it is one wherever lanes meet.
        let all = instructions(&code);
        let meetings = all.iter().filter(|one| one.name == "WARPSYNC.COLLECTIVE");
        let masks: Vec<&Operand> = meetings.map(|one| &one.operands[0]).collect();
        assert_eq!(masks.len(), 2);
        assert_eq!(masks[0], masks[1]);
    }

    #[test]
    fn lanes_meet_behind_what_each_computes_alone() {
        let mut code = Code::default();
        let [lane, value] = registers(&mut code, 1);
        let flag = code.register(Class::Predicate, false);
        let behind = code.label();
        code.push(None, "S2R", vec![Operand::low(lane)], vec![Operand::Text("SR_LANEID".into())]);
        mov(&mut code, Operand::low(value), Operand::low(lane));
        let written = vec![Operand::Predicate(flag, false), Operand::always(false)];
        let read = vec![Operand::low(lane), Operand::zero(), Operand::always(false)];
        code.push(None, "ISETP.NE.U32.AND", written, read);
        code.push(Some((flag, false)), "BRA", vec![], vec![Operand::Target(behind)]);
        for _ in 0..3 {
            for (name, last) in [
                ("VABSDIFF", Operand::low(lane)),
                ("VABSDIFF4.U8", Operand::low(lane)),
                ("I2IP.U8.S32.SAT", Operand::low(lane)),
                ("HMNMX2", Operand::always(false)),
            ] {
                let read = vec![Operand::low(value), Operand::low(lane), last];
                code.push(None, name, vec![Operand::low(value)], read);
            }
            let read = vec![Operand::low(value), Operand::low(lane)];
            code.push(None, "BMSK", vec![Operand::low(value)], read);
        }
        code.place(behind);
        store(&mut code, lane, value);
        optimise(&mut code, false, &Tuning::default());
        let all = names(&code);
        assert!(all.contains(&"BSSY") && all.contains(&"BSYNC"), "{all:?}");
    }

    /// A load from `base + 4 * index + 8`, as selection has it.
    fn load(code: &mut Code, base: Reg, index: Reg) -> Reg {
        let [product, sum, by, address] = registers(code, 2);
        let carries = [(); 2].map(|()| code.register(Class::Predicate, true));
        let read = vec![Operand::low(index), Operand::number(4), Operand::zero()];
        code.push(None, "IMAD.WIDE.U32", vec![Operand::wide(product, 2)], read);
        mov(code, Operand::part(by, 0), Operand::number(8));
        mov(code, Operand::part(by, 1), Operand::zero());
        for (to, a, b, carry) in [(sum, base, product, carries[0]), (address, sum, by, carries[1])] {
            let carry = Operand::Predicate(carry, false);
            let read = vec![Operand::part(a, 0), Operand::part(b, 0), Operand::zero()];
            code.push(None, "IADD3", vec![Operand::part(to, 0), carry.clone()], read);
            let read =
                vec![Operand::part(a, 1), Operand::part(b, 1), Operand::zero(), carry, Operand::always(true)];
            code.push(None, "IADD3.X", vec![Operand::part(to, 1)], read);
        }
        let [value] = registers(code, 1);
        let at = Operand::Address { before: "desc[UR4]", reg: address, width: 2, beside: "", offset: 0 };
        code.push(None, "LDG.E", vec![Operand::low(value)], vec![at]);
        value
    }

    #[test]
    fn an_address_is_a_product_with_a_sum_and_an_offset() {
        let mut code = Code::default();
        let [base] = registers(&mut code, 2);
        let [index, at] = registers(&mut code, 1);
        let value = load(&mut code, base, index);
        store(&mut code, at, value);
        optimise(&mut code, false, &Tuning::default());
        assert_eq!(names(&code), ["IMAD.WIDE.U32", "LDG.E", "STS"]);
        let [product, load, _] = instructions(&code)[..] else { panic!("{code:?}") };
        assert_eq!(product.operands[3], Operand::wide(base, 2));
        assert!(matches!(load.operands[1], Operand::Address { offset: 8, .. }), "{load:?}");
    }

    /// A register that holds something of which nothing is known.
    fn loaded(code: &mut Code, width: u8) -> Reg {
        let [value] = registers(code, width);
        let name = if width == 2 { "LDS.64" } else { "LDS" };
        code.push(None, name, vec![Operand::wide(value, width)], vec![Operand::Text("[0x400]".into())]);
        value
    }

    /// The operands of the only instruction of a name, in a code that stores what it gives.
    fn only(code: &mut Code, value: Reg, name: &str) -> Vec<String> {
        store(code, value, value);
        optimise(code, false, &Tuning::default());
        let all = instructions(code);
        let found: Vec<_> = all.iter().filter(|one| one.name == *name).collect();
        let [one] = found[..] else { panic!("{name}: {code:?}") };
        let shown = |it: &Operand| match it {
            Operand::Text(text) => text.to_string(),
            Operand::Predicate(_, true) => "!P".into(),
            Operand::Predicate(_, false) => "P".into(),
            _ => "R".into(),
        };
        one.operands.iter().map(shown).collect()
    }

    #[test]
    fn constants_stand_where_an_instruction_takes_them() {
        let chosen = |code: &mut Code, constant: u32| {
            let flag = code.register(Class::Predicate, false);
            let [fixed, to] = registers(code, 1);
            let x = loaded(code, 1);
            let written = vec![Operand::Predicate(flag, false), Operand::always(false)];
            let read = vec![Operand::low(x), Operand::zero(), Operand::always(false)];
            code.push(None, "ISETP.LT.AND", written, read);
            mov(code, Operand::low(fixed), Operand::number(constant));
            let read = vec![Operand::low(fixed), Operand::low(x), Operand::Predicate(flag, false)];
            code.push(None, "SEL", vec![Operand::low(to)], read);
            to
        };
        let mut code = Code::default();
        let to = chosen(&mut code, 7);
        // It stands second, so that the opposite of the predicate chooses it.
        assert_eq!(only(&mut code, to, "SEL"), ["R", "R", "0x7", "!P"]);

        let mut code = Code::default();
        let [fixed, to] = registers(&mut code, 1);
        let [x, y] = [(); 2].map(|()| loaded(&mut code, 1));
        mov(&mut code, Operand::low(fixed), Operand::number(0xff));
        let read =
            [x, y, fixed].map(Operand::low).into_iter().chain([Operand::number(0xd8), Operand::always(true)]);
        code.push(None, "LOP3.LUT", vec![Operand::low(to)], read.collect());
        // What was where a is 1 that of b, else that of c, is so with b and c changed.
        assert_eq!(only(&mut code, to, "LOP3.LUT"), ["R", "R", "0xff", "R", "0xb8", "!PT"]);

        let mut code = Code::default();
        let [fixed, to] = registers(&mut code, 2);
        let x = loaded(&mut code, 2);
        mov(&mut code, Operand::part(fixed, 0), Operand::zero());
        mov(&mut code, Operand::part(fixed, 1), Operand::number(0x3ff0_0000));
        let read = [x, x, fixed].map(|it| Operand::wide(it, 2)).to_vec();
        code.push(None, "DFMA", vec![Operand::wide(to, 2)], read);
        assert_eq!(only(&mut code, to, "DFMA"), ["R", "R", "R", "0D3ff0000000000000"]);
    }

    #[test]
    fn the_less_of_a_sum_and_something_else_is_one_instruction() {
        let mut code = Code::default();
        let [sum, to] = registers(&mut code, 1);
        let [x, y] = [(); 2].map(|()| loaded(&mut code, 1));
        let read = vec![Operand::low(x), Operand::Text("-0x1".into()), Operand::zero()];
        code.push(None, "IADD3", vec![Operand::low(sum)], read);
        let read = vec![Operand::low(y), Operand::low(sum), Operand::always(false)];
        code.push(None, "VIMNMX", vec![Operand::low(to)], read);
        assert_eq!(only(&mut code, to, "VIADDMNMX"), ["R", "R", "0xffffffff", "R", "PT"]);
    }

    #[test]
    fn what_was_loaded_before_a_store_is_loaded_again() {
        let mut code = Code::default();
        let [base] = registers(&mut code, 2);
        let [index, at] = registers(&mut code, 1);
        let first = load(&mut code, base, index);
        store(&mut code, at, first);
        let second = load(&mut code, base, index);
        store(&mut code, at, second);
        optimise(&mut code, false, &Tuning::default());
        // One address; both loads before both stores, which are to another space.
        assert_eq!(names(&code), ["IMAD.WIDE.U32", "LDG.E", "LDG.E", "STS", "STS"]);
    }

    fn branch(code: &mut Code, guard: Option<(Reg, bool)>, to: crate::code::Label) {
        code.push(guard, "BRA", vec![], vec![Operand::Target(to)]);
    }

    #[test]
    fn a_loop_begins_where_it_is_entered() {
        let mut code = Code::default();
        let [at] = registers(&mut code, 1);
        let [body, entry, end] = [(); 3].map(|()| code.label());
        let again = code.register(Class::Predicate, false);
        branch(&mut code, None, entry);
        code.place(body);
        code.push(None, "STS", vec![], vec![Operand::address(at), Operand::zero()]);
        let written = vec![Operand::Predicate(again, false), Operand::always(false)];
        let read = vec![Operand::low(at), Operand::zero(), Operand::always(false)];
        code.push(None, "ISETP.NE.U32.AND", written, read);
        branch(&mut code, Some((again, true)), end);
        code.place(entry);
        code.push(None, "LDS", vec![Operand::low(at)], vec![Operand::address(at)]);
        branch(&mut code, None, body);
        code.place(end);
        code.push(None, "EXIT", vec![], vec![]);
        super::branches::lay_out(&mut code);
        // One block, and one branch back to its first line.
        assert_eq!(names(&code), ["LDS", "STS", "ISETP.NE.U32.AND", "BRA", "EXIT"]);
        assert_eq!(instructions(&code)[3].guard, Some((again, false)));
        assert_eq!(instructions(&code)[3].operands, [Operand::Target(entry)]);
    }

    /// A shuffle of the lanes of a mask.
    fn shuffle(code: &mut Code, mask: u32) {
        let [value, own, to] = registers(code, 1);
        let behind = code.label();
        code.push(None, "LDS", vec![Operand::low(value)], vec![Operand::Text("[0x400]".into())]);
        mov(code, Operand::low(own), Operand::number(mask));
        code.push(None, "WARPSYNC.COLLECTIVE", vec![], vec![Operand::low(own), Operand::Target(behind)]);
        let read = vec![Operand::low(value), Operand::number(1), Operand::number(0x1f)];
        code.push(None, "SHFL.BFLY", vec![Operand::always(false), Operand::low(to)], read);
        code.push(None, "ENDCOLLECTIVE", vec![], vec![]);
        code.place(behind);
        store(code, to, to);
        code.push(None, "EXIT", vec![], vec![]);
    }

    #[test]
    fn lanes_that_are_not_apart_need_not_meet() {
        for (mask, waits, meets) in [(u32::MAX, false, false), (u32::MAX, true, true), (0xffff, false, true)]
        {
            let mut code = Code::default();
            shuffle(&mut code, mask);
            optimise(&mut code, waits, &Tuning::default());
            assert_eq!(names(&code).contains(&"WARPSYNC.COLLECTIVE"), meets, "{mask:#x} {waits}");
            assert_eq!(names(&code).contains(&"ENDCOLLECTIVE"), meets);
        }
    }

    #[test]
    fn comparisons_are_made_again_where_predicates_are_few() {
        let mut code = Code::default();
        let [tid] = registers(&mut code, 1);
        code.push(None, "S2R", vec![Operand::low(tid)], vec![Operand::Text("SR_TID.X".into())]);
        let flags = [(); 9].map(|()| code.register(Class::Predicate, false));
        for (bound, flag) in (1..).zip(flags) {
            let written = vec![Operand::Predicate(flag, false), Operand::always(false)];
            let read = vec![Operand::low(tid), Operand::number(bound), Operand::always(false)];
            code.push(None, "ISETP.LT.U32.AND", written, read);
        }
        for flag in flags {
            let read = vec![Operand::address(tid), Operand::low(tid)];
            code.push(Some((flag, false)), "STS", vec![], read);
        }
        super::again::compare_again(&mut code);
        let compared = names(&code).iter().filter(|name| name.starts_with("ISETP")).count();
        assert_eq!(compared, 12);
        // Each store still asks for its own bound.
        let all = instructions(&code);
        for (bound, store) in (1..).zip(all.iter().filter(|one| one.name == "STS")) {
            let Some((flag, false)) = store.guard else { panic!("{store:?}") };
            let made = all.iter().find(|one| one.operands[0] == Operand::Predicate(flag, false));
            assert_eq!(made.map(|one| &one.operands[3]), Some(&Operand::number(bound)));
        }
    }
}
