//! How many registers hold values that still matter, while instructions are put in order. A register that is written again holds another
//! value from then on, and none between the last reader of the one and the next.

use crate::code::Class;
use rustc_hash::FxHashMap as HashMap;

/// A value within the instructions.
struct Value {
    class: Class,
    /// Who comes behind them reads it, too.
    outlives: bool,
    readers: u32,
}

/// General registers and predicates.
type Counts = (i32, i32);

/// The values of some instructions.
pub(super) struct Lives {
    of: Vec<Value>,
    /// What instructions read, each once, one instruction behind the other.
    reads: Vec<u32>,
    /// By instruction: where that ends.
    ends: Vec<u32>,
    /// By instruction: what it makes that matters later.
    makes: Vec<Counts>,
    /// What holds something in front of the first instruction.
    before: Counts,
}

impl Lives {
    /// Of instructions that read and write some units, in front of others for which some units are live.
    pub(super) fn new(reads: &[Vec<u32>], writes: &[Vec<u32>], live: &[u64], classes: &[Class]) -> Self {
        let mut this =
            Self { of: Vec::new(), reads: Vec::new(), ends: Vec::new(), makes: Vec::new(), before: (0, 0) };
        let mut makes: Vec<std::ops::Range<usize>> = Vec::new();
        let mut now: HashMap<u32, usize> = HashMap::default();
        let value = |unit: u32| Value { class: classes[unit as usize], outlives: false, readers: 0 };
        for (reads, writes) in reads.iter().zip(writes) {
            let first = this.reads.len();
            for &unit in reads {
                let at = *now.entry(unit).or_insert_with(|| {
                    count(&mut this.before, classes[unit as usize], 1);
                    this.of.push(value(unit));
                    this.of.len() - 1
                });
                if !this.reads[first..].contains(&(at as u32)) {
                    this.of[at].readers += 1;
                    this.reads.push(at as u32);
                }
            }
            this.ends.push(this.reads.len() as u32);
            let first = this.of.len();
            for &unit in writes {
                now.insert(unit, this.of.len());
                this.of.push(value(unit));
            }
            makes.push(first..this.of.len());
        }
        for (word, &bits) in live.iter().enumerate() {
            for bit in (0..64).filter(|bit| bits >> bit & 1 == 1) {
                let unit = (word * 64 + bit) as u32;
                match now.get(&unit) {
                    Some(&at) => this.of[at].outlives = true,
                    None => count(&mut this.before, classes[unit as usize], 1),
                }
            }
        }
        for made in makes {
            let mut more = (0, 0);
            for value in this.of[made].iter().filter(|value| value.readers > 0 || value.outlives) {
                count(&mut more, value.class, 1);
            }
            this.makes.push(more);
        }
        this
    }

    /// How many general registers hold something in front of the first instruction.
    pub(super) fn at_first(&self) -> i32 {
        self.before.0
    }

    /// What an instruction reads.
    fn read_by(&self, at: usize) -> &[u32] {
        let first = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.reads[first as usize..self.ends[at] as usize]
    }

    /// The most general registers and predicates at once.
    pub(super) fn peak(&self, order: &[usize]) -> (i32, i32) {
        let mut pressure = Pressure::new(self);
        let mut most = (pressure.general, pressure.predicates);
        for &at in order {
            pressure.issue(at);
            most = (most.0.max(pressure.general), most.1.max(pressure.predicates));
        }
        most
    }
}

/// Uniform registers are not counted: there are more than are given to values.
fn count(sum: &mut Counts, class: Class, by: i32) {
    match class {
        Class::General(_) => sum.0 += by,
        Class::Predicate => sum.1 += by,
        Class::Uniform(_) => {}
    }
}

/// Registers that are taken, instruction after instruction.
pub(super) struct Pressure<'a> {
    lives: &'a Lives,
    /// How many are still to read each value.
    left: Vec<u32>,
    pub(super) general: i32,
    pub(super) predicates: i32,
}

impl<'a> Pressure<'a> {
    pub(super) fn new(lives: &'a Lives) -> Self {
        let left = lives.of.iter().map(|value| value.readers).collect();
        Self { lives, left, general: lives.before.0, predicates: lives.before.1 }
    }

    /// What an instruction adds: general registers, and predicates.
    pub(super) fn change(&self, at: usize) -> Counts {
        let mut change = self.lives.makes[at];
        for &read in self.lives.read_by(at) {
            let value = &self.lives.of[read as usize];
            if self.left[read as usize] == 1 && !value.outlives {
                count(&mut change, value.class, -1);
            }
        }
        change
    }

    pub(super) fn issue(&mut self, at: usize) {
        let (general, predicates) = self.change(at);
        self.lives.read_by(at).iter().for_each(|&read| self.left[read as usize] -= 1);
        self.general += general;
        self.predicates += predicates;
    }
}
