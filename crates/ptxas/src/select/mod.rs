//! Typed instructions to machine instructions over virtual registers, a file a chapter of the manual. What the hardware has no
//! opcode for becomes several here.
//!
//! A PTX register of up to 32 bits is one register, whose bits above its type mean nothing; one of 64 bits is an aligned pair.
//! An instruction computes into temporaries without its guard, and the guard stands at what writes registers or memory.

mod abi;
mod async_copy;
mod atomic;
mod barrier;
mod cluster;
mod control;
mod convert;
mod divide;
mod early_mbarrier;
mod exact;
mod extended;
mod externs;
mod float;
mod half;
mod halfword;
mod integer;
mod matrix;
mod mbarrier;
mod meet;
mod memory;
mod multimem;
mod nearest;
mod nibbles;
mod object;
mod packed;
mod policy;
mod quad_pairs;
mod repeat;
mod routine;
mod small_floats;
mod special;
mod surface;
mod tensormap;
mod texture;
mod uniform;
mod video;
mod warp;
mod wmma;

use crate::Target;
use crate::bodies::Bodies;
use crate::code::{Class, Code, Label, Notes, Operand, Reg};
use crate::layout::Layout;
use crate::optimise::Waits;
use crate::unroll::{self, Unrolled};
pub(crate) use abi::{is_kept, on_stack};
use debug_info::Origin;
use debug_info::machine_code::variables::Call;
pub(crate) use externs::ON_STACK;
use ir::operand::{Def, Predicate, Value};
use ir::{Instruction, Op};
use meet::Convention;
use ptx::diagnostic::Diagnostic;
use ptx::isa::{Mnemonic, SpecialRegister};
use ptx::module::{FuncId, LabelId, Module, RegId, VarId};
use ptx::source::Span;
use ptx::types::{ScalarType, TypeKind};
use routine::Routines;
use rustc_hash::FxHashMap as HashMap;
use smol_str::SmolStr;
pub(crate) use special::function_number;
use std::rc::Rc;
pub(crate) use texture::is_fetched_by_function;

/// Why an instruction is not compiled.
type Refusal = String;

/// What selecting an instruction gives.
type Done = Result<(), Refusal>;

/// Most machine instructions of a kernel, inlined functions included.
const MOST_LINES: usize = 1 << 18;
/// Behind so many nothing is inlined any more.
const MOST_INLINED: usize = 1 << 16;
/// Most functions that are inlined into one another.
const DEPTH: usize = 32;

/// A kernel being selected.
pub(crate) struct Select<'a> {
    module: &'a Module,
    bodies: &'a Bodies<'a>,
    layout: &'a Layout,
    code: Code,
    /// Bytes of local memory that have been given out.
    frame: u64,
    /// Where the module's own variables are in it.
    locals: HashMap<VarId, u64>,
    refused: Vec<Diagnostic>,
    /// PTX's predicates live in general registers, as there are more than seven.
    spread: bool,
    /// The loops in which others get their turn.
    waits: &'a Waits,
    /// Loops may be unrolled; whether some were.
    rounds: u32,
    has_unrolled: bool,
    guard: Option<(Reg, bool)>,
    /// The functions that are called for real.
    routines: Routines,
    /// Bytes in which each of them takes and gives values.
    handed_over: u64,
    /// Where the frame of a function for other modules has the address to return to.
    back: u64,
    /// Instructions of the module make room on the stack, of which this register then has the end.
    moves_stack: bool,
    top: Option<Reg>,
    /// The registers of each kind of instruction for which lanes meet.
    conventions: HashMap<String, Convention>,
    /// The instruction is spelled `barrier`: without `.aligned`, lanes of a warp need not reach it together, unlike a `bar`.
    apart: bool,
    at: Function<'a>,
    inlined: Vec<FuncId>,
}

