//! The graph of a crate's modules: which file uses which, and where they use one another in circles.
//!
//! A file uses another if a path in it, of a `use` or anywhere else, leads to an item of the other. A re-export leads on to where
//! the item is, so that the file which re-exports it is no hub. Two things are not seen: a method that is called on a value, and
//! what a macro of another file expands to. Tests are left out.

mod draw;
mod read;

pub(crate) use draw::picture;

use crate::root;
use anyhow::{Result, ensure};
use std::collections::BTreeSet;
use std::path::Path;

/// The crates whose graphs are drawn, by the names of their folders.
pub(crate) const DRAWN: [&str; 3] = ["driver", "machine", "cuasm"];

/// Files and their uses.
pub(crate) struct Modules {
    /// The path of each file's module; the root is called `lib`.
    names: Vec<String>,
    /// The files that each one uses, itself left out.
    uses: Vec<BTreeSet<usize>>,
}

/// Which graphs to show.
#[derive(clap::Args)]
pub(crate) struct Choice {
    /// Folders of `crates`.
    #[arg(default_values = DRAWN)]
    crates: Vec<String>,
}

/// Shows circles, and in which order the files build upon one another.
pub(crate) fn run(choice: &Choice) -> Result<()> {
    for name in &choice.crates {
        let modules = Modules::of(name)?;
        println!("{name}: {} files, {} uses", modules.names.len(), modules.uses());
        for layer in modules.layers() {
            let name = |&file: &usize| modules.names[file].as_str();
            let group = |files: &Vec<usize>| match &files[..] {
                [one] => name(one).to_owned(),
                several => format!("({})", several.iter().map(name).collect::<Vec<_>>().join(" ")),
            };
            println!("  {}", layer.iter().map(group).collect::<Vec<_>>().join("  "));
        }
    }
    Ok(())
}

impl Modules {
    /// The modules of a library of the workspace, by the name of its folder.
    pub(crate) fn of(name: &str) -> Result<Self> {
        let source = root().join("crates").join(name).join("src/lib.rs");
        ensure!(source.exists(), "there is no crate {name} with a library");
        Self::read(&source)
    }

    fn read(source: &Path) -> Result<Self> {
        let (names, uses) = read::graph(source)?;
        Ok(Self { names, uses })
    }

    /// How many uses there are.
    fn uses(&self) -> usize {
        self.uses.iter().map(BTreeSet::len).sum()
    }

    /// The files of the largest circle; none if there is no circle.
    pub(crate) fn largest_circle(&self) -> Vec<&str> {
        let largest = self.components().into_iter().filter(|files| files.len() > 1).max_by_key(Vec::len);
        largest.unwrap_or_default().into_iter().map(|file| self.names[file].as_str()).collect()
    }

    /// Files that use one another, directly or not, together: each group uses only itself and groups before it (Tarjan's
    /// strongly connected components).
    fn components(&self) -> Vec<Vec<usize>> {
        struct Search<'a> {
            uses: &'a [BTreeSet<usize>],
            /// When a file was found, and the first one that it leads to.
            found: Vec<Option<(usize, usize)>>,
            open: Vec<usize>,
            count: usize,
            done: Vec<Vec<usize>>,
        }
        impl Search<'_> {
            fn visit(&mut self, file: usize) -> usize {
                let number = self.count;
                self.count += 1;
                self.found[file] = Some((number, number));
                self.open.push(file);
                let mut least = number;
                for &used in &self.uses[file] {
                    let leads_to = match self.found[used] {
                        None => self.visit(used),
                        Some((number, _)) if self.open.contains(&used) => number,
                        Some(_) => continue,
                    };
                    least = least.min(leads_to);
                }
                self.found[file] = Some((number, least));
                if least == number {
                    let start = self.open.iter().position(|&other| other == file).unwrap_or(0);
                    let mut group = self.open.split_off(start);
                    group.sort_unstable();
                    self.done.push(group);
                }
                least
            }
        }
        let (found, open, done) = (vec![None; self.uses.len()], Vec::new(), Vec::new());
        let mut search = Search { uses: &self.uses, found, open, count: 0, done };
        for file in 0..self.uses.len() {
            if search.found[file].is_none() {
                search.visit(file);
            }
        }
        search.done
    }

    /// The groups of [`Self::components`] in layers: each uses layers before its own alone.
    fn layers(&self) -> Vec<Vec<Vec<usize>>> {
        let mut layer_of = vec![0; self.names.len()];
        let mut layers: Vec<Vec<Vec<usize>>> = Vec::new();
        for group in self.components() {
            let outside = |used: &&usize| !group.contains(used);
            let below = group.iter().flat_map(|&file| self.uses[file].iter().filter(outside));
            let layer = below.map(|&used| layer_of[used] + 1).max().unwrap_or(0);
            group.iter().for_each(|&file| layer_of[file] = layer);
            layers.resize(layers.len().max(layer + 1), Vec::new());
            layers[layer].push(group);
        }
        layers.iter_mut().for_each(|layer| layer.sort_by_key(|group| &self.names[group[0]]));
        layers
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A crate in a folder that goes when the test is over.
    struct Sources(std::path::PathBuf);

    impl Sources {
        fn new(test: &str, files: &[(&str, &str)]) -> Self {
            let folder = std::env::temp_dir().join(format!("warploom-modules-{test}-{}", std::process::id()));
            for (name, text) in files {
                let path = folder.join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            Self(folder)
        }

        /// `a: b c` for each file that uses others.
        fn uses(&self) -> Vec<String> {
            let modules = Modules::read(&self.0.join("lib.rs")).unwrap();
            let line = |(file, uses): (usize, &BTreeSet<usize>)| {
                let used: Vec<&str> = uses.iter().map(|&used| modules.names[used].as_str()).collect();
                (!used.is_empty()).then(|| format!("{}: {}", modules.names[file], used.join(" ")))
            };
            modules.uses.iter().enumerate().filter_map(line).collect()
        }
    }

    impl Drop for Sources {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn paths_lead_to_files_and_through_re_exports() {
        let sources = Sources::new(
            "paths",
            &[
                ("lib.rs", "mod a; mod b; mod c; pub use b::inner::Thing; pub fn top() { a::f() }"),
                ("a.rs", "use crate::{Thing as Other, c::{self, g}}; pub fn f() { g(); }"),
                ("b/mod.rs", "pub mod inner; pub use inner::*; pub struct Own;"),
                ("b/inner.rs", "pub struct Thing; pub fn h(x: super::Own) {}"),
                (
                    "c.rs",
                    "pub fn g() { println!(\"{}\", crate::b::h as usize) }\n#[cfg(test)] mod tests { use crate::a; }",
                ),
            ],
        );
        assert_eq!(sources.uses(), ["lib: a", "a: b::inner c", "b::inner: b", "c: b::inner"]);
    }

    #[test]
    fn circles_are_found_whole() {
        let uses = [&[1][..], &[2], &[0, 3], &[4], &[3], &[0]];
        let modules = Modules {
            names: ["a", "b", "c", "d", "e", "f"].map(str::to_owned).to_vec(),
            uses: uses.iter().map(|used| used.iter().copied().collect()).collect(),
        };
        assert_eq!(modules.components(), [vec![3, 4], vec![0, 1, 2], vec![5]]);
        assert_eq!(modules.largest_circle(), ["a", "b", "c"]);
        assert_eq!(modules.layers(), [vec![vec![3, 4]], vec![vec![0, 1, 2]], vec![vec![5]]]);
    }
}
