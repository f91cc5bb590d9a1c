//! A thread's entry as code of a test.

use super::{Addresses, Test};
use crate::event::{Bytes, Order, Part, Placement, Proxy, Scope};
use crate::program::{Access, Arithmetic, Comparison, Instruction, Location, Operand, Register, Update};
use crate::text::{self, Problem};
use ir::instruction::{AtomOp, MulIntMode, ProxyKind, SetIntCmp};
use ir::operand::{Address, Def, Value};
use ir::{Function, Op};
use ptx::isa::{self, Flow};
use ptx::module::{AddressBase, RegId, Symbol, VarId};
use rustc_hash::FxHashMap;

pub(super) struct Lowering<'t, 'a> {
    pub(super) test: &'t mut Test<'a>,
    pub(super) function: Function<'a>,
    pub(super) placement: Placement,
    pub(super) parameters: FxHashMap<VarId, VarId>,
    pub(super) addresses: Addresses,
    /// Registers that are written once, and with a constant.
    pub(super) constants: FxHashMap<RegId, i64>,
    /// How many instructions write each register.
    pub(super) writers: Vec<u32>,
    pub(super) code: Vec<(Instruction, String)>,
    /// Where the code of each instruction of the module begins.
    pub(super) places: Vec<usize>,
    /// How often each barrier has been used.
    pub(super) barriers: FxHashMap<i64, u32>,
}

type Code = (Vec<Instruction>, Vec<String>);

/// The order and scope of an access.
pub(crate) type Ordering = (Order, Option<Scope>);

impl Lowering<'_, '_> {
    pub(super) fn run(&mut self) -> Result<Code, Problem> {
        let body = self.function.body;
        let typed = std::mem::take(&mut self.function.instructions);
        for (written, typed) in body.instructions.iter().zip(&typed) {
            self.places.push(self.code.len());
            let span = written.span;
            let source = self.test.source;
            let fail = |message: String| text::problem(source, span.start as usize, message);
            let text = source.get(span.start as usize..span.end as usize).unwrap_or_default();
            let text = text.trim_end_matches(';').split_whitespace().collect::<Vec<_>>().join(" ");
            let typed = typed.as_ref().map_err(|reject| fail(reject.clone()))?;
            if let Op::Bra(bra) = &typed.op {
                // A label for now; places are known at the end.
                let target = bra.target.index();
                let jump = match typed.guard {
                    None => Instruction::Jump(target),
                    Some(guard) => Instruction::Branch {
                        comparison: if guard.negated { Comparison::Eq } else { Comparison::Ne },
                        a: Operand::Register(guard.register.index()),
                        b: Operand::Constant(0),
                        target,
                    },
                };
                self.code.push((jump, text));
                continue;
            }
            let skip = self.code.len();
            if let Some(guard) = typed.guard {
                let comparison = if guard.negated { Comparison::Ne } else { Comparison::Eq };
                let a = Operand::Register(guard.register.index());
                let b = Operand::Constant(0);
                self.code.push((Instruction::Branch { comparison, a, b, target: usize::MAX }, text.clone()));
            }
            match typed.op.effects().flow {
                Flow::Return | Flow::Exit => self.code.push((Instruction::Jump(usize::MAX - 1), text)),
                Flow::Next | Flow::Branch | Flow::Switch | Flow::Call | Flow::Trap => {
                    let made = self.instruction(&typed.op).map_err(fail)?.ok_or_else(|| {
                        let opcode = self.test.module.opcode(written).text();
                        let entry = &self.function.declaration.name;
                        fail(format!("`{opcode}` is not understood in litmus tests (entry `{entry}`)"))
                    })?;
                    self.code.extend(made.into_iter().map(|made| (made, text.clone())));
                    if typed.guard.is_none() {
                        self.fold(&typed.op);
                    }
                }
            }
            if typed.guard.is_some() {
                let behind = self.code.len();
                if let Instruction::Branch { target, .. } = &mut self.code[skip].0 {
                    // Marked, as labels are small numbers.
                    *target = BEHIND + behind;
                }
            }
        }
        let end = self.code.len();
        let place = |target: usize| match target {
            usize::MAX => end,
            _ if target == usize::MAX - 1 => end,
            _ if target >= BEHIND => target - BEHIND,
            label => {
                let at = body.labels.get(label).map_or(u32::MAX, |label| label.target) as usize;
                self.places.get(at).copied().unwrap_or(end)
            }
        };
        for (instruction, _) in &mut self.code {
            if let Instruction::Branch { target, .. } | Instruction::Jump(target) = instruction {
                *target = place(*target);
            }
        }
        Ok(std::mem::take(&mut self.code).into_iter().unzip())
    }