/// The function whose instructions are selected.
struct Function<'a> {
    function: Rc<ir::Function<'a>>,
    registers: HashMap<RegId, Reg>,
    labels: HashMap<LabelId, Label>,
    /// Where local variables and parameters of functions are in the frame.
    locals: HashMap<VarId, u64>,
    /// Where `ret` leads; out of the kernel if it is none.
    end: Option<Label>,
    /// The carry of `add.cc` and its kind.
    carry: Option<Reg>,
    /// Loops that are unrolled, by their first instruction.
    unrolled: HashMap<u32, Rc<Unrolled>>,
    /// The instruction that is being selected.
    index: u32,
    /// Which values lanes have alike, once somebody has asked.
    shapes: Option<Rc<ir::Shapes>>,
    /// The number of its call, where such are noted.
    call: u32,
}

impl<'a> Function<'a> {
    fn new(function: Rc<ir::Function<'a>>, locals: HashMap<VarId, u64>, end: Option<Label>) -> Self {
        Self {
            function,
            registers: HashMap::default(),
            labels: HashMap::default(),
            locals,
            end,
            carry: None,
            unrolled: HashMap::default(),
            index: 0,
            shapes: None,
            call: 0,
        }
    }
}

/// A kernel's code, and how much local memory it takes.
pub(crate) struct Selected {
    pub(crate) code: Code,
    /// Bytes of the kernel's frame and of that of each routine.
    pub(crate) frames: Vec<u64>,
    /// Bytes above the frames of routines, in which they take and give values.
    pub(crate) handed_over: u64,
    /// More is taken from the stack as the kernel runs.
    pub(crate) is_open: bool,
    /// Loops were unrolled.
    pub(crate) has_unrolled: bool,
}

/// What may be done otherwise.
#[derive(Clone, Copy)]
pub(crate) struct Choices<'a> {
    /// PTX's predicates live in general registers.
    pub(crate) spread: bool,
    /// Rounds of a loop that come one behind the other, at most.
    pub(crate) rounds: u32,
    /// The loops in which others get their turn.
    pub(crate) waits: &'a Waits,
    /// It is noted where what PTX has is put.
    pub(crate) notes: bool,
}

/// Selects a kernel.
pub(crate) fn select<'a>(
    bodies: &'a Bodies<'a>,
    layout: &'a Layout,
    id: FuncId,
    Choices { spread, rounds, waits, notes }: Choices<'a>,
) -> Result<Selected, Vec<Diagnostic>> {
    let Some(function) = bodies.of(id) else {
        return Err(vec![]);
    };
    let at = Function::new(function, HashMap::default(), None);
    let (mut code, refused) = (Code::new(layout.target), Vec::new());
    code.notes = notes.then(Notes::default);
    let mut select = Select {
        module: bodies.module,
        bodies,
        layout,
        code,
        frame: bodies.handed_on_stack,
        locals: HashMap::default(),
        refused,
        spread,
        rounds,
        waits,
        has_unrolled: false,
        guard: None,
        routines: Routines::default(),
        handed_over: 0,
        back: 0,
        moves_stack: bodies.moves_stack,
        top: None,
        conventions: HashMap::default(),
        apart: false,
        at,
        inlined: vec![id],
    };
    select.begin_call(id, None);
    if select.is_linked() {
        let done = select.begin_linked(id).and_then(|()| {
            select.body();
            select.end_linked(id)
        });
        if let Err(why) = done {
            let function = &bodies.module.functions[id.index()];
            let text =
                format!("the function `{}`, for other modules, is not compiled to SASS yet", function.name);
            return Err(vec![Diagnostic::error(crate::codes::DECLARATION, function.span, text).label(why)]);
        }
    } else {
        select.prologue();
        select.body();
    }
    select.code.end_function();
    let frames = select.routines();
    if !select.refused.is_empty() {
        return Err(select.refused);
    }
    let is_open = select.top.is_some() || select.code.has_routines();
    let has_unrolled = select.has_unrolled;
    Ok(Selected { code: select.code, frames, handed_over: select.handed_over, is_open, has_unrolled })
}

