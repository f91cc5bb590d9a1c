//! Random kernels.

mod memory;
mod warp;

use crate::kernel::{Kernel, NESTING, Statement, Trips, Uses};
use crate::vocabulary::{self, Words, register};
use fastrand::Rng;

/// Shapes of CTAs: whole warps, parts of one, more dimensions than one.
const BLOCKS: [[u32; 3]; 16] = [
    [32, 1, 1],
    [64, 1, 1],
    [128, 1, 1],
    [256, 1, 1],
    [1, 1, 1],
    [7, 1, 1],
    [33, 1, 1],
    [48, 1, 1],
    [100, 1, 1],
    [16, 16, 1],
    [16, 4, 1],
    [8, 8, 2],
    [5, 3, 2],
    [48, 2, 1],
    [32, 4, 1],
    [10, 10, 1],
];

/// Threads that come by a place together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Together {
    Cta,
    Warp,
    Nobody,
}

/// Kinds of statements that a kernel may have.
#[derive(Clone, Copy, Debug)]
struct Kinds {
    words: Words,
    loops: bool,
    warp: bool,
    /// Matches, reductions and votes beside the usual ones.
    rare_warp: bool,
    shared: bool,
    atomics: bool,
    /// Atomic operations on places of one's own, whose results are used.
    results: bool,
    local: bool,
    calls: bool,
    switches: bool,
    exits: bool,
}

impl Kinds {
    fn random(random: &mut Rng) -> Self {
        let mut in_ten = |times: u32| random.u32(..10) < times;
        let warp = in_ten(6);
        Self {
            words: if in_ten(7) {
                Words::Frequent
            } else if in_ten(7) {
                Words::Ordinary
            } else {
                Words::Narrow
            },
            loops: in_ten(8),
            warp,
            rare_warp: warp && in_ten(1),
            shared: in_ten(6),
            atomics: in_ten(5),
            results: in_ten(1),
            local: in_ten(1),
            calls: in_ten(1),
            switches: in_ten(1),
            // A warp whose lanes have exited has nothing to shuffle.
            exits: !warp && in_ten(1),
        }
    }
}

/// Statements that a kernel has at most, unless told otherwise.
pub const STATEMENTS: u32 = 53;

/// Statements that a kernel has at least.
pub const FEWEST: u32 = 4;

/// The kernel of a seed, of at most so many statements beside those of its functions. Small ones are compiled several times as fast; large
/// ones have more of what meets only in large ones.
pub fn generate(seed: u64, statements: u32) -> Kernel {
    let mut random = Rng::with_seed(seed);
    let block = BLOCKS[random.usize(..BLOCKS.len())];
    let kinds = Kinds::random(&mut random);
    let mut generator = Generator {
        kinds,
        threads: block.iter().product(),
        functions: 0,
        left: 0,
        loops: 0,
        divergent_loops: 0,
        in_function: true,
        random,
    };
    let mut functions = Vec::new();
    if kinds.calls {
        for _ in 0..1 + generator.random.usize(..3) {
            generator.left = 1 + generator.random.u32(..8);
            functions.push(generator.body());
            generator.functions += 1;
        }
    }
    generator.in_function = false;
    generator.left = generator.random.u32(FEWEST..=statements.max(FEWEST));
    let body = generator.body();
    Kernel {
        ctas: 1 + generator.random.u32(..3),
        block,
        data: generator.random.u64(..),
        uses: Uses { shared: kinds.shared, cells: kinds.shared && kinds.atomics, local: kinds.local },
        functions,
        body,
    }
}

struct Generator {
    random: Rng,
    kinds: Kinds,
    threads: u32,
    /// Device functions that can be called.
    functions: usize,
    /// Statements that may still be made.
    left: u32,
    /// Loops around the place.
    loops: usize,
    /// Those of them that threads leave one by one.
    divergent_loops: usize,
    in_function: bool,
}

impl Generator {
    /// Statements until there are enough.
    fn body(&mut self) -> Vec<Statement> {
        let together = if self.in_function { Together::Nobody } else { Together::Cta };
        let mut list = Vec::new();
        while self.left > 0 {
            list.push(self.statement(together));
        }
        list
    }