    /// What an instruction is in a test; `None` if it is not understood.
    fn instruction(&mut self, op: &Op) -> Result<Option<Vec<Instruction>>, String> {
        let one = |made: Instruction| Ok(Some(vec![made]));
        match op {
            Op::Ld(ld) => match (ld.a.base, ld.a.offset) {
                (AddressBase::Variable(parameter), 0) if self.parameters.contains_key(&parameter) => {
                    let [to] = ld.d[..] else { return Err("an address needs a register".into()) };
                    self.hold(to, self.parameters[&parameter], 0)
                }
                _ => {
                    let access = self.access(&ld.a, ld.ty.bytes(), ordering(ld.order, ld.scope))?;
                    one(Instruction::Load { destinations: self.registers(&ld.d)?, access })
                }
            },
            Op::St(st) => {
                let access = self.access(&st.a, st.ty.bytes(), ordering(st.order, st.scope))?;
                one(Instruction::Store { values: self.values(&st.b)?, access })
            }
            Op::Suld(suld) => self.load_surface(suld).map(Some),
            Op::Sust(sust) => self.store_surface(sust).map(Some),
            Op::Tex(tex) => self.fetch(tex).map(Some),
            Op::Atom(atom) => {
                let update = Update::Combine(combination(atom.op)?, self.value(&atom.b)?);
                let access = self.access(&atom.a, atom.ty.bytes(), ordering(atom.order, Some(atom.scope)))?;
                one(Instruction::Atomic { destination: self.destination(atom.d)?, update, access })
            }
            Op::AtomCas(cas) => {
                let update =
                    Update::CompareAndSwap { expected: self.value(&cas.b)?, new: self.value(&cas.c)? };
                let access = self.access(&cas.a, cas.ty.bytes(), ordering(cas.order, Some(cas.scope)))?;
                one(Instruction::Atomic { destination: self.destination(cas.d)?, update, access })
            }
            Op::Red(red) => {
                let update = Update::Combine(combination(red.op.into())?, self.value(&red.b)?);
                let access = self.access(&red.a, red.ty.bytes(), ordering(red.order, Some(red.scope)))?;
                one(Instruction::Atomic { destination: None, update, access })
            }
            Op::Fence(fence) => one(Instruction::Fence { order: fence.order.into(), scope: fence.scope }),
            Op::Membar(membar) => one(Instruction::Fence { order: Order::Sc, scope: membar.scope }),
            Op::FenceProxy(fence) => match fence.proxy_kind {
                ProxyKind::Alias => one(Instruction::AliasFence),
                ProxyKind::Async => one(Instruction::ProxyFence(Proxy::Async)),
                ProxyKind::AsyncGeneric | ProxyKind::TensormapGeneric => {
                    Err("this proxy fence is not understood".into())
                }
            },
            Op::BarSync(bar) => {
                self.barrier(Part::Sync, Scope::Cta, Some(&bar.a), bar.b.as_ref()).and_then(one)
            }
            Op::BarArrive(bar) => {
                self.barrier(Part::Arrive, Scope::Cta, Some(&bar.a), Some(&bar.b)).and_then(one)
            }
            Op::BarClusterArrive(_) => self.barrier(Part::Arrive, Scope::Cluster, None, None).and_then(one),
            Op::BarClusterWait(_) => self.barrier(Part::Wait, Scope::Cluster, None, None).and_then(one),
            Op::MbarrierInit(init) => self.initialise(init).map(Some),
            Op::MbarrierArrive(arrive) => self.arrive(arrive).map(Some),
            Op::MbarrierWait(wait) => self.wait(wait).map(Some),
            Op::Mov(mov) => self.copy(mov.d, &mov.a),
            Op::MovPred(mov) => self.copy(mov.d, &mov.a),
            Op::CvtInt(cvt) => self.copy(cvt.d, &cvt.a),
            Op::Cvta(cvta) => self.copy(cvta.d, &cvta.a),
            Op::AddInt(add) => match self.address(&add.a, &add.b).or_else(|| self.address(&add.b, &add.a)) {
                Some(((variable, offset), by)) => self.hold(add.d, variable, offset.wrapping_add(by)),
                None => self.set(add.d, Arithmetic::Add, &add.a, &add.b),
            },
            Op::SubInt(sub) => match self.address(&sub.a, &sub.b) {
                Some(((variable, offset), by)) => self.hold(sub.d, variable, offset.wrapping_sub(by)),
                None => self.set(sub.d, Arithmetic::Sub, &sub.a, &sub.b),
            },
            Op::MadInt(_) | Op::Shl(_) => match self.computed(op) {
                Some((to, value)) => {
                    let value = Value::Constant(value as u64);
                    self.set(to, Arithmetic::Second, &Value::Constant(0), &value)
                }
                None => Err(format!("`{}` is understood of constants alone", op.sem().text())),
            },
            Op::SetpInt(setp) => match (comparison(setp.cmp), &setp.q, &setp.c) {
                (Some(found), None, None) => self.set(setp.p, Arithmetic::Compare(found), &setp.a, &setp.b),
                _ => Err("this comparison is not understood".into()),
            },
            _ => match arithmetic(op) {
                Some((operation, to, a, b)) => self.set(to, operation, a, b),
                None => Ok(None),
            },
        }
    }

