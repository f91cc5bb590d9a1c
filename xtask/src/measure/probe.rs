//! What a micro-benchmark is: a kernel as cuasm, its launch, and what each of its warps leaves.
//!
//! Every kernel has the same frame. Three rounds, the first of which is cold; each takes the SM's clock, does what is measured, and takes
//! it again. The warps of a CTA begin a round together.

/// Rounds of a kernel.
pub(crate) const ROUNDS: usize = 3;
/// Words that a warp leaves: the clock before and after each round, the SM, a word of the probe's own.
pub(crate) const WORDS: usize = 8;

/// The memory that a kernel is given.
#[derive(Clone, Debug)]
pub(crate) enum Input {
    /// Zeros, so many bytes.
    Zeros(u64),
    /// Lines of 128 bytes, so many bytes: each begins with the address of another one, all of them in one circle in an order without
    /// pattern.
    Circle(u64),
    /// These words.
    Words(Vec<u32>),
}

/// A micro-benchmark.
#[derive(Clone, Debug)]
pub(crate) struct Probe {
    /// What is measured: `FFMA/chain`.
    pub(crate) name: String,
    /// A number that is varied.
    pub(crate) variable: u64,
    /// What the clocks' difference is to be divided by: how often a warp does it in a round.
    pub(crate) count: u32,
    pub(crate) text: String,
    pub(crate) grid: u32,
    pub(crate) block: u32,
    /// CTAs of a cluster.
    pub(crate) cluster: u32,
    pub(crate) shared: u32,
    pub(crate) input: Input,
    /// Two parameters of the probe's own, in R10 and R11.
    pub(crate) arguments: [u32; 2],
}

/// Of a kernel: R2 where the warp's results go, R4 the input, R6 the thread's number in the grid, R7 the SM, R8 the thread's number in the
/// CTA, R9 the CTA's, R10 and R11 the probe's own; numbers for operands in R12 to R19 and R24 to R37, even and odd, as a bank of
/// registers gives one operand a cycle. A round may write R20 to R23 and R39
/// to R55. With no more than 64 registers a CTA can have 32 warps.
const HEAD: &str = "\
	.target sm_90
	.kernel probe, 8, 8, 4, 4
[B------:R-:W0:-:S02] LDC.64 R2, c[0x0][0x210] ;
[B------:R-:W0:-:S02] LDC.64 R4, c[0x0][0x218] ;
[B------:R-:W0:-:S02] LDC.64 R10, c[0x0][0x220] ;
[B------:R-:W0:-:S02] S2R R8, SR_TID.X ;
[B------:R-:W0:-:S02] S2R R9, SR_CTAID.X ;
[B------:R-:W0:-:S02] S2R R7, SR_VIRTUALSMID ;
[B------:R-:W-:Y:S15] ULDC.64 UR4, c[0x0][0x208] ;
[B------:R-:W-:Y:S15] ULDC UR6, c[0x0][0x0] ;
[B------:R-:W-:Y:S15] USHF.R.U32.HI UR7, URZ, 0x5, UR6 ;
[B------:R-:W-:Y:S15] UMOV UR8, 0x3 ;
[B------:R-:W-:Y:S15] UMOV UR9, 0x7 ;
[B0-----:R-:W-:Y:S15] SHF.R.U32.HI R6, RZ, 0x5, R8 ;
[B------:R-:W-:Y:S15] IMAD R6, R9, UR7, R6 ;
[B------:R-:W-:Y:S15] IMAD.WIDE.U32 R2, R6, 0x20, R2 ;
[B------:R-:W-:Y:S15] IMAD R6, R9, UR6, R8 ;
[B------:R-:W-:Y:S15] MOV R12, 0x3 ;
[B------:R-:W-:Y:S15] MOV R13, 0xbc003c00 ;
[B------:R-:W-:Y:S15] MOV R14, 0x5 ;
[B------:R-:W-:Y:S15] MOV R15, 0x0 ;
[B------:R-:W-:Y:S15] MOV R16, 0x3f800000 ;
[B------:R-:W-:Y:S15] MOV R17, 0x3fa00000 ;
[B------:R-:W-:Y:S15] MOV R18, 0x40400000 ;
[B------:R-:W-:Y:S15] MOV R24, 0x0 ;
[B------:R-:W-:Y:S15] MOV R25, 0x3ff00000 ;
[B------:R-:W-:Y:S15] MOV R26, 0x0 ;
[B------:R-:W-:Y:S15] MOV R27, 0x40080000 ;
[B------:R-:W-:Y:S15] MOV R32, 0x3c003c00 ;
[B------:R-:W-:Y:S15] MOV R33, 0x3c003c00 ;
[B------:R-:W-:Y:S15] MOV R34, 0x3c003c00 ;
[B------:R-:W-:Y:S15] MOV R35, 0x3c003c00 ;
[B------:R-:W-:Y:S15] MOV R36, 0x3c003c00 ;
[B------:R-:W-:Y:S15] MOV R37, 0x3c003c00 ;
[B------:R-:W-:Y:S15] MOV R23, 0x0 ;
[B------:R-:W-:Y:S15] MOV R38, 0x0 ;
[B------:R-:W-:Y:S15] ISETP.EQ.AND P1, PT, R15, 0x0, PT ;
";