/// Instructions of a kernel that are refused, as the device has nothing for them.
pub(crate) fn refusals(
    module: &Module,
    kernel: FuncId,
    missing: Vec<(Option<Origin>, String)>,
) -> Vec<Diagnostic> {
    let name = &module.functions[kernel.index()].name;
    let of = |(origin, why): (Option<Origin>, String)| {
        let place = origin.and_then(|it| Some((module.functions[it.function.index()].body.as_ref()?, it)));
        let (span, opcode) = match place {
            Some((body, origin)) => {
                let instruction = &body.instructions[origin.instruction as usize];
                (instruction.span, module.opcode(instruction).text().to_string())
            }
            None => (module.functions[kernel.index()].span, name.clone()),
        };
        refusal(span, &opcode, why, name)
    };
    let mut all: Vec<Diagnostic> = missing.into_iter().map(of).collect();
    all.dedup();
    all
}

fn refusal(span: Span, opcode: &str, why: Refusal, kernel: &str) -> Diagnostic {
    Diagnostic::error(crate::codes::INSTRUCTION, span, format!("`{opcode}` is not compiled to SASS yet"))
        .label(why)
        .hint(format!("in kernel `{kernel}`"))
}

impl<'a> Select<'a> {
    /// The device that code is made for.
    fn target(&self) -> Target {
        self.layout.target
    }

    fn prologue(&mut self) {
        let text = |text: &str| Operand::Text(text.into());
        self.code.push(None, "LDC", vec![text("R1")], vec![Operand::bank0(self.target().stack)]);
        // The frame's size is known at the end.
        self.code.push(
            None,
            "IADD3",
            vec![text("R1")],
            vec![text("R1"), text(crate::emit::FRAME), text("RZ")],
        );
        self.descriptor();
        self.begin_stack();
    }

    /// The descriptor of global memory.
    fn descriptor(&mut self) {
        let to = Operand::Text("UR4".into());
        self.code.push(None, "ULDC.64", vec![to], vec![Operand::bank0(self.target().descriptor)]);
    }

    /// The instructions of the current function.
    fn body(&mut self) {
        let function = Rc::clone(&self.at.function);
        let mut labels: HashMap<u32, Vec<LabelId>> = HashMap::default();
        for (index, label) in function.body.labels.iter().enumerate() {
            labels.entry(label.target).or_default().push(LabelId(index as u32));
        }
        if self.rounds > 1 {
            self.at.unrolled =
                unroll::plan(&function, self.rounds).into_iter().map(|(at, it)| (at, Rc::new(it))).collect();
            self.has_unrolled |= !self.at.unrolled.is_empty();
        }
        let count = function.instructions.len() as u32;
        // Of a function that is inlined, its call's is what stands around it.
        let around = self.code.is_for(None);
        let mut index = 0;
        loop {
            for &label in labels.get(&index).into_iter().flatten() {
                let label = self.label(label);
                self.code.place(label);
            }
            if index == count {
                break;
            }
            if self.code.lines.len() > MOST_LINES {
                let span = function.body.instructions[index as usize].span;
                let text = format!("more than {MOST_LINES} instructions, inlined functions included");
                self.refused.push(Diagnostic::error(crate::codes::RESOURCES, span, text));
                break;
            }
            match self.at.unrolled.get(&index).map(Rc::clone) {
                Some(unrolled) => {
                    self.repeat(&unrolled);
                    index = unrolled.end;
                }
                None => {
                    self.instruction_at(index);
                    index += 1;
                }
            }
        }
        self.leave(None);
        self.code.is_for(around);
        if let Some(notes) = &mut self.code.notes {
            let call = self.at.call;
            notes.registers.extend(self.at.registers.iter().map(|(&id, &reg)| (call, id, reg)));
            notes.locals.extend(self.at.locals.iter().map(|(&id, &at)| (call, id, at)));
        }
    }