    fn barrier(
        &mut self,
        part: Part,
        scope: Scope,
        name: Option<&Value>,
        quorum: Option<&Value>,
    ) -> Result<Instruction, String> {
        let constant = |operand: Option<&Value>| match operand {
            None => Ok(None),
            Some(Value::Constant(value)) => Ok(Some(*value as i64)),
            Some(_) => Err("a barrier in a test needs constant operands".to_owned()),
        };
        let (name, quorum) = (constant(name)?.unwrap_or(0), constant(quorum)?);
        // Uses follow one another: the n-th use in each thread's text is one use. Arriving and waiting are halves of one.
        let cluster = scope == Scope::Cluster;
        let uses = self.barriers.entry(if cluster { -1 } else { name }).or_default();
        let instance = *uses;
        if part != Part::Arrive || !cluster {
            *uses += 1;
        }
        let resource = Some(Operand::Constant(name));
        Ok(Instruction::Barrier { instance, part, scope, resource, quorum: quorum.map(Operand::Constant) })
    }

    /// The variable that an address is in, and the offset.
    pub(super) fn located(&self, address: &Address) -> Result<(VarId, i64), String> {
        let unknown = || "the address is not that of a variable plus a constant".to_owned();
        match address.base {
            AddressBase::Variable(variable) => Ok((variable, address.offset)),
            AddressBase::Register(register) => {
                let (variable, start) = self.addresses.get(&register).ok_or_else(unknown)?;
                Ok((*variable, start.wrapping_add(address.offset)))
            }
            AddressBase::Absolute => Err(unknown()),
        }
    }

    pub(super) fn access(
        &mut self,
        address: &Address,
        size: u32,
        (order, scope): Ordering,
    ) -> Result<Access, String> {
        let (variable, offset) = self.located(address)?;
        let (bytes, proxy) = self.place(variable, offset, size)?;
        Ok(Access { bytes, proxy, order, scope })
    }

