//! Arguments of directives as what they should be, with an error at the argument if they are not.

use crate::codes::{self, Findings};
use crate::names::{self, Kind};
use crate::syntax::{Argument, Expression};
use ptx::diagnostic::Diagnostic;
use ptx::source::Span;

/// A directive's arguments, taken one by one.
pub(super) struct Arguments<'a, 'f> {
    list: std::slice::Iter<'a, Argument>,
    /// The directive, with its name.
    span: Span,
    findings: &'f mut Findings,
}

impl<'a, 'f> Arguments<'a, 'f> {
    pub(super) fn new(list: &'a [Argument], span: Span, findings: &'f mut Findings) -> Self {
        Self { list: list.iter(), span, findings }
    }

    /// The next argument; an error if there is none.
    pub(super) fn next(&mut self, what: &str) -> Option<&'a Argument> {
        let found = self.list.next();
        if found.is_none() {
            self.findings.error(codes::ARGUMENT, self.span, format!("{what} is missing"));
        }
        found
    }

    pub(super) fn optional(&mut self) -> Option<&'a Argument> {
        self.list.next()
    }

    /// All that are left.
    pub(super) fn rest(&mut self) -> &'a [Argument] {
        std::mem::take(&mut self.list).as_slice()
    }

    /// An error if any is left.
    pub(super) fn end(mut self) {
        if let Some(more) = self.optional() {
            self.findings.error(codes::ARGUMENT, more.span, "one argument too many");
        }
    }

    fn wrong(&mut self, argument: &Argument, what: &str) {
        self.findings.error(codes::ARGUMENT, argument.span, format!("{what} is expected here"));
    }

    /// A name of anything.
    pub(super) fn name(&mut self, what: &str) -> Option<(&'a str, Span)> {
        let argument = self.next(what)?;
        let name = argument.expression.name();
        if name.is_none() {
            self.wrong(argument, what);
        }
        name.map(|name| (name, argument.span))
    }

    /// A string.
    pub(super) fn text(&mut self, what: &str) -> Option<&'a str> {
        let argument = self.next(what)?;
        match &argument.expression {
            Expression::Text(text) => Some(text),
            _ => {
                self.wrong(argument, what);
                None
            }
        }
    }

    /// A number no greater than a limit.
    pub(super) fn number(&mut self, what: &str, most: u64) -> Option<u64> {
        let argument = self.next(what)?;
        let Expression::Number(number) = argument.expression else {
            self.wrong(argument, what);
            return None;
        };
        match u64::try_from(number).ok().filter(|&number| number <= most) {
            Some(number) => Some(number),
            None => {
                let message = format!("{what} is a number from 0 to {most:#x}");
                self.findings.error(codes::RANGE, argument.span, message);
                None
            }
        }
    }

    /// A number with names, such as `@progbits`.
    pub(super) fn named(&mut self, kind: Kind, what: &str, most: u64) -> Option<u32> {
        let argument = self.next(what)?;
        let number = match &argument.expression {
            Expression::At(name) => names::number(kind, name),
            Expression::Number(number) => u32::try_from(*number).ok(),
            _ => None,
        };
        let number = number.filter(|&number| u64::from(number) <= most);
        if number.is_none() {
            self.wrong(argument, what);
        }
        number
    }

    /// The number in `@"NAME=3"`.
    pub(super) fn assignment(&mut self, name: &str, most: u32) -> Option<u32> {
        let argument = self.next(name)?;
        let value = match &argument.expression {
            Expression::At(text) => text.strip_prefix(name).and_then(|rest| rest.strip_prefix('=')),
            _ => None,
        };
        let number = value.and_then(|value| value.parse().ok()).filter(|&number: &u32| number <= most);
        if number.is_none() {
            self.findings.push(
                Diagnostic::error(
                    codes::ARGUMENT,
                    argument.span,
                    format!("`@\"{name}=...\"` is expected here"),
                )
                .hint(format!("a number from 0 to {most}")),
            );
        }
        number
    }
}

impl Arguments<'_, '_> {
    /// A number, or a name that stands for one.
    pub(super) fn lookup<T: TryFrom<i128>>(
        &mut self,
        argument: &Argument,
        what: &str,
        named: impl Fn(&str) -> Option<T>,
    ) -> Option<T> {
        let number = match &argument.expression {
            Expression::Number(number) => T::try_from(*number).ok(),
            Expression::Name(name) => named(name),
            _ => None,
        };
        if number.is_none() {
            self.wrong(argument, what);
        }
        number
    }
}
