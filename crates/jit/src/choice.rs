//! Which engine runs kernels, as users choose it.

use crate::cache::Cache;
use crate::{Jit, NoLlvm};
use machine::compiled::Engine;
use std::str::FromStr;
use std::sync::Arc;

/// Which engine runs kernels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// The interpreter, `interp`.
    Interpreter,
    /// The compiled engine from the first launch, `jit`.
    Compiled,
    /// The interpreter at first, and the compiled engine for what has run for a while, where there is one: `auto`.
    #[default]
    Automatic,
}

impl Choice {
    /// All, with their names.
    pub const ALL: [(&'static str, Self); 3] =
        [("interp", Self::Interpreter), ("jit", Self::Compiled), ("auto", Self::Automatic)];

    /// What `WARPLOOM_ENGINE` says.
    ///
    /// # Errors
    /// It is none of the names.
    pub fn from_environment() -> Result<Self, String> {
        std::env::var("WARPLOOM_ENGINE").map_or(Ok(Self::default()), |name| name.parse())
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        let [(name, _), ..] = Self::ALL;
        Self::ALL.iter().find(|(_, choice)| *choice == self).map_or(name, |(name, _)| name)
    }

    /// The engine; `None` is the interpreter.
    ///
    /// # Errors
    /// The compiled engine is wanted, and there is none.
    pub fn engine(self) -> Result<Option<Arc<dyn Engine>>, NoLlvm> {
        let engine = match self {
            Self::Interpreter => return Ok(None),
            Self::Compiled => Jit::find()?.with_cache(Cache::from_environment()),
            Self::Automatic => match Jit::beside() {
                Ok(engine) => engine.with_cache(Cache::from_environment()),
                Err(why) => {
                    log::info!("kernels are interpreted: {why}");
                    return Ok(None);
                }
            },
        };
        Ok(Some(Arc::new(engine)))
    }
}

impl FromStr for Choice {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|(known, _)| *known == name.trim());
        match found {
            Some((_, choice)) => Ok(*choice),
            None if name.trim().is_empty() => Ok(Self::default()),
            None => Err(format!("`{name}` is not an engine: interp, jit or auto")),
        }
    }
}
