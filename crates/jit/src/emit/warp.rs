//! Operations between the lanes of a warp, of which all that have not exited are here.
//!
//! A lane that takes no part gives 0 to a shuffle, as on an H200; the manual leaves it open. Members that are not known to
//! be all are the machine's ([`super::interpret`]).

use super::Emitter;
use super::atomic::reduction;
use super::text::Kind;
use super::values::Lanes;
use crate::Refusal;
use crate::class::{is_signed, names_all_lanes};
use ir::instruction::{MultimemLoadOp, Op, Redux, Shfl, ShflMode, Vote, VoteMode};
use ir::operand::{Def, Value};
use ir::shuffle;

impl Emitter<'_> {
    /// An operation of a whole warp; `false` if there is no vector code for it.
    pub(crate) fn across(&mut self, op: &Op) -> Result<bool, Refusal> {
        match op {
            Op::Shfl(i) => {
                if i.membermask.is_some_and(|members| !self.names_all(&members)) {
                    return Ok(false);
                }
                self.shuffle(i)?;
            }
            Op::Vote(i) => {
                if i.membermask.is_some_and(|members| !names_all_lanes(&members)) {
                    return Ok(false);
                }
                self.vote(i)?;
            }
            Op::Redux(i) if names_all_lanes(&i.membermask) => {
                self.reduce(i)?;
            }
            Op::Activemask(i) => {
                let mask = self.mask.clone();
                let mask = self.text.mask_bits(&mask);
                self.write(i.d, Lanes::uniform(32, mask), false)?;
            }
            // All are here.
            Op::BarWarpSync(_) => {}
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Whether a member mask is known to name all lanes: a constant, or a register that is never anything else.
    fn names_all(&self, members: &Value) -> bool {
        let Value::Register(register) = members else { return names_all_lanes(members) };
        self.function.instructions.iter().flatten().all(|instruction| {
            let mut writes = false;
            instruction.registers(&mut |written, access| {
                writes |= written == *register && access != ir::Access::Read;
            });
            !writes || matches!(&instruction.op, Op::Mov(mov) if names_all_lanes(&mov.a))
        })
    }

    fn shuffle(&mut self, i: &Shfl) -> Result<(), Refusal> {
        let a = self.read(&i.a, 32)?;
        let a = self.vector(&a);
        let word = self.text.int(32, Kind::Vector);
        let a = match self.full {
            true => a,
            false => {
                let (bit, mask) = (self.text.int(1, Kind::Vector), self.mask.clone());
                self.text.value(&format!("select {bit} {mask}, {word} {a}, {word} zeroinitializer"))
            }
        };
        let (value, inside) = match (self.constant_here(&i.b), self.constant_here(&i.c)) {
            (Some(b), Some(c)) => {
                let source = |l: i64| shuffle::source(i.mode, l as u32, b as u32, c as u32);
                let from = self.text.list(32, |l| source(l).0.into());
                let value =
                    self.text.value(&format!("shufflevector {word} {a}, {word} poison, <32 x i32> {from}"));
                (value, self.text.list(1, |l| -i64::from(source(l).1)))
            }
            _ => self.shuffle_by(i, &a)?,
        };
        self.write(i.d, Lanes::varying(32, value), false)?;
        self.write(i.p.unwrap_or(Def(None)), Lanes::varying(1, inside), false)
    }

    /// By lanes that are computed at run time: see [`shuffle::source`].
    fn shuffle_by(&mut self, i: &Shfl, a: &str) -> Result<(String, String), Refusal> {
        let (b, c) = (self.read(&i.b, 32)?, self.read(&i.c, 32)?);
        let (b, c) = (self.vector(&b), self.vector(&c));
        let kind = Kind::Vector;
        let (word, bit) = (self.text.int(32, kind), self.text.int(1, kind));
        let lane = self.text.list(32, |l| l);
        let constant = |e: &Self, value| e.text.constant(value, 32, kind);
        let (low, eight, ones) = (constant(self, 31), constant(self, 8), constant(self, -1));
        let by = self.text.value(&format!("and {word} {b}, {low}"));
        let clamp = self.text.value(&format!("and {word} {c}, {low}"));
        let segment = self.text.value(&format!("lshr {word} {c}, {eight}"));
        let segment = self.text.value(&format!("and {word} {segment}, {low}"));
        let others = self.text.value(&format!("xor {word} {segment}, {ones}"));
        let least = self.text.value(&format!("and {word} {lane}, {segment}"));
        let most = self.text.value(&format!("and {word} {clamp}, {others}"));
        let most = self.text.value(&format!("or {word} {least}, {most}"));
        let from = match i.mode {
            ShflMode::Up => self.text.value(&format!("sub {word} {lane}, {by}")),
            ShflMode::Down => self.text.value(&format!("add {word} {lane}, {by}")),
            ShflMode::Bfly => self.text.value(&format!("xor {word} {lane}, {by}")),
            ShflMode::Idx => {
                let by = self.text.value(&format!("and {word} {by}, {others}"));
                self.text.value(&format!("or {word} {least}, {by}"))
            }
        };
        let than = if i.mode == ShflMode::Up { "sge" } else { "sle" };
        let inside = self.text.value(&format!("icmp {than} {word} {from}, {most}"));
        let from = self.text.value(&format!("select {bit} {inside}, {word} {from}, {word} {lane}"));
        let from = self.text.value(&format!("and {word} {from}, {low}"));
        self.arguments = self.arguments.max(crate::sites::list_bytes(32, 32));
        self.text.line(&format!("store {word} {a}, ptr %args, align 64"));
        let pointers = self.text.value(&format!("getelementptr i32, ptr %args, {word} {from}"));
        let (name, all) = ("llvm.masked.gather.v32i32.v32p0", self.text.all());
        self.intrinsic(&format!("declare {word} @{name}(<32 x ptr>, i32, {bit}, {word})"));
        let value = self.text.value(&format!(
            "call {word} @{name}(<32 x ptr> {pointers}, i32 4, {bit} {all}, {word} zeroinitializer)"
        ));
        Ok((value, inside))
    }

    fn vote(&mut self, i: &Vote) -> Result<(), Refusal> {
        let a = self.predicate(&i.a)?;
        let a = self.vector(&a);
        let (bit, mask) = (self.text.int(1, Kind::Vector), self.mask.clone());
        let votes = self.text.value(&format!("and {bit} {a}, {mask}"));
        let (votes, all) = (self.text.mask_bits(&votes), self.text.mask_bits(&mask));
        let lanes = match i.mode {
            VoteMode::Ballot => Lanes::uniform(32, votes),
            VoteMode::All => Lanes::uniform(1, self.text.value(&format!("icmp eq i32 {votes}, {all}"))),
            VoteMode::Any => Lanes::uniform(1, self.text.value(&format!("icmp ne i32 {votes}, 0"))),
            VoteMode::Uni => {
                let every = self.text.value(&format!("icmp eq i32 {votes}, {all}"));
                let none = self.text.value(&format!("icmp eq i32 {votes}, 0"));
                Lanes::uniform(1, self.text.value(&format!("or i1 {every}, {none}")))
            }
        };
        self.write(i.d, lanes, false)
    }

    fn reduce(&mut self, i: &Redux) -> Result<(), Refusal> {
        use MultimemLoadOp as R;
        let signed = is_signed(i.ty);
        let how = match i.op {
            R::Add => "add",
            R::Or => "or",
            R::Xor => "xor",
            R::And => "and",
            R::Min if signed => "min",
            R::Max if signed => "max",
            R::Min => "umin",
            R::Max => "umax",
        };
        let Some(reduction) = reduction(how) else { return Err(self.unsupported()) };
        let a = self.read(&i.a, 32)?;
        let a = self.vector(&a);
        let mask = self.mask.clone();
        let value = self.reduced(&reduction, &a, 32, &mask);
        self.write(i.d, Lanes::uniform(32, value), false)
    }
}
