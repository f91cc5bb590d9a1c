//! The generated names: mnemonics, slots, modifiers and semantic functions; and what a modifier means by itself.

use crate::types::{ScalarType, StateSpace};

include!(concat!(env!("OUT_DIR"), "/names.rs"));

impl Modifier {
    /// The type that it names: `.u32`.
    pub fn scalar_type(self) -> Option<ScalarType> {
        ScalarType::from_name(&self.text()[1..])
    }

    /// The number of elements that it names: 4 for `.v4` and `.x4`.
    pub fn vector_length(self) -> Option<u32> {
        let text = self.text();
        let digits = text.strip_prefix(".v").or_else(|| text.strip_prefix(".x"))?;
        digits.parse().ok()
    }

    /// The state space that it names. `.param` alone means [`StateSpace::ParamEntry`] here; resolution knows which of
    /// the two kinds a variable has.
    pub fn state_space(self) -> Option<StateSpace> {
        let space = self.text()[1..].split("::").next()?;
        match space {
            "const" => Some(StateSpace::Const),
            "global" => Some(StateSpace::Global),
            "local" => Some(StateSpace::Local),
            "shared" => Some(StateSpace::Shared),
            "param" if self.text() == ".param::func" => Some(StateSpace::ParamFunc),
            "param" => Some(StateSpace::ParamEntry),
            _ => None,
        }
    }
}
