//! A file that a program writes: directives as text, but labels and instructions as what they are.

use super::{Options, build};
use crate::codes::Findings;
use crate::syntax::{self, Line, Statement};
use ptx::diagnostic::Diagnostic;
use ptx::source::Span;
use sass::Control;

/// A file piece by piece.
#[derive(Debug, Default)]
pub struct Program {
    lines: Vec<Line>,
    /// The pieces line by line, in which diagnostics have their places; of an instruction without its control code.
    shown: String,
    findings: Findings,
}

/// What is wrong with a piece; warnings are among it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// The line of the piece.
    pub line: String,
    /// What about it.
    pub message: String,
}

impl Program {
    /// Begins a piece. Returns where.
    fn begin(&mut self, piece: &str) -> u32 {
        let start = u32::try_from(self.shown.len()).unwrap_or(u32::MAX);
        self.shown.push_str(piece);
        self.shown.push('\n');
        start
    }

    /// Adds what a text says.
    pub fn text(&mut self, text: &str) {
        let start = self.begin(text);
        let mut found = Findings::default();
        let mut lines = syntax::parse(text, &mut found);
        for line in &mut lines {
            line.span = shifted(line.span, start);
            if let Statement::Directive { arguments, .. } = &mut line.statement {
                arguments.iter_mut().for_each(|argument| argument.span = shifted(argument.span, start));
            }
        }
        self.lines.append(&mut lines);
        for diagnostic in found.list {
            self.findings.push(Diagnostic { span: shifted(diagnostic.span, start), ..diagnostic });
        }
    }

    /// Adds a label.
    pub fn label(&mut self, name: String) {
        let start = self.begin(&name);
        self.lines.push(Line { statement: Statement::Label(name), span: Span::new(start, start) });
    }

    /// Adds an instruction: from its guard on, without the semicolon. Operands are kept where the text or the control code says so.
    pub fn instruction(&mut self, control: Control, text: String) {
        let start = self.begin(&text);
        self.lines.extend(syntax::instruction(control, text, start as usize, &mut self.findings));
    }

    /// The cubin.
    ///
    /// # Errors
    /// What is wrong, warnings among it.
    pub fn assemble(self, options: Options) -> Result<Vec<u8>, Vec<Wrong>> {
        let Self { lines, shown, mut findings } = self;
        let bytes = build(lines, options, &mut findings);
        let wrong = |diagnostic: Diagnostic| {
            let (before, after) = shown.split_at_checked(diagnostic.span.start as usize).unwrap_or_default();
            let line = [before.rsplit('\n').next(), after.split('\n').next()];
            Wrong { line: line.into_iter().flatten().collect(), message: diagnostic.message }
        };
        match bytes {
            Some(bytes) if findings.list.is_empty() => Ok(bytes),
            _ => Err(findings.list.into_iter().map(wrong).collect()),
        }
    }
}

/// A place in a piece, in all of them.
fn shifted(span: Span, start: u32) -> Span {
    Span::new(span.start.saturating_add(start), span.end.saturating_add(start))
}
