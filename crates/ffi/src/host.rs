//! Where on the host a call comes from, for reports: the frames of the program above a function of a library.

use std::ffi::{CStr, c_void};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

/// Frames that are kept, at most: a program may recurse deeply.
const MOST: usize = 64;
/// Lines that are told.
const TOLD: usize = 16;

/// The frames above a call, as addresses. To give them names takes long, and is done only for what is told.
#[derive(Clone, Debug)]
pub struct Frames(Arc<[usize]>);

impl Frames {
    /// The frames above the library that calls this.
    pub fn capture() -> Self {
        let own = module_of(Self::capture as *const () as usize).map(|module| module.base);
        let mut all = Vec::new();
        backtrace::trace(|frame| {
            let at = frame.ip() as usize;
            // What is above the first frame of another module is the program's, or that of another library.
            if !all.is_empty() || module_of(at).map(|module| module.base) != own {
                all.push(at);
            }
            all.len() < MOST
        });
        Self(all.into())
    }

    /// Whether the call comes from a function of the CUDA runtime, which tells of its own errors itself.
    pub fn are_of_runtime(&self) -> bool {
        self.0.iter().take(8).any(|&at| {
            let of_library = module_of(at).is_some_and(|module| module.name.contains("libcudart"));
            of_library || names(at).iter().any(|(name, _)| name.starts_with("cuda"))
        })
    }

    /// The place that the call comes from, to tell it from others.
    pub fn caller(&self) -> usize {
        self.0.first().copied().unwrap_or(0)
    }

    /// They as lines, the innermost first, up to `main`.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for &at in &*self.0 {
            let named = names(at);
            let ends = named.iter().any(|(name, _)| name == "main");
            if named.is_empty() {
                let module = module_of(at);
                lines.push(module.map_or_else(
                    || format!("{at:#x}"),
                    |module| format!("{}+{:#x}", module.name, at - module.base),
                ));
            }
            lines.extend(named.into_iter().map(|(name, place)| name + &place));
            if ends || lines.len() >= TOLD {
                break;
            }
        }
        lines.truncate(TOLD);
        lines
    }
}

/// The functions that an address is in, the innermost first, each with its line if that is known.
fn names(at: usize) -> Vec<(String, String)> {
    let mut names = Vec::new();
    backtrace::resolve(at as *mut c_void, |symbol| {
        let Some(name) = symbol.name() else { return };
        let mut place = String::new();
        if let (Some(file), Some(line)) = (symbol.filename(), symbol.lineno()) {
            // Writing to a string cannot fail.
            let _ = write!(place, " at {}:{line}", file.display());
        }
        names.push((format!("{name:#}"), place));
    });
    names
}

/// A file that is mapped into the process.
struct Module {
    name: String,
    base: usize,
}

fn module_of(at: usize) -> Option<Module> {
    let mut found = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: it looks an address up, whatever that is, and writes to what is passed, which all zeros are a value of.
    let info = unsafe {
        if libc::dladdr(at as *const c_void, found.as_mut_ptr()) == 0 {
            return None;
        }
        found.assume_init()
    };
    if info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the linker's name of a module, which is there as long as the module.
    let path = unsafe { CStr::from_ptr(info.dli_fname) }.to_string_lossy().into_owned();
    let name = Path::new(&path).file_name().map_or(path.clone(), |name| name.to_string_lossy().into_owned());
    Some(Module { name, base: info.dli_fbase as usize })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_module_and_names() {
        let at = an_address_has_a_module_and_names as *const () as usize;
        let module = module_of(at + 1).expect("the test");
        assert!(module.base <= at && !module.name.is_empty());
        assert!(module_of(1).is_none());
        // Frames of this very module count as the library's.
        let frames = Frames::capture();
        let own = |&at: &usize| module_of(at).map(|module| module.base) == Some(module.base);
        assert!(frames.0.first().is_none_or(|first| !own(first)));
        assert!(!frames.are_of_runtime());
    }
}
