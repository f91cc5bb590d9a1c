//! Object files of texts: compiled, or found where they are kept.

use crate::cache::{Cache, Key};
use crate::llvm::{self, Effort};

/// See the module.
#[derive(Debug)]
pub(crate) struct Objects {
    cache: Option<Cache>,
}

impl Objects {
    pub(crate) fn new(cache: Option<Cache>) -> Self {
        Self { cache }
    }

    /// The object file of a text, if it is kept.
    pub(crate) fn kept(&self, text: &str, effort: Effort) -> Option<Vec<u8>> {
        let cache = self.cache.as_ref()?;
        cache.load(&Key::of(text, effort, cache)?)
    }

    /// The object file of a text, and whether it was kept.
    pub(crate) fn object(&self, text: &str, effort: Effort) -> Result<(Vec<u8>, bool), String> {
        if let Some(object) = self.kept(text, effort) {
            return Ok((object, true));
        }
        let object = llvm::compile(text, effort)?;
        // Which LLVM there is may be known only now.
        if let Some((cache, key)) = self.cache.as_ref().and_then(|c| Some((c, Key::of(text, effort, c)?))) {
            cache.store(&key, &object);
        }
        Ok((object, false))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::Loaded;

    /// A second process finds what the first one has made; what has been damaged meanwhile is made anew.
    #[test]
    fn objects_are_found_again() {
        if let Err(why) = llvm::available() {
            return eprintln!("skipped: {why}");
        }
        let folder = tempfile::tempdir().unwrap();
        let process = || Objects::new(Some(Cache::at(folder.path().join("warploom"))));
        let text = "define i32 @rows(ptr %context, i32 %rows) {\n  ret i32 %rows\n}\n";
        let (made, kept) = process().object(text, Effort::Full).unwrap();
        assert!(!kept);
        assert_eq!(process().object(text, Effort::Full), Ok((made.clone(), true)));
        assert_eq!(process().kept(text, Effort::Full), Some(made.clone()));
        assert!(Loaded::link(&made).unwrap().address_of("rows").is_some());
        // Another text, and the same with another effort.
        let (_, kept) = process().object(&text.replace("@rows", "@others"), Effort::Full).unwrap();
        assert!(!kept);
        assert_eq!(process().kept(text, Effort::Quick), None);
        let (quick, kept) = process().object(text, Effort::Quick).unwrap();
        assert!(!kept);
        assert_eq!(process().kept(text, Effort::Quick), Some(quick));
        let entries =
            std::fs::read_dir(folder.path().join("warploom")).unwrap().map(|entry| entry.unwrap().path());
        for path in entries.filter(|path| path.extension().is_some()) {
            let mut bytes = std::fs::read(&path).unwrap();
            *bytes.last_mut().unwrap() ^= 1;
            std::fs::write(&path, bytes).unwrap();
        }
        assert_eq!(process().object(text, Effort::Full).map(|(_, kept)| kept), Ok(false));
        assert_eq!(process().object(text, Effort::Full), Ok((made, true)));
    }
}