    /// A function begins: the kernel, one that is inlined at an instruction of another call, or one that is called for real.
    fn begin_call(&mut self, function: FuncId, site: Option<(u32, u32)>) {
        if let Some(notes) = &mut self.code.notes {
            self.at.call = notes.calls.len() as u32;
            notes.calls.push(Call { function, site });
        }
    }

    /// An instruction of the current function.
    fn origin(&self, instruction: u32) -> Origin {
        Origin { function: self.at.function.id, instruction, call: self.at.call }
    }

    /// An instruction of the current function.
    fn instruction_at(&mut self, index: u32) {
        let function = Rc::clone(&self.at.function);
        self.code.is_for(Some(self.origin(index)));
        self.at.index = index;
        let opcode = self.module.opcode(&function.body.instructions[index as usize]);
        self.apart = opcode.data().mnemonic == Mnemonic::Barrier;
        let selected = match &function.instructions[index as usize] {
            Ok(instruction) => self.instruction(instruction),
            Err(why) => Err(why.clone()),
        };
        if let Err(why) = selected {
            self.refuse(index, why);
        }
    }

    fn refuse(&mut self, index: u32, why: Refusal) {
        let function = &self.at.function;
        let instruction = &function.body.instructions[index as usize];
        let (opcode, target) = (self.module.opcode(instruction), self.target());
        // What the device does not have is no shortcoming of this compiler.
        let why =
            if opcode.data().gate.permits_target(target.ptx()) { why } else { format!("{target} has none") };
        let opcode = opcode.text();
        let name = &self.module.functions[self.inlined[0].index()].name;
        self.refused.push(refusal(instruction.span, &opcode, why, name));
    }

    fn instruction(&mut self, instruction: &Instruction) -> Done {
        self.guard = None;
        if let Some(guard) = instruction.guard {
            let (reg, not) = self
                .predicate(&Predicate { value: Value::Register(guard.register), negated: guard.negated })?;
            let mut written = false;
            instruction.op.fields(&mut |_, field| {
                field.registers(&mut |register, role| {
                    written |= register == guard.register && role != ptx::isa::Role::Read;
                });
            });
            // Its own result must not change the guard of the rest.
            let reg = if written { self.copy_predicate(reg) } else { reg };
            self.guard = Some((reg, not));
        }
        self.operation(&instruction.op)
    }

    fn operation(&mut self, op: &Op) -> Done {
        for chapter in [
            Self::integer,
            Self::rare_integers,
            Self::packed_integers,
            Self::logic,
            Self::videos,
            Self::floats,
            Self::halves,
            Self::conversions,
            Self::moves,
            Self::policies,
            Self::memory_access,
            Self::atomics,
            Self::multimem,
            Self::control,
            Self::stack,
            Self::warps,
            Self::barriers,
            Self::clusters,
            Self::mbarriers,
            Self::asynchronous_copies,
            Self::tensor_maps,
            Self::textures,
            Self::surfaces,
            Self::objects,
            Self::matrices,
            Self::wmma,
        ] {
            if let Some(done) = chapter(self, op) {
                return done;
            }
        }
        Err("this instruction is not among those that are compiled".to_owned())
    }

    // Registers.

    fn temporary(&mut self, width: u8) -> Reg {
        self.code.register(Class::General(width), true)
    }

    fn flag(&mut self) -> Reg {
        self.code.register(Class::Predicate, true)
    }

    fn type_of(&self, id: RegId) -> ScalarType {
        self.at.function.body.registers[id.index()].ty
    }

    /// The register that a PTX register is.
    fn home(&mut self, id: RegId) -> Reg {
        let class = match self.type_of(id) {
            ScalarType::Pred if !self.spread => Class::Predicate,
            ScalarType::Pred => Class::General(1),
            ty => Class::General((ty.bits() / 32).max(1) as u8),
        };
        let code = &mut self.code;
        *self.at.registers.entry(id).or_insert_with(|| code.register(class, false))
    }

