//! `WARPLOOM_SAVE`: a folder for the PTX of every module that is loaded.

use driver::settings::ToldText;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Writes texts to the folder that the environment names: `PROCESS-NUMBER.ptx`.
pub(crate) fn wanted() -> Option<Arc<ToldText>> {
    let folder = PathBuf::from(std::env::var_os("WARPLOOM_SAVE").filter(|folder| !folder.is_empty())?);
    let number = AtomicU32::new(0);
    Some(Arc::new(move |text| {
        let name = format!("{}-{}.ptx", std::process::id(), number.fetch_add(1, Ordering::Relaxed));
        let file = folder.join(name);
        if let Err(error) = std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&file, text)) {
            log::error!("WARPLOOM_SAVE: {}: {error}", file.display());
        }
    }))
}