    /// The bytes of an access, which are a location of the test, and its proxy.
    pub(super) fn place(
        &mut self,
        variable: VarId,
        offset: i64,
        size: u32,
    ) -> Result<(Bytes, Proxy), String> {
        let variables = &self.test.module.variables;
        let whole = self.test.aliases.get(&variable).map_or(variable, |(of, _)| *of);
        let (of, space) = (&variables[variable.index()], variables[whole.index()].size);
        let start = u32::try_from(offset).ok().filter(|start| u64::from(*start) + u64::from(size) <= space);
        let start = start.ok_or_else(|| format!("the access is outside of `{}`", of.name))?;
        let name = if start == 0 { of.name.clone() } else { format!("{}[{start}]", of.name) };
        let (bytes, proxy) = self.test.named(variable, self.placement, (start, size))?;
        let locations = &mut self.test.program.locations;
        if !locations.iter().any(|location| location.bytes == bytes || location.name == name) {
            locations.push(Location { name, bytes });
        }
        Ok((bytes, proxy))
    }

    pub(super) fn register(&self, to: Def) -> Result<Register, String> {
        match to.0 {
            Some(register) if !self.addresses.contains_key(&register) => Ok(register.index()),
            _ => Err("a result must go to a register that holds no address".into()),
        }
    }

    pub(super) fn registers(&self, all: &[Def]) -> Result<Vec<Register>, String> {
        all.iter().map(|to| self.register(*to)).collect()
    }

    /// Where the old value of an atomic operation goes.
    pub(super) fn destination(&self, to: Def) -> Result<Option<Register>, String> {
        to.0.map(|_| self.register(to)).transpose()
    }

    pub(super) fn value(&self, operand: &Value) -> Result<Operand, String> {
        match operand {
            Value::Register(register) if !self.addresses.contains_key(register) => {
                Ok(Operand::Register(register.index()))
            }
            Value::Constant(value) => Ok(Operand::Constant(*value as i64)),
            _ => Err("a value must be a register that holds no address, or a number".into()),
        }
    }

    pub(super) fn values(&self, all: &[Value]) -> Result<Vec<Operand>, String> {
        all.iter().map(|value| self.value(value)).collect()
    }

    fn set(
        &self,
        to: Def,
        operation: Arithmetic,
        a: &Value,
        b: &Value,
    ) -> Result<Option<Vec<Instruction>>, String> {
        let (a, b) = (self.value(a)?, self.value(b)?);
        Ok(Some(vec![Instruction::Set { destination: self.register(to)?, operation, a, b }]))
    }

    /// A copy of a value, or of an address.
    fn copy(&mut self, to: Def, from: &Value) -> Result<Option<Vec<Instruction>>, String> {
        let held = match from {
            Value::Symbol { symbol: Symbol::Variable(variable), offset } => Some((*variable, *offset)),
            Value::Register(register) => self.addresses.get(register).copied(),
            _ => None,
        };
        match held {
            Some((variable, offset)) => self.hold(to, variable, offset),
            None => self.set(to, Arithmetic::Second, &Value::Constant(0), from),
        }
    }

    pub(super) fn constant(&self, operand: &Value) -> Option<i64> {
        match operand {
            Value::Constant(value) => Some(*value as i64),
            Value::Register(register) => self.constants.get(register).copied(),
            _ => None,
        }
    }

    /// A register's address and a constant.
    fn address(&self, base: &Value, by: &Value) -> Option<((VarId, i64), i64)> {
        let Value::Register(register) = base else { return None };
        Some((*self.addresses.get(register)?, self.constant(by)?))
    }

    /// What an instruction computes of constants, and where it goes.
    fn computed(&self, op: &Op) -> Option<(Def, i64)> {
        let known = |value: &Value| self.constant(value);
        match op {
            Op::Mov(mov) => Some((mov.d, known(&mov.a)?)),
            Op::CvtInt(cvt) => Some((cvt.d, known(&cvt.a)?)),
            Op::MadInt(mad) => {
                Some((mad.d, known(&mad.a)?.wrapping_mul(known(&mad.b)?).wrapping_add(known(&mad.c)?)))
            }
            Op::Shl(shl) => Some((shl.d, known(&shl.a)?.checked_shl(u32::try_from(known(&shl.b)?).ok()?)?)),
            _ => {
                let (operation, to, a, b) = arithmetic(op)?;
                Some((to, operation.apply(known(a)?, known(b)?)))
            }
        }
    }