    fn label(&mut self, id: LabelId) -> Label {
        let code = &mut self.code;
        *self.at.labels.entry(id).or_insert_with(|| code.label())
    }

    // Writing instructions.

    /// An instruction with one result of 32 bits.
    fn one(&mut self, name: impl Into<SmolStr>, read: Vec<Operand>) -> Reg {
        let to = self.temporary(1);
        self.code.push(None, name, vec![Operand::low(to)], read);
        to
    }

    /// An instruction with one result of 64 bits.
    fn pair(&mut self, name: impl Into<SmolStr>, read: Vec<Operand>) -> Reg {
        let to = self.temporary(2);
        self.code.push(None, name, vec![Operand::wide(to, 2)], read);
        to
    }

    /// Two registers as one of 64 bits.
    fn join(&mut self, low: Operand, high: Operand) -> Reg {
        let to = self.temporary(2);
        self.code.push(None, "MOV", vec![Operand::part(to, 0)], vec![low]);
        self.code.push(None, "MOV", vec![Operand::part(to, 1)], vec![high]);
        to
    }

    /// What has an effect, under the guard.
    fn effect(&mut self, name: impl Into<SmolStr>, written: Vec<Operand>, read: Vec<Operand>) {
        self.code.push(self.guard, name, written, read);
    }

    fn constant(&mut self, bits: u32) -> Operand {
        match bits {
            0 => Operand::zero(),
            _ => Operand::low(self.one("MOV", vec![Operand::number(bits)])),
        }
    }

    fn constant64(&mut self, bits: u64) -> Reg {
        self.join(Operand::number(bits as u32), Operand::number((bits >> 32) as u32))
    }

    /// Writes a result.
    fn set(&mut self, def: Def, from: Reg) {
        let Some(id) = def.0 else { return };
        let to = self.home(id);
        if self.code.retarget(from, to, self.guard) {
            return;
        }
        let (have, need) = (
            self.code.registers[from.0 as usize].class.width(),
            self.code.registers[to.0 as usize].class.width(),
        );
        for part in 0..need {
            let value = if part < have { Operand::part(from, part) } else { Operand::zero() };
            self.code.push(self.guard, "MOV", vec![Operand::part(to, part)], vec![value]);
        }
    }

    /// Writes a result of a type to a register that may be wider, extended as the type says.
    fn set_extended(&mut self, def: Def, from: Reg, ty: ScalarType) {
        let Some(id) = def.0 else { return };
        let bits = self.type_of(id).bits();
        if bits <= ty.bits() {
            return self.set(def, from);
        }
        let low = if ty.bits() < 32 { self.extend(Operand::low(from), ty) } else { from };
        if bits < 64 {
            return self.set(def, low);
        }
        let known = (ty.bits() / 32).max(1) as u8;
        let above = match ty.kind() {
            TypeKind::Signed => {
                let read = vec![Operand::zero(), Operand::number(31), Operand::part(low, known - 1)];
                Operand::low(self.one("SHF.R.S32.HI", read))
            }
            _ => Operand::zero(),
        };
        let wide = self.temporary((bits / 32) as u8);
        for part in 0..(bits / 32) as u8 {
            let word = if part < known { Operand::part(low, part) } else { above.clone() };
            self.code.push(None, "MOV", vec![Operand::part(wide, part)], vec![word]);
        }
        self.set(def, wide);
    }

    /// Writes a predicate.
    fn set_flag(&mut self, def: Def, from: Reg) {
        let Some(id) = def.0 else { return };
        let to = self.home(id);
        if self.spread {
            let read = vec![Operand::zero(), Operand::number(1), Operand::Predicate(from, true)];
            self.code.push(self.guard, "SEL", vec![Operand::low(to)], read);
        } else if !self.code.retarget(from, to, self.guard) {
            self.plop(self.guard, to, Operand::Predicate(from, false), Operand::always(false), 0xf0);
        }
    }

