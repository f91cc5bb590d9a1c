//! Typed instructions of every form in the instruction table.

use ir::{Access, Function, Notation};
use ptx::isa::{self, FormId, Role};
use ptx::module::{AddressBase, Body, FuncId, Instruction, Module, Operand, RegId};

/// The registers of an instruction as the roles of its operands have it, straight from the table.
fn by_roles(module: &Module, body: &Body, instruction: &Instruction) -> Vec<(RegId, Access)> {
    fn walk(body: &Body, operand: &Operand, role: Role, found: &mut Vec<(RegId, Role)>) {
        match operand {
            Operand::Register(register) | Operand::Part { register, .. } => found.push((*register, role)),
            Operand::NotPredicate(register)
            | Operand::Address { base: AddressBase::Register(register), .. } => {
                found.push((*register, Role::Read));
            }
            Operand::Vector(list) => {
                body.elements(list).iter().for_each(|element| walk(body, element, role, found));
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    let specs = module.opcode(instruction).data().operands;
    for (operand, spec) in body.operands(instruction).iter().zip(specs) {
        walk(body, operand, spec.role, &mut found);
    }
    let access = |role| match role {
        Role::Read => Access::Read,
        Role::Write => Access::Write,
        Role::ReadWrite => Access::ReadWrite,
    };
    let mut all: Vec<_> = found.into_iter().map(|(register, role)| (register, access(role))).collect();
    all.sort_by_key(|(register, access)| (*access != Access::Read, *register));
    all
}

#[test]
fn every_executed_form_has_a_typed_instruction_that_can_be_printed_and_read() {
    let (mut count, mut unsound) = (0, Vec::new());
    for form in FormId::all().filter(|form| form.data().sem.is_some()) {
        for opcode in isa::sample_opcodes(form) {
            // Modules have 64-bit addresses.
            if opcode.mnemonic() == isa::Mnemonic::Cvta && opcode.has(isa::Modifier::U32) {
                continue;
            }
            for full in [false, true] {
                let Some(text) = isa::instance(&opcode, full) else { continue };
                let module = crate::compile::compile("instance.ptx", &text);
                for id in (0..module.functions.len() as u32).map(FuncId) {
                    let Some(function) = Function::lower(&module, id) else { continue };
                    unsound.extend(function.verify());
                    let notation = Notation::new(&function);
                    for (index, typed) in (0..).zip(&function.instructions) {
                        let typed = typed.as_ref().unwrap_or_else(|reject| panic!("{reject}\n{text}"));
                        let mut found = Vec::new();
                        typed.registers(&mut |register, access| found.push((register, access)));
                        found.sort_by_key(|(register, access)| (*access != Access::Read, *register));
                        let written = &function.body.instructions[index];
                        assert_eq!(found, by_roles(&module, function.body, written), "{function}\n{text}");
                        let line = notation.line(typed);
                        assert_eq!(notation.parse(&line).as_ref(), Ok(typed), "{line}\n{text}");
                        count += 1;
                    }
                }
            }
        }
    }
    assert!(count > 5000, "too few instructions: {count}");
    let lines: Vec<String> = unsound.iter().map(ToString::to_string).collect();
    assert!(lines.is_empty(), "{}", lines.join("\n"));
}

#[test]
fn reads_come_before_writes_and_a_guard_keeps_the_old_value() {
    let module = crate::compile::module(
        ".func f() { .reg .pred %p; .reg .u32 %a, %b;\n@%p add.u32 %a, %a, %b;\nmov.u32 %b, %a; ret; }",
    );
    let function = Function::lower(&module, FuncId(0)).unwrap();
    let accesses = |index| {
        let mut found = Vec::new();
        function.registers(index, &mut |register, access| {
            let name = function.body.registers[register.index()].name;
            found.push((module.text(name), access));
        });
        found
    };
    let (read, both, write) = (Access::Read, Access::ReadWrite, Access::Write);
    assert_eq!(accesses(0), [("%p", read), ("%a", read), ("%b", read), ("%a", both)]);
    assert_eq!(accesses(1), [("%a", read), ("%b", write)]);
}

#[test]
fn lines_that_are_no_instruction() {
    let module = crate::compile::module(".func f() { .reg .u32 %a, %b; ret; }");
    let function = Function::lower(&module, FuncId(0)).unwrap();
    let notation = Notation::new(&function);
    for (line, why) in [
        ("", "an instruction is missing"),
        ("@%p ret", "there is no register `%p`"),
        ("jump", "`jump` is not an instruction"),
        ("add_int type=u32 d=%a a=%a", "no `b`"),
        ("add_int type=u32 d=%a a=%a b=%b fast", "`fast` is no field of `add_int`"),
        ("add_int type=u32 d=%a a=%c b=%b", "a: there is no register `%c`"),
        ("add_int type=wide d=%a a=%a b=%b", ".wide as `type`"),
        ("ld sem=weak type=u32 d={%a} a=[%b]", "a: `[%b]` is not an address"),
        ("bra target=block9", "target: no label stands before `block9`"),
    ] {
        assert_eq!(notation.parse(line), Err(why.to_owned()), "{line}");
    }
}