    /// Notes that a register is a constant, if this is where it is written.
    fn fold(&mut self, op: &Op) {
        if let Some((Def(Some(to)), value)) = self.computed(op)
            && self.writers[to.index()] == 1
        {
            self.constants.insert(to, value);
        }
    }

    /// Notes that a register holds an address, always the same.
    fn hold(&mut self, to: Def, variable: VarId, offset: i64) -> Result<Option<Vec<Instruction>>, String> {
        let Some(register) = to.0 else { return Err("an address needs a register".into()) };
        match self.addresses.insert(register, (variable, offset)) {
            Some(before) if before != (variable, offset) => {
                Err("a register holds two addresses in turn".into())
            }
            _ => Ok(Some(Vec::new())),
        }
    }
}

/// Targets from here on are places in the code already.
const BEHIND: usize = 1 << 32;

/// How many instructions of a function write each register.
pub(super) fn writers(function: &Function<'_>) -> Vec<u32> {
    let mut writers = vec![0; function.body.registers.len()];
    for index in 0..function.instructions.len() as u32 {
        function.registers(index, &mut |register, access| {
            writers[register.index()] += u32::from(access != ir::Access::Read);
        });
    }
    writers
}

/// The order and scope of an access: a weak one has no scope, and a volatile one is relaxed for the whole system.
pub(crate) fn ordering(order: isa::Order, scope: Option<Scope>) -> Ordering {
    match order {
        isa::Order::Weak => (Order::Weak, None),
        isa::Order::Volatile => (Order::Relaxed, Some(Scope::Sys)),
        order => (order.into(), scope),
    }
}

fn comparison(cmp: SetIntCmp) -> Option<Comparison> {
    match cmp {
        SetIntCmp::Eq => Some(Comparison::Eq),
        SetIntCmp::Ne => Some(Comparison::Ne),
        SetIntCmp::Lt => Some(Comparison::Lt),
        SetIntCmp::Le => Some(Comparison::Le),
        SetIntCmp::Gt => Some(Comparison::Gt),
        SetIntCmp::Ge => Some(Comparison::Ge),
        SetIntCmp::Lo | SetIntCmp::Ls | SetIntCmp::Hi | SetIntCmp::Hs => None,
    }
}

/// The arithmetic of a plain operation, its destination and its sources.
fn arithmetic(op: &Op) -> Option<(Arithmetic, Def, &Value, &Value)> {
    Some(match op {
        Op::AddInt(add) => (Arithmetic::Add, add.d, &add.a, &add.b),
        Op::SubInt(sub) => (Arithmetic::Sub, sub.d, &sub.a, &sub.b),
        Op::MulInt(mul) if mul.mode != MulIntMode::Hi => (Arithmetic::Mul, mul.d, &mul.a, &mul.b),
        Op::DivInt(div) => (Arithmetic::Div, div.d, &div.a, &div.b),
        Op::And(and) => (Arithmetic::And, and.d, &and.a, &and.b),
        Op::Or(or) => (Arithmetic::Or, or.d, &or.a, &or.b),
        Op::Xor(xor) => (Arithmetic::Xor, xor.d, &xor.a, &xor.b),
        Op::MinInt(min) => (Arithmetic::Min, min.d, &min.a, &min.b),
        Op::MaxInt(max) => (Arithmetic::Max, max.d, &max.a, &max.b),
        _ => return None,
    })
}

/// How an atomic operation combines what is there with its operand.
pub(crate) fn combination(op: AtomOp) -> Result<Arithmetic, String> {
    match op {
        AtomOp::Add => Ok(Arithmetic::Add),
        AtomOp::And => Ok(Arithmetic::And),
        AtomOp::Or => Ok(Arithmetic::Or),
        AtomOp::Xor => Ok(Arithmetic::Xor),
        AtomOp::Min => Ok(Arithmetic::Min),
        AtomOp::Max => Ok(Arithmetic::Max),
        AtomOp::Exch => Ok(Arithmetic::Second),
        AtomOp::Inc | AtomOp::Dec => Err("this atomic operation is not understood".into()),
    }
}