    /// `to` by a table of two predicates: `a` is 0xf0, `b` is 0xcc.
    fn plop(&mut self, guard: Option<(Reg, bool)>, to: Reg, a: Operand, b: Operand, table: u32) {
        let read = vec![a, b, Operand::always(false), Operand::number(table), Operand::number(0)];
        self.code.push(guard, "PLOP3.LUT", vec![Operand::Predicate(to, false), Operand::always(false)], read);
    }

    fn copy_predicate(&mut self, from: Reg) -> Reg {
        let to = self.flag();
        self.plop(None, to, Operand::Predicate(from, false), Operand::always(false), 0xf0);
        to
    }

    // Reading operands.

    /// A value of up to 32 bits; the bits above its type mean nothing.
    fn word(&mut self, value: &Value) -> Result<Operand, Refusal> {
        Ok(match *value {
            Value::Register(id) if self.type_of(id) == ScalarType::Pred => {
                return Err("a predicate as a number".to_owned());
            }
            Value::Register(id) => Operand::low(self.home(id)),
            Value::Constant(bits) => self.constant(bits as u32),
            Value::Special { register, component } => Operand::low(self.special(register, component)?),
            Value::Symbol { symbol, offset } => Operand::low(self.symbol(symbol, offset)?),
            Value::Unused => Operand::zero(),
        })
    }

    /// A value of 64 bits.
    fn double(&mut self, value: &Value) -> Result<Reg, Refusal> {
        Ok(match *value {
            Value::Register(id) => match self.type_of(id).bits() {
                64.. => self.home(id),
                _ => {
                    let low = Operand::low(self.home(id));
                    self.join(low, Operand::zero())
                }
            },
            Value::Constant(bits) => self.constant64(bits),
            Value::Special { register, component } => {
                let reg = self.special(register, component)?;
                match self.code.registers[reg.0 as usize].class {
                    Class::General(2) => reg,
                    _ => self.join(Operand::low(reg), Operand::zero()),
                }
            }
            Value::Symbol { symbol, offset } => self.symbol(symbol, offset)?,
            Value::Unused => self.constant64(0),
        })
    }

    /// A value of up to 32 bits, extended to 32 as its type says.
    fn extended(&mut self, value: &Value, ty: ScalarType) -> Result<Operand, Refusal> {
        let word = self.word(value)?;
        Ok(match ty.bits() {
            32.. => word,
            _ => Operand::low(self.extend(word, ty)),
        })
    }

    fn extend(&mut self, word: Operand, ty: ScalarType) -> Reg {
        match (ty.kind(), ty.bits()) {
            (TypeKind::Signed, 8) => self.one("PRMT", vec![word, Operand::number(0x8880), Operand::zero()]),
            (TypeKind::Signed, _) => self.one("PRMT", vec![word, Operand::number(0x9910), Operand::zero()]),
            (_, bits) => {
                let mask = (1 << bits) - 1;
                self.lop(word, Operand::number(mask), 0xc0)
            }
        }
    }

    /// `LOP3` of two operands: and 0xc0, or 0xfc, xor 0x3c, not 0x0f.
    fn lop(&mut self, a: Operand, b: Operand, table: u32) -> Reg {
        self.one("LOP3.LUT", vec![a, b, Operand::zero(), Operand::number(table), Operand::always(true)])
    }