/// An instruction with a control code of its stall count alone.
pub(crate) fn plain(stall: u32, text: &str) -> String {
    let yields = if stall > 11 { "Y" } else { "-" };
    format!("[B------:R-:W-:{yields}:S{stall:02}] {text} ;\n")
}

/// One after which everything has come to rest.
pub(crate) fn slow(text: &str) -> String {
    plain(15, text)
}

/// One whose result is waited for.
pub(crate) fn awaited(text: &str) -> String {
    format!("[B------:R-:W1:-:S02] {text} ;\n[B-1----:R-:W-:Y:S15] NOP ;\n")
}

/// A store whose operands have been read: where many warps store, that takes longer than a stall count can say.
pub(crate) fn stored(text: &str) -> String {
    format!("[B------:R1:W-:-:S02] {text} ;\n[B-1----:R-:W-:Y:S15] NOP ;\n")
}

/// A register times a number. The word that our assembler makes of `IMAD` with the number zero is none to a GPU.
pub(crate) fn times(to: &str, from: &str, number: u64, addend: &str) -> String {
    match number {
        0 => slow(&format!("MOV {to}, {addend}")),
        _ => slow(&format!("IMAD {to}, {from}, {number:#x}, {addend}")),
    }
}

/// Where the warps of a CTA meet before a round, and where each ends.
const MEETING: &str = "[B012345:R-:W-:Y:S15] BAR.SYNC.DEFER_BLOCKING 0x0 ;\n";
const EXIT: &str = "[B------:R-:W-:-:S05] EXIT ;\n";

/// Where the warps of a cluster meet.
pub(crate) const CLUSTER_MEETING: &str =
    "[B012345:R-:W-:Y:S15] UCGABAR_ARV ;\n[B012345:R-:W-:Y:S15] UCGABAR_WAIT ;\n";

impl Probe {
    /// A kernel that does something in three rounds: `before` once, `round` in each.
    pub(crate) fn new(name: impl Into<String>, variable: u64, count: u32, before: &str, round: &str) -> Self {
        let mut text = HEAD.to_owned();
        text += before;
        text += ".L_round:\n";
        text += MEETING;
        text += &plain(11, "CS2R.32 R56, SR_CLOCKLO");
        text += round;
        text += "[B012345:R-:W-:-:S11] CS2R.32 R57, SR_CLOCKLO ;\n";
        text += &stored("STG.E desc[UR4][R2.64], R56");
        text += &stored("STG.E desc[UR4][R2.64+0x4], R57");
        text += &slow("IADD3 R2, P2, R2, 0x8, RZ");
        text += &slow("IADD3.X R3, R3, RZ, RZ, P2, !PT");
        text += &slow("IADD3 R38, R38, 0x1, RZ");
        text += &slow(&format!("ISETP.LT.AND P2, PT, R38, {ROUNDS:#x}, PT"));
        text += &slow("@P2 BRA `(.L_round)");
        text += &stored("STG.E desc[UR4][R2.64], R7");
        text += &stored("STG.E desc[UR4][R2.64+0x4], R23");
        text += EXIT;
        text += ".L_end:\n[B------:R-:W-:Y:S00] BRA `(.L_end) ;\n";
        Self {
            name: name.into(),
            variable,
            count,
            text,
            grid: 1,
            block: 32,
            cluster: 1,
            shared: 0,
            input: Input::Zeros(4096),
            arguments: [0; 2],
        }
    }

    pub(crate) fn grid(mut self, grid: u32) -> Self {
        self.grid = grid;
        self
    }

    pub(crate) fn block(mut self, block: u32) -> Self {
        self.block = block;
        self
    }

    /// CTAs in clusters of so many, which begin a round together, and none of which ends before the others.
    pub(crate) fn cluster(mut self, cluster: u32) -> Self {
        self.text = self.text.replacen(MEETING, &format!("{CLUSTER_MEETING}{MEETING}"), 1);
        self.text = self.text.replacen(EXIT, &format!("{CLUSTER_MEETING}{EXIT}"), 1);
        self.cluster = cluster;
        self
    }

    pub(crate) fn shared(mut self, shared: u32) -> Self {
        self.shared = shared;
        self
    }

    pub(crate) fn input(mut self, input: Input) -> Self {
        self.input = input;
        self
    }

    pub(crate) fn arguments(mut self, arguments: [u32; 2]) -> Self {
        self.arguments = arguments;
        self
    }

    pub(crate) fn warps(&self) -> usize {
        (self.grid * self.block.div_ceil(32)) as usize
    }
}
