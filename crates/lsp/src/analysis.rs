//! What the server asks about a text, whatever language it is in.

use crate::config::Hints;
use crate::index::Index;
use ptx::diagnostic::Diagnostic;
use ptx::source::{Source, Span};
use std::path::Path;
use std::sync::Arc;

/// A language that the server knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// PTX.
    Ptx,
    /// Litmus tests.
    Litmus,
    /// Cubins as text.
    Cuasm,
}

impl Language {
    /// The language that an editor calls so, or that the file's name tells.
    pub fn of(id: &str, path: &str) -> Self {
        let extension = Path::new(path).extension().and_then(|extension| extension.to_str());
        match (id, extension) {
            ("litmus", _) | (_, Some("litmus")) => Self::Litmus,
            ("cuasm", _) | (_, Some("cuasm")) => Self::Cuasm,
            _ => Self::Ptx,
        }
    }

    /// Looks at a text.
    pub fn analyse(self, source: Arc<Source>) -> Box<dyn Analysis> {
        match self {
            Self::Ptx => Box::new(crate::languages::ptx::Ptx::new(source)),
            Self::Litmus => Box::new(crate::languages::litmus::Litmus::new(source)),
            Self::Cuasm => Box::new(crate::languages::cuasm::Cuasm::new(source)),
        }
    }
}

/// What a stretch of text is, for colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
#[allow(missing_docs)]
pub enum Color {
    Comment,
    Mnemonic,
    Directive,
    Register,
    Special,
    Label,
    Function,
    Variable,
    Parameter,
    Number,
    Text,
    Control,
}

impl Color {
    /// The names that the protocol has for them, in the order of the variants.
    pub const NAMES: [&'static str; 12] = [
        "comment",
        "keyword",
        "modifier",
        "variable",
        "macro",
        "label",
        "function",
        "property",
        "parameter",
        "number",
        "string",
        "decorator",
    ];
}

/// Something that could be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// What replaces [`Proposals::replace`].
    pub text: String,
    /// What it is.
    pub kind: ProposalKind,
    /// A word on it.
    pub detail: String,
    /// Lower ones come first.
    pub rank: u8,
}

/// What a proposal is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum ProposalKind {
    Instruction,
    Modifier,
    Directive,
    Special,
    Name(crate::index::Kind),
}

/// What could be written at a place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proposals {
    /// What has been written of it.
    pub replace: Span,
    /// The proposals.
    pub list: Vec<Proposal>,
}

/// A form of an instruction whose operands are being written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// `add.s32 d, a, b`.
    pub text: String,
    /// The bytes of it that each operand takes, and a word on the operand.
    pub operands: Vec<(std::ops::Range<usize>, String)>,
    /// Where it comes from.
    pub detail: String,
}

/// A change that removes a diagnostic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// What it does.
    pub title: String,
    /// What is replaced.
    pub span: Span,
    /// By what.
    pub with: String,
    /// Whether it is likely what was meant.
    pub preferred: bool,
}

/// What is known of a text. All offsets are into that text.
pub trait Analysis: Send + Sync {
    /// What is wrong with it, in the order of the text.
    fn diagnostics(&self) -> &[Diagnostic];
    /// Its names.
    fn index(&self) -> &Index;
    /// What a diagnostic's code means.
    fn explain(&self, code: &str) -> Option<&'static str>;
    /// What there is to know at an offset, as Markdown.
    fn hover(&self, offset: u32) -> Option<(Span, String)>;
    /// What could be written at an offset.
    fn complete(&self, offset: u32) -> Proposals;
    /// The forms of the instruction whose operands are written at an offset, and which operand it is.
    fn signatures(&self, offset: u32) -> (Vec<Signature>, u32);
    /// What would remove a diagnostic.
    fn fixes(&self, diagnostic: &Diagnostic) -> Vec<Fix>;
    /// Notes behind places of a span.
    fn hints(&self, within: Span, wanted: &Hints) -> Vec<(u32, String)>;
    /// The colours of the text, in order, without overlaps.
    fn colors(&self) -> Vec<(Span, Color)>;
    /// What can be folded.
    fn folds(&self) -> Vec<Span>;
    /// The statement around an offset.
    fn statement(&self, offset: u32) -> Option<Span>;
    /// The text in canonical form, or why there is none.
    fn format(&self) -> Result<String, String>;
    /// Whether a name can take the place of the one at an occurrence, or why not.
    fn renamable(&self, occurrence: &crate::index::Occurrence, name: Option<&str>) -> Result<(), String>;
    /// Remarks above places.
    fn lenses(&self) -> Vec<(Span, String)>;
}
