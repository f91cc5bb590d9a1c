//! What a client can choose.

use serde::Deserialize;

/// The notes that are shown within the text.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(default, rename_all = "camelCase")]
pub struct Hints {
    /// The types of registers that are written.
    pub types: bool,
    /// How many registers are live.
    pub live: bool,
    /// How values and addresses go from lane to lane.
    pub shapes: bool,
}

impl Default for Hints {
    fn default() -> Self {
        Self { types: false, live: true, shapes: true }
    }
}

/// The settings, as the member `warploom` of the client's.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(default, rename_all = "camelCase")]
pub struct Config {
    /// The notes within the text.
    pub hints: Hints,
    /// How long the text must rest before it is looked at, in milliseconds.
    pub debounce: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self { hints: Hints::default(), debounce: 100 }
    }
}
