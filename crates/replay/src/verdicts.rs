//! Recorded verdicts of ptxas (`crates/ptx/tests/verdicts`): their notation, and the modules that they are about.
//!
//! A file consists of blocks. A block is a template or several, and what fills their `$`, accepted on `+` lines and
//! rejected on `-` lines:
//!
//! ```text
//! 9.0/sm_90a  add$ %r0,%r1,%r2
//! + .u32  .s32
//! - .sat.u32  .u64
//! ```
//!
//! The files are compressed (`zcat` shows them); `exceptions.txt` lists where the checker disagrees on purpose.
//!
//! Before the template stands the module's version and target, which can be the hole as well. A template is one
//! instruction, whose operands are declared by their names ([`DECLARATIONS`]), or after `module ` a whole module but
//! for its first lines, or after `file ` all of it. Two spaces separate fills, `~` is an empty one.

use flate2::read::GzDecoder;
use std::fmt::Write;
use std::io::Read;
use std::path::Path;

/// Names in an instruction, and the declarations that these need inside the function.
const DECLARATIONS: &[(&str, &str)] = &[
    ("%p", ".reg .pred %p<20>;"),
    ("%c", ".reg .b8 %c<20>;"),
    ("%h", ".reg .b16 %h<20>;"),
    ("%r", ".reg .b32 %r<140>;"),
    ("%d", ".reg .b64 %d<140>;"),
    ("%q", ".reg .b128 %q<20>;"),
    ("%f", ".reg .f32 %f<140>;"),
    ("%g", ".reg .f64 %g<40>;"),
    ("%xu16", ".reg .u16 %xu16;"),
    ("%xs16", ".reg .s16 %xs16;"),
    ("%xf16", ".reg .f16 %xf16;"),
    ("%xu32", ".reg .u32 %xu32;"),
    ("%xs32", ".reg .s32 %xs32;"),
    ("%xhh", ".reg .f16x2 %xhh;"),
    ("%xu64", ".reg .u64 %xu64;"),
    ("%xs64", ".reg .s64 %xs64;"),
    ("in_shared", ".shared .align 16 .b8 in_shared[64];"),
    ("in_local", ".local .align 16 .b8 in_local[64];"),
    ("argument", ".param .align 16 .b8 argument[64];"),
    ("targets", "targets: .branchtargets end;"),
    ("prototype", "prototype: .callprototype _ ();"),
];

/// The same for the module.
const GLOBALS: &[(&str, &str)] = &[
    ("in_global", ".global .align 16 .b8 in_global[64];"),
    ("in_const", ".const .align 16 .b8 in_const[64];"),
    ("texture", ".global .texref texture;"),
    ("surface", ".global .surfref surface;"),
    ("callee", ".func callee() { ret; }"),
];

/// Templates with the same fills and verdicts.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Block {
    /// Each `version/target` and text, one of them with a `$`.
    pub templates: Vec<(String, String)>,
    /// What stands for the `$`, and whether it is accepted.
    pub fills: Vec<(String, bool)>,
}

/// The `version/target` and the text for a fill.
pub fn filled((header, template): &(String, String), fill: &str) -> (String, String) {
    let fill = if fill == "~" { "" } else { fill };
    match header.as_str() {
        "$" => (fill.to_owned(), template.clone()),
        _ => (header.clone(), template.replacen('$', fill, 1)),
    }
}

/// The first lines of a module for `version/target`.
pub fn header(header: &str) -> String {
    let (version, target) = header.split_once('/').expect("`version/target`");
    format!(".version {version}\n.target {target}\n.address_size 64\n")
}

/// The declarations outside of functions that an instruction needs.
pub fn globals(instruction: &str) -> impl Iterator<Item = &'static str> {
    GLOBALS.iter().filter(move |(name, _)| instruction.contains(name)).map(|(_, declaration)| *declaration)
}

/// One line: a kernel with an instruction.
pub fn kernel(name: &str, instruction: &str) -> String {
    let mut text = format!(".visible .entry {name}(.param .align 16 .b8 parameter[64]) {{ ");
    for (_, declaration) in DECLARATIONS.iter().filter(|(name, _)| instruction.contains(name)) {
        text.push_str(declaration);
        text.push(' ');
    }
    let _ = write!(text, "{instruction}; end: ret; }}");
    text
}

/// A whole module.
pub fn module(target: &str, text: &str) -> String {
    if let Some(rest) = text.strip_prefix("file ") {
        return format!("{rest}\n");
    }
    let mut module = header(target);
    match text.strip_prefix("module ") {
        Some(rest) => module.push_str(rest),
        None => {
            for declaration in globals(text) {
                module.push_str(declaration);
                module.push('\n');
            }
            module.push_str(&kernel("k", text));
        }
    }
    module.push('\n');
    module
}

