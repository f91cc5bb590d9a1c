//! What every matrix instruction does with registers and memory: `crates/machine/tests/matrix/sm_90.txt`.
//!
//! A line of the recording is a case: its name, and a checksum of the output of each trial. The cases are a kernel for
//! each form of the table, and inputs from numbers that can be computed again.
//!
//! | module | what it alone knows |
//! | --- | --- |
//! | `cases` | which instructions there are, and how each is called |
//! | `kernel` | a kernel around an instruction |
//! | `data` | contents of registers and memory |

mod cases;
mod data;
mod kernel;

pub use cases::cases;
pub use kernel::Case;

/// A module with some cases, whose kernels are `k0`, `k1` and so on.
pub fn module<'c>(cases: impl IntoIterator<Item = &'c Case>) -> String {
    let mut text = ".version 8.7\n.target sm_90a\n.address_size 64\n".to_owned();
    for (i, case) in cases.into_iter().enumerate() {
        text.push_str(&case.text.replace("{}", &format!("k{i}")).replace("{{", "{").replace("}}", "}"));
    }
    text
}

impl Case {
    /// The checksums of an output, trial by trial, as in a recording.
    pub fn sums(&self, output: &[u8]) -> Vec<String> {
        output.chunks(self.output).map(|trial| format!("{:08x}", crate::crc(trial))).collect()
    }
}
