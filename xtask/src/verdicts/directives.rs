//! Questions about what is not an instruction: directives, declarations, initialisers.

use super::questions::Questions;

pub(crate) fn questions(_questions: &mut Questions) {}