/// Reads a file.
pub fn read(text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let verdict = match line.split_at(1).0 {
            "+" => Some(true),
            "-" => Some(false),
            _ => None,
        };
        if verdict.is_none() && blocks.last().is_none_or(|block| !block.fills.is_empty()) {
            blocks.push(Block::default());
        }
        let block = blocks.last_mut().expect("a template comes first");
        match verdict {
            Some(verdict) => block.fills.extend(line[2..].split("  ").map(|f| (f.to_owned(), verdict))),
            None => {
                let (header, template) = line.split_once("  ").expect("`version/target  template`");
                block.templates.push((header.to_owned(), template.to_owned()));
            }
        }
    }
    blocks
}

/// One verdict, and the checker's.
pub struct Judged {
    /// The recording's name.
    pub file: String,
    /// `version/target`.
    pub header: String,
    /// The instruction.
    pub text: String,
    /// Whether ptxas accepts it.
    pub theirs: bool,
    /// Whether the checker does.
    pub ours: bool,
    /// What the checker complains about first.
    pub said: String,
}

/// Asks the checker about all recordings in a folder.
pub fn judge(folder: &Path, wanted: &(dyn Fn(&str) -> bool + Sync)) -> Vec<Judged> {
    let mut cases = Vec::new();
    let entries = std::fs::read_dir(folder).expect("the recordings are there");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("a file").path()).collect();
    paths.sort();
    for path in paths.iter().filter(|path| path.extension().is_some_and(|e| e == "gz")) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let mut text = String::new();
        let packed = std::fs::File::open(path).expect("a readable file");
        GzDecoder::new(packed).read_to_string(&mut text).expect("compressed text");
        for block in read(&text) {
            for template in &block.templates {
                for (fill, theirs) in &block.fills {
                    let (header, text) = filled(template, fill);
                    if wanted(&text) {
                        cases.push((name.clone(), header, text, *theirs));
                    }
                }
            }
        }
    }
    cases.sort();
    cases.dedup_by(|a, b| (&a.1, &a.2) == (&b.1, &b.2));
    let workers = std::thread::available_parallelism().map_or(2, |n| n.get());
    let share = cases.len().div_ceil(workers).max(1);
    std::thread::scope(|scope| {
        let threads: Vec<_> = cases
            .chunks(share)
            .map(|cases| scope.spawn(move || cases.iter().map(|case| judge_one(case)).collect::<Vec<_>>()))
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
    })
}

fn judge_one((file, header, text, theirs): &(std::borrow::Cow<'_, str>, String, String, bool)) -> Judged {
    let compiled = ptx::compile(&ptx::source::Source::new("verdict", module(header, text)));
    let first = compiled.diagnostics.iter().find(|d| d.severity == ptx::diagnostic::Severity::Error);
    Judged {
        file: file.to_string(),
        header: header.clone(),
        text: text.clone(),
        theirs: *theirs,
        ours: compiled.module.is_some(),
        said: first.map_or(String::new(), |d| format!("{} {}; {}", d.code, d.message, d.label)),
    }
}

/// A class of disagreements, on purpose.
#[derive(Clone, Debug)]
pub struct Exception {
    /// What ptxas says to them.
    pub accepted: bool,
    /// How many there are.
    pub count: usize,
    /// `version/target text`, where `*` stands for anything.
    pub pattern: String,
    /// Why the checker disagrees.
    pub reason: String,
}

impl Exception {
    /// Reads lines `accepts  12  pattern  reason`.
    pub fn read(text: &str) -> Vec<Self> {
        let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let parsed = lines.map(|line| {
            let mut parts = line.splitn(4, "  ");
            let mut part = || parts.next().unwrap_or_else(|| panic!("four parts: {line}")).to_owned();
            let (verdict, count, pattern, reason) = (part(), part(), part(), part());
            assert!(verdict == "accepts" || verdict == "rejects", "{line}");
            Self { accepted: verdict == "accepts", count: count.parse().expect("a count"), pattern, reason }
        });
        parsed.collect()
    }

    /// Whether a disagreement is of this class.
    pub fn covers(&self, judged: &Judged) -> bool {
        self.accepted == judged.theirs
            && matches(&self.pattern, &format!("{} {}", judged.header, judged.text))
    }
}

/// Whether a text is as the pattern says.
fn matches(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let Some(last) = pieces.next_back() else { return rest.is_empty() };
    for piece in pieces {
        match rest.find(piece) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}
