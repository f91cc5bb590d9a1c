//! Random kernels: wherever machine code is said to have a register of PTX, its value is there.

use kernel_fuzz::registers::Count;
use kernel_fuzz::{Case, STATEMENTS, generate, registers};
use ptxas::Level;

#[test]
fn registers_are_where_they_are_said_to_be() {
    for level in [Level::Serial, Level::Overlapped] {
        let mut all = Count::default();
        for seed in 7_000_000..7_000_008 {
            let case = Case::of(&generate(seed, STATEMENTS));
            match registers::compare(&case, level) {
                Ok(Some(Count { found, absent })) => {
                    all.found += found;
                    all.absent += absent;
                }
                Ok(None) => {}
                Err(why) => panic!("{seed} {level:?}: {why}\n{}", case.text),
            }
        }
        println!("{level:?}: {all:?}");
        // Most registers of a kernel are read late or not at all.
        assert!(all.found > 1_000_000, "{level:?}: {all:?}");
    }
}
