//! Asynchronous copies, stores and reductions, and the mbarriers on which they complete.
//!
//! Every thread has its own mbarrier, and memory that only it uses: what is recorded is what the operation does, not who
//! wins a race. Operations on the shared memory of a cluster are illegal where a launch has none, so that for them two
//! CTAs are one; the address of a variable there is that of the CTA's own.

use crate::builder::Builder;
use crate::domain::Domain;
use crate::inputs::THREADS;
use ptx::isa::{Access, Mnemonic, Modifier, OperandSpec, Slot};
use ptx::types::{ScalarType, StateSpace};

/// Bytes that a bulk copy moves: the least there are.
const BULK: u32 = 16;

/// Arrivals that an mbarrier expects.
const ARRIVALS: u32 = 4;

impl Builder<'_> {
    /// An operand other than an address that these instructions prescribe.
    pub(crate) fn of_asynchronous(&mut self, spec: &OperandSpec) -> Option<String> {
        match (self.opcode.mnemonic(), spec.name) {
            (Mnemonic::Cp, "size") if self.opcode.get(Slot::Bulk).is_some() => Some(BULK.to_string()),
            // The only CTA of its cluster.
            (Mnemonic::Cp, "ctaMask") => Some("1".into()),
            (Mnemonic::Mbarrier, "count") => Some(self.count().to_string()),
            (Mnemonic::Mbarrier, "state") if self.opcode.has(Modifier::PendingCount) => {
                Some(self.state_of_arrival())
            }
            (Mnemonic::Mbarrier, "state") => Some("%state".into()),
            (Mnemonic::Mbarrier, "parity") => Some(self.input(Domain::Flag, 32)),
            (Mnemonic::Mbarrier, "hint") => Some("1".into()),
            (Mnemonic::Mbarrier, "d") if !self.opcode.has(Modifier::PendingCount) => {
                let remote = self.opcode.get(Slot::Space) == Some(Modifier::SharedCluster);
                if !remote {
                    self.declaration(".reg .b64 %arrived;");
                }
                Some(if remote { "_" } else { "%arrived" }.into())
            }
            _ => None,
        }
    }

    /// Arrivals, or bytes of a transaction.
    fn count(&self) -> u32 {
        let bytes = self.opcode.get(Slot::ExpectTx).is_some()
            || self.opcode.has(Modifier::ExpectTx)
            || self.opcode.has(Modifier::CompleteTx);
        if bytes { 8 } else { 1 + self.variant.index as u32 % 2 }
    }

    /// A thread's own mbarrier, for so many arrivals.
    fn barrier(&mut self, arrivals: u32) {
        self.declaration(&format!(".shared .align 8 .b8 barriers[{}];", 8 * THREADS));
        self.declaration(".reg .b64 %barrier, %state; .reg .pred %done;");
        self.before(&format!(
            "mov.u32 %t, %tid.x; mov.u64 %barrier, barriers; mad.wide.u32 %barrier, %t, 8, %barrier;\n\
             mbarrier.init.shared.b64 [%barrier], {arrivals}; fence.proxy.async;"
        ));
    }

    /// Waits for the first phase of the mbarrier.
    fn await_barrier(&mut self) {
        self.after("wait: mbarrier.try_wait.parity.shared.b64 %done, [%barrier], 0; @!%done bra wait;");
    }

    /// The `[mbar]` of an operation that completes so many bytes on it.
    fn completion(&mut self, bytes: u32) -> String {
        self.barrier(1);
        self.before(&format!("mbarrier.arrive.expect_tx.shared.b64 %state, [%barrier], {bytes};"));
        "[%barrier]".to_owned()
    }

    /// The same, which is then waited for.
    pub(crate) fn completed(&mut self, bytes: u32) -> String {
        let mbarrier = self.completion(bytes);
        self.await_barrier();
        mbarrier
    }

    /// The address operand `i` of `cp.async.bulk` and `cp.reduce.async.bulk`.
    pub(crate) fn bulk(&mut self, i: usize) -> Option<String> {
        let reduces = self.opcode.get(Slot::Reduce).is_some();
        let [to, from] = [0, 1].map(|i| self.opcode.operand_space(i));
        match (i, to?, from?) {
            (0, StateSpace::Shared, StateSpace::Global) => {
                self.unloaded(Domain::Of(ScalarType::B64), 2);
                let address = self.slot(StateSpace::Shared, 2)?;
                self.fill(StateSpace::Shared, &address, &[], 2);
                self.read_back(StateSpace::Shared, &address, 2);
                Some(format!("[{address}]"))
            }
            (1, StateSpace::Shared, StateSpace::Global) => Some("[%row]".into()),
            (0, StateSpace::Shared, StateSpace::Shared) => {
                let address = self.slot(StateSpace::Shared, 4)?;
                self.fill(StateSpace::Shared, &address, &[], if reduces { 0 } else { 2 });
                if reduces {
                    self.elements_to(StateSpace::Shared, &address, 0);
                }
                self.elements_to(StateSpace::Shared, &address, 16);
                self.read_back(StateSpace::Shared, &address, 2);
                Some(format!("[{address}]"))
            }
            (1, StateSpace::Shared, StateSpace::Shared) => {
                self.use_cluster();
                Some("[%slot+16]".into())
            }
            (0, StateSpace::Global, StateSpace::Shared) => {
                let address = self.slot(StateSpace::Global, 2)?;
                if reduces {
                    self.elements_to(StateSpace::Global, &address, 0);
                }
                Some(format!("[{address}]"))
            }
            (1, StateSpace::Global, StateSpace::Shared) => {
                let address = self.slot(StateSpace::Shared, 2)?;
                self.elements_to(StateSpace::Shared, &address, 0);
                self.before("fence.proxy.async;");
                self.after("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;");
                Some(format!("[{address}]"))
            }
            (3, StateSpace::Shared, _) => Some(self.completed(BULK)),
            _ => None,
        }
    }

    /// Sixteen bytes of elements of the instruction's type at an address.
    fn elements_to(&mut self, space: StateSpace, address: &str, offset: usize) {
        let domain = match self.opcode.ty(Slot::Type) {
            Some(ScalarType::F16) => Domain::Of(ScalarType::F16x2),
            Some(ScalarType::Bf16) => Domain::Of(ScalarType::Bf16x2),
            Some(ty) => Domain::Of(ty),
            None => Domain::Of(ScalarType::B64),
        };
        let bits = domain.bits();
        let space = if space == StateSpace::Shared { "shared" } else { "global" };
        for at in (0..16).step_by(bits as usize / 8) {
            let register = self.input(domain, bits);
            self.before(&format!("st.{space}.b{bits} [{address}+{}], {register};", offset + at));
        }
    }

    /// An address of `st.async` or `red.async`: memory, or the mbarrier.
    pub(crate) fn remote(
        &mut self,
        spec: &OperandSpec,
        space: StateSpace,
        words: usize,
        bytes: u32,
    ) -> Option<String> {
        if spec.name == "[mbar]" {
            self.completed(bytes);
            return Some(self.pointer("%barrier", space));
        }
        self.use_cluster();
        let address = self.slot(StateSpace::Shared, words)?;
        let domain = self.opcode.ty(Slot::Type).filter(|ty| ty.bits() == 64).unwrap_or(ScalarType::B64);
        let reduces = self.effects.on(spec.identifier()).is_some_and(|it| it.access == Access::Reduce);
        let inputs: Vec<_> = match reduces {
            true => (0..words).map(|_| self.input(Domain::Of(domain), 64)).collect(),
            false => Vec::new(),
        };
        self.fill(StateSpace::Shared, &address, &inputs, words);
        self.read_back(StateSpace::Shared, &address, words);
        Some(self.pointer(&address, space))
    }

    /// The mbarrier that an `mbarrier` instruction is about, and what shows its state.
    pub(crate) fn mbarrier(&mut self, space: StateSpace) -> Option<String> {
        use Modifier as M;
        let has = |modifier| self.opcode.has(modifier);
        if has(M::Inval) {
            return None;
        }
        if has(M::TestWait) || has(M::TryWait) {
            self.waited_for();
            return Some(self.pointer("%barrier", space));
        }
        let arrives = has(M::Arrive) || has(M::ArriveDrop);
        let counted = self
            .opcode
            .data()
            .operands
            .iter()
            .any(|spec| spec.name == "count" && (!spec.optional || self.variant.full));
        let announces = self.opcode.get(Slot::ExpectTx).is_some() || has(M::ExpectTx);
        // What the phase still needs after the instruction.
        let missing = match () {
            () if has(M::Init) => self.count(),
            () if !arrives => ARRIVALS,
            () if counted && !announces => ARRIVALS - self.count(),
            () => ARRIVALS - 1,
        };
        let (init, completes) = (has(M::Init), has(M::CompleteTx));
        let remote = self.opcode.get(Slot::Space) == Some(M::SharedCluster);
        self.barrier(ARRIVALS);
        const ANNOUNCE: &str = "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%barrier], 8;";
        match () {
            () if init => {
                self.before("mbarrier.inval.shared.b64 [%barrier];");
                self.after(ANNOUNCE);
            }
            () if completes => (0..2).for_each(|_| self.before(ANNOUNCE)),
            () if announces => {}
            () => self.before(ANNOUNCE),
        }
        if arrives && !remote {
            let pending = self.observed(32);
            self.after(&format!("mbarrier.pending_count.b64 {pending}, %arrived;"));
        }
        for _ in 0..missing {
            let (complete, pending) = (self.observed(1), self.observed(32));
            self.after(&format!(
                "mbarrier.test_wait.parity.shared.b64 {complete}, [%barrier], 0;\n\
                 mbarrier.arrive.shared.b64 %state, [%barrier]; mbarrier.pending_count.b64 {pending}, %state;"
            ));
        }
        // The bytes are the last that the phase waits for.
        let (before, complete) = (self.observed(1), self.observed(1));
        self.after(&format!(
            "mbarrier.test_wait.parity.shared.b64 {before}, [%barrier], 0;\n\
             mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%barrier], 8;\n\
             mbarrier.test_wait.parity.shared.b64 {complete}, [%barrier], 0;"
        ));
        Some(self.pointer("%barrier", space))
    }

    /// For the instructions that ask an mbarrier: of two arrivals the second comes in half of the threads.
    fn waited_for(&mut self) {
        self.barrier(2);
        self.declaration(".reg .pred %second;");
        let second = self.input(Domain::Flag, 32);
        self.declaration(".reg .b64 %later;");
        self.before(&format!(
            "mbarrier.arrive.shared.b64 %state, [%barrier]; setp.ne.b32 %second, {second}, 0;\n\
             @%second mbarrier.arrive.shared.b64 %later, [%barrier];"
        ));
    }

    /// `mbarrier.pending_count` of the state that an arrival gives.
    fn state_of_arrival(&mut self) -> String {
        self.barrier(ARRIVALS);
        self.before("mbarrier.arrive.shared.b64 %state, [%barrier];");
        "%state".to_owned()
    }

    /// `cp.async.mbarrier.arrive` behind a copy.
    pub(crate) fn arrival_of_copies(&mut self, space: StateSpace) -> Option<String> {
        self.unloaded(Domain::Of(ScalarType::B64), 2);
        let address = self.slot(StateSpace::Shared, 2)?;
        self.barrier(1);
        self.before(&format!("cp.async.ca.shared.global [{address}], [%row], 16;"));
        if self.opcode.get(Slot::Noinc).is_none() {
            self.after("mbarrier.arrive.shared.b64 %state, [%barrier];");
        }
        self.await_barrier();
        self.read_back(StateSpace::Shared, &address, 2);
        Some(self.pointer("%barrier", space))
    }
}