    fn list(&mut self, together: Together) -> Vec<Statement> {
        let length = 1 + self.random.u32(..6);
        let mut list = Vec::new();
        for _ in 0..length {
            if self.left == 0 {
                break;
            }
            list.push(self.statement(together));
        }
        list
    }

    fn statement(&mut self, together: Together) -> Statement {
        self.left -= 1;
        match self.random.u32(..100) {
            0..10 => self.branch(together),
            10..17 if self.kinds.loops && self.loops < NESTING => self.repeated(together),
            17..19 if self.kinds.switches => self.switch(),
            19..21 if self.divergent_loops > 0 && together == Together::Nobody => self.leave(),
            21..22 if self.kinds.exits && !self.in_function => {
                Statement::Plain(format!("@{} exit;", register('p', &mut self.random)))
            }
            22..26 if self.functions > 0 => self.call(),
            26..32 if self.kinds.warp && together <= Together::Warp => Statement::Plain(self.across()),
            32..37 if self.kinds.shared && together == Together::Cta => Statement::Plain(self.exchange()),
            37..39 if together == Together::Cta && !self.in_function => Statement::Plain(self.barrier()),
            39..43 if self.kinds.atomics && !self.in_function => Statement::Plain(self.common_cell()),
            43..46 if self.kinds.results && !self.in_function => Statement::Plain(self.own_cell()),
            46..62 if !self.in_function => Statement::Plain(self.access()),
            _ => Statement::Plain(vocabulary::instruction(self.kinds.words, &mut self.random)),
        }
    }

    fn branch(&mut self, together: Together) -> Statement {
        let (test, inside) = self.test(together);
        let then = self.list(inside);
        let otherwise = if self.random.bool() { self.list(inside) } else { Vec::new() };
        Statement::Branch { test, then, otherwise }
    }

    /// Instructions that set `%test`, and who is together where it holds.
    fn test(&mut self, together: Together) -> (String, Together) {
        let random = &mut self.random;
        let uniform = [format!("%u{}", random.u32(..4)), "%cta".to_owned()][random.usize(..2)].clone();
        let number = random.u32(..24);
        let compare = ["lt", "ge", "eq", "ne", "gt"][random.usize(..5)];
        match random.u32(..4) {
            0 if !self.in_function => (format!("setp.{compare}.u32 %test, {uniform}, {number};"), together),
            1 if !self.in_function => {
                (format!("setp.{compare}.u32 %test, %warp, {};", number % 4), together.max(Together::Warp))
            }
            2 => (format!("setp.{compare}.u32 %test, %thread, {number};"), Together::Nobody),
            _ => {
                let register = register('p', random);
                (format!("and.pred %test, {register}, {register};"), Together::Nobody)
            }
        }
    }

    fn repeated(&mut self, together: Together) -> Statement {
        let random = &mut self.random;
        let mask = [3, 7][random.usize(..2)];
        let (trips, inside) = match random.u32(..3) {
            0 => (Trips::Times(random.u32(1..6)), together),
            1 => (Trips::LowBits { of: "%u0".to_owned(), mask }, together),
            _ => (Trips::LowBits { of: register('r', random), mask }, Together::Nobody),
        };
        let tested_first = random.bool();
        let alone = usize::from(inside == Together::Nobody);
        self.loops += 1;
        self.divergent_loops += alone;
        let body = self.list(inside);
        self.divergent_loops -= alone;
        self.loops -= 1;
        Statement::Loop { trips, tested_first, body }
    }

    fn switch(&mut self) -> Statement {
        let count = [2, 4][self.random.usize(..2)];
        let cases = (0..count).map(|_| self.list(Together::Nobody)).collect();
        Statement::Switch { by: register('r', &mut self.random), cases }
    }

    fn leave(&mut self) -> Statement {
        Statement::Leave(register('p', &mut self.random))
    }

    fn call(&mut self) -> Statement {
        let random = &mut self.random;
        let (a, b, d) = (register('r', random), register('d', random), register('r', random));
        let number = random.usize(..self.functions);
        Statement::Plain(format!(
            "{{ .param .b32 x; .param .b64 y; .param .b32 z;\nst.param.b32 [x], {a}; st.param.b64 [y], {b};\n\
             call (z), device_{number}, (x, y);\nld.param.b32 {d}, [z]; }}"
        ))
    }
}
