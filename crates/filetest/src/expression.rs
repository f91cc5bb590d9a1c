//! Integer formulas such as `i * i % 7`: expected values that are easier to state than to list.
//!
//! Operators bind as in C, comparisons give 0 or 1, `c ? a : b` chooses. Arithmetic is exact in 128 bits; what does not
//! fit is an error.

use std::iter::Peekable;
use std::str::Chars;

/// Evaluates `text` with variable `i` set to `index`.
///
/// # Errors
/// If the text is no formula, or its value does not exist.
pub fn evaluate(text: &str, index: i128) -> Result<i128, String> {
    let mut parser = Parser { rest: text.chars().peekable(), index, depth: 0 };
    let value = parser.choice()?;
    match parser.next_visible() {
        None => Ok(value),
        Some(c) => Err(format!("`{c}` is not expected in `{text}`")),
    }
}

struct Parser<'a> {
    rest: Peekable<Chars<'a>>,
    index: i128,
    depth: u32,
}

/// Binary operators by binding strength, the loosest first; within a level, longer ones stand before their prefixes.
const LEVELS: [&[&str]; 9] = [
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<=", ">=", "<", ">"],
    &["<<", ">>"],
    &["+", "-"],
];
const TIGHTEST: &[&str] = &["*", "/", "%"];

impl Parser<'_> {
    fn next_visible(&mut self) -> Option<char> {
        while self.rest.next_if(|c| c.is_whitespace()).is_some() {}
        self.rest.peek().copied()
    }

    fn choice(&mut self) -> Result<i128, String> {
        self.depth += 1;
        if self.depth > 64 {
            return Err("nested too deeply".to_owned());
        }
        let condition = self.level(0)?;
        let value = if self.next_visible() == Some('?') {
            self.rest.next();
            let yes = self.choice()?;
            if self.next_visible() != Some(':') {
                return Err("`?` without `:`".to_owned());
            }
            self.rest.next();
            let no = self.choice()?;
            if condition != 0 { yes } else { no }
        } else {
            condition
        };
        self.depth -= 1;
        Ok(value)
    }

    fn operator(&mut self, choices: &[&'static str]) -> Option<&'static str> {
        self.next_visible()?;
        let ahead: String = self.rest.clone().take(2).collect();
        let found = choices.iter().copied().find(|&op| ahead.starts_with(op))?;
        // `<` is not the start of `<<`.
        if found.len() == 1 && matches!(ahead.as_str(), "<<" | ">>" | "||" | "&&") {
            return None;
        }
        self.rest.nth(found.len() - 1);
        Some(found)
    }

    fn level(&mut self, level: usize) -> Result<i128, String> {
        let operators = LEVELS.get(level).copied().unwrap_or(TIGHTEST);
        let operand = |parser: &mut Self| match level {
            _ if level < LEVELS.len() => parser.level(level + 1),
            _ => parser.unary(),
        };
        let mut left = operand(self)?;
        while let Some(operator) = self.operator(operators) {
            let right = operand(self)?;
            left =
                apply(operator, left, right).ok_or_else(|| format!("no value: {left} {operator} {right}"))?;
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<i128, String> {
        match self.next_visible() {
            Some('-') => {
                self.rest.next();
                Ok(-self.unary()?)
            }
            Some('~') => {
                self.rest.next();
                Ok(!self.unary()?)
            }
            Some('(') => {
                self.rest.next();
                let value = self.choice()?;
                match self.next_visible() {
                    Some(')') => {
                        self.rest.next();
                        Ok(value)
                    }
                    _ => Err("`(` without `)`".to_owned()),
                }
            }
            Some('i') => {
                self.rest.next();
                Ok(self.index)
            }
            Some(c) if c.is_ascii_digit() => {
                let mut digits = String::new();
                while let Some(c) = self.rest.next_if(char::is_ascii_alphanumeric) {
                    digits.push(c);
                }
                super::value::integer(&digits).ok_or_else(|| format!("`{digits}` is not a number"))
            }
            Some(c) => Err(format!("`{c}` is not expected")),
            None => Err("an operand is missing".to_owned()),
        }
    }
}

fn apply(operator: &str, a: i128, b: i128) -> Option<i128> {
    let truth = |condition: bool| Some(i128::from(condition));
    match operator {
        "||" => truth(a != 0 || b != 0),
        "&&" => truth(a != 0 && b != 0),
        "|" => Some(a | b),
        "^" => Some(a ^ b),
        "&" => Some(a & b),
        "==" => truth(a == b),
        "!=" => truth(a != b),
        "<=" => truth(a <= b),
        ">=" => truth(a >= b),
        "<" => truth(a < b),
        ">" => truth(a > b),
        "<<" => u32::try_from(b).ok().filter(|&b| b < 100).and_then(|b| a.checked_mul(1 << b)),
        ">>" => u32::try_from(b).ok().and_then(|b| a.checked_shr(b)),
        "+" => a.checked_add(b),
        "-" => a.checked_sub(b),
        "*" => a.checked_mul(b),
        "/" => a.checked_div(b),
        _ => a.checked_rem(b),
    }
}

#[cfg(test)]
mod tests {
    use super::evaluate;

    #[test]
    fn operators_bind_as_in_c() {
        let cases = [
            ("1 + 2 * i", 21),
            ("(1 + 2) * i", 30),
            ("i % 3 == 1 ? -1 : 5", -1),
            ("1 << 3 + 1 | 1", 17),
            ("~i & 0xf", 5),
            ("i < 10 ? 1 : i > 9 ? 2 : 3", 2),
            ("i << 1 >> 2 ^ 1", 4),
            ("7 - 2 - 1", 4),
            ("i == 1 || i == 10 && i & 2", 1),
            ("i == 10 || 0 && 0", 1),
        ];
        for (text, value) in cases {
            assert_eq!(evaluate(text, 10), Ok(value), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        for text in ["", "1 +", "(1", "1 ? 2", "1 / 0", "j", "1 2", "3 << 200", "0x"] {
            assert!(evaluate(text, 0).is_err(), "{text}");
        }
        assert!(evaluate(&"(".repeat(1000), 0).is_err());
        assert!(evaluate(&"-".repeat(200), 0).is_err());
    }
}