    /// A predicate that is read, and whether the opposite counts.
    fn predicate(&mut self, predicate: &Predicate) -> Result<(Reg, bool), Refusal> {
        match predicate.value {
            Value::Register(id) => {
                let home = self.home(id);
                Ok((self.flag_at(home), predicate.negated))
            }
            Value::Constant(bits) => {
                let flag = self.flag();
                self.plop(None, flag, Operand::always(bits == 0), Operand::always(false), 0xf0);
                Ok((flag, predicate.negated))
            }
            Value::Special { register: SpecialRegister::IsExplicitCluster, .. } => {
                let at = self.clusters_of_device()?.kind;
                let kind = self.one("LDC", vec![Operand::bank0(at)]);
                let one = self.constant(1);
                let flag = self.compare("ISETP.EQ.U32.AND", Operand::low(kind), one);
                Ok((flag, predicate.negated))
            }
            Value::Special { .. } | Value::Symbol { .. } | Value::Unused => Err("this predicate".to_owned()),
        }
    }

    /// The predicate that lives in a register of PTX's.
    fn flag_at(&mut self, home: Reg) -> Reg {
        match self.spread {
            true => self.compare("ISETP.NE.U32.AND", Operand::low(home), Operand::zero()),
            false => home,
        }
    }

    /// A predicate of its own with a value.
    fn copied_flag(&mut self, value: Value) -> Result<Reg, Refusal> {
        let (flag, not) = self.predicate(&Predicate { value, negated: false })?;
        let to = self.flag();
        self.plop(None, to, Operand::Predicate(flag, not), Operand::always(false), 0xf0);
        Ok(to)
    }

    /// A predicate as a word, 1 or 0.
    fn word_of_flag(&mut self, flag: Reg) -> Operand {
        let read = vec![Operand::zero(), Operand::number(1), Operand::Predicate(flag, true)];
        Operand::low(self.one("SEL", read))
    }

    /// Writes a register from words, of which a predicate asks whether they are zero.
    fn set_from_words(&mut self, id: RegId, words: Reg) {
        match self.type_of(id) {
            ScalarType::Pred => {
                let flag = self.compare("ISETP.NE.U32.AND", Operand::low(words), Operand::zero());
                self.set_flag(Def(Some(id)), flag);
            }
            _ => self.set(Def(Some(id)), words),
        }
    }

    fn predicate_operand(&mut self, predicate: Option<&Predicate>) -> Result<Operand, Refusal> {
        Ok(match predicate {
            Some(predicate) => {
                let (reg, not) = self.predicate(predicate)?;
                Operand::Predicate(reg, not)
            }
            None => Operand::always(false),
        })
    }

    /// A comparison with one result.
    fn compare(&mut self, name: &str, a: Operand, b: Operand) -> Reg {
        let to = self.flag();
        let written = vec![Operand::Predicate(to, false), Operand::always(false)];
        self.code.push(None, name, written, vec![a, b, Operand::always(false)]);
        to
    }

    /// `a` where the predicate holds, else `b`.
    fn select_word(&mut self, a: Operand, b: Operand, flag: Reg, not: bool) -> Reg {
        self.one("SEL", vec![a, b, Operand::Predicate(flag, not)])
    }

    /// `a`, and where the predicate does not hold a function of it, and of something else or itself once more.
    fn unless(&mut self, flag: Reg, name: &str, a: Operand, other: Option<Operand>) -> Reg {
        let to = self.code.register(Class::General(1), false);
        self.code.push(None, "MOV", vec![Operand::low(to)], vec![a]);
        let read = vec![Operand::low(to), other.unwrap_or(Operand::low(to))];
        self.code.push(Some((flag, true)), name, vec![Operand::low(to)], read);
        to
    }

    fn select_double(&mut self, a: Reg, b: Reg, flag: Reg, not: bool) -> Reg {
        let to = self.temporary(2);
        for part in 0..2 {
            let read = vec![Operand::part(a, part), Operand::part(b, part), Operand::Predicate(flag, not)];
            self.code.push(None, "SEL", vec![Operand::part(to, part)], read);
        }
        to
    }

    /// A branch inside of what one instruction becomes.
    fn branch(&mut self, guard: Option<(Reg, bool)>, to: Label) {
        self.code.push(guard, "BRA", vec![], vec![Operand::Target(to)]);
    }
}
