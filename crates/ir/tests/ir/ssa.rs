//! The way back from SSA form to registers.

use ir::operand::Value;
use ir::{Cfg, Function, Liveness, Ssa};
use ptx::module::{FuncId, RegId};

/// What a register holds before each instruction, by the names of values.
fn held(ssa: &Ssa<'_>, name: &str) -> Vec<String> {
    let function = ssa.function;
    let registers = &function.body.registers;
    let register = registers.iter().position(|register| function.module.text(register.name) == name).unwrap();
    let value_at = |index| match ssa.value_at(RegId(register as u32), index) {
        Some(Value::Register(value)) => ssa.values[value.index()].version.to_string(),
        Some(other) => format!("{other:?}"),
        None => "-".to_owned(),
    };
    (0..function.instructions.len() as u32).map(value_at).collect()
}

#[test]
fn a_debugger_finds_the_value_of_a_register_at_every_instruction() {
    let module = crate::compile::module(
        ".func (.reg .u32 %r) f(.reg .u32 %n) { .reg .pred %p; .reg .u32 %i, %t;\n\
         mov.u32 %i, 0;\n\
         setp.eq.u32 %p, %n, 0;\n\
         @%p bra DONE;\n\
         LOOP: mov.u32 %t, %i;\n\
         add.u32 %i, %t, 1;\n\
         setp.lt.u32 %p, %i, %n;\n\
         @%p bra LOOP;\n\
         DONE: @%p add.u32 %i, %i, 5;\n\
         mov.u32 %r, %i;\n\
         ret; }",
    );
    let function = Function::lower(&module, FuncId(0)).unwrap();
    let cfg = Cfg::new(&function);
    let ssa = Ssa::new(&function, cfg.clone(), &Liveness::new(&function, &cfg)).unwrap();
    // Values are numbered block by block: parameters first, and those of all blocks before what instructions define.
    let i = held(&ssa, "%i");
    assert_eq!(i[0], "-", "nothing has been written");
    assert_eq!(i[1], i[2], "the zero");
    assert_ne!(i[3], i[2], "the loop's own");
    assert_eq!(i[3], i[4]);
    assert_ne!(i[5], i[4], "what the loop adds");
    assert_eq!(i[5], i[6]);
    assert!(i[7] != i[6] && i[7] != i[2], "where both ways meet");
    assert_ne!(i[8], i[7], "what the guarded instruction leaves");
    // `%t` is read in its block alone, from its definition on.
    assert_eq!(held(&ssa, "%t"), ["-", "-", "-", "-", "0", "0", "0", "-", "-", "-"]);
    assert_eq!(held(&ssa, "%n")[9], "0", "the caller's");
}
