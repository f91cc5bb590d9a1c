//! Expressions as debuggers take them: C's, over the program's variables, PTX registers and memory.

use crate::Error;

/// Parentheses and prefixes within one another.
const DEEPEST: u32 = 64;

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    /// `42`, `0x2a`.
    Integer(i128),
    /// `1.5`.
    Float(f64),
    /// A variable of the program or of PTX, or `threadIdx`.
    Name(String),
    /// A PTX register, `%r1` or `$r1`; a special one, `%tid.x`.
    Register(String),
    /// `-a`, `!a`, `~a`, `*a`, `&a`.
    Prefix(char, Box<Self>),
    /// `a + b` and so on.
    Binary(&'static str, Box<Self>, Box<Self>),
    /// `a[b]`.
    Index(Box<Self>, Box<Self>),
    /// `a.b`, `a->b`.
    Member(Box<Self>, String),
    /// `(float)a`, `(@shared int *)a`.
    Cast(TypeName, Box<Self>),
    /// `a@8`: so many elements from `a` on.
    Several(Box<Self>, u64),
}

/// A type as it is written: `unsigned int *`, `@shared float`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeName {
    /// The words before the asterisks.
    pub name: String,
    /// How many asterisks there are.
    pub pointers: u32,
    /// `shared`, `local`, `param`, `global`, `generic`: the memory that is pointed into.
    pub space: Option<String>,
}

/// Operators by precedence, the weakest first.
const BINARY: [&[&str]; 10] = [
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<=", ">=", "<", ">"],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

/// The words of C's type names.
const TYPE_WORDS: [&str; 14] = [
    "bool", "char", "short", "int", "long", "float", "double", "signed", "unsigned", "struct", "enum",
    "union", "const", "void",
];

/// Reads an expression.
///
/// # Errors
/// What is wrong with the text.
pub fn parse(text: &str) -> Result<Expression, Error> {
    let mut parser = Parser { rest: text.trim(), deep: 0 };
    let expression = parser.several()?;
    match parser.rest {
        "" => Ok(expression),
        rest => Err(Error::Expression(format!("`{rest}` is not part of an expression"))),
    }
}

/// The two sides of `a = b`, if a text is that.
pub(crate) fn assignment(text: &str) -> Option<(&str, &str)> {
    let is_one = |&(at, _): &(usize, &str)| {
        let before = text[..at].chars().next_back();
        !text[at + 1..].starts_with('=') && before.is_none_or(|c| !"=!<>".contains(c))
    };
    let (at, _) = text.match_indices('=').find(is_one)?;
    Some((text[..at].trim(), text[at + 1..].trim()))
}

struct Parser<'a> {
    rest: &'a str,
    deep: u32,
}

impl<'a> Parser<'a> {
    fn eat(&mut self, token: &str) -> bool {
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest.trim_start();
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, token: &str) -> Result<(), Error> {
        match self.eat(token) {
            true => Ok(()),
            false => Err(Error::Expression(format!("`{token}` is missing before `{}`", self.rest))),
        }
    }

    /// The longest beginning of such characters.
    fn take(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !belongs(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest.trim_start();
        taken
    }

    fn several(&mut self) -> Result<Expression, Error> {
        let first = self.binary(0)?;
        if !self.eat("@") {
            return Ok(first);
        }
        match self.number()? {
            Expression::Integer(count) if (1..=1 << 16).contains(&count) => {
                Ok(Expression::Several(Box::new(first), count as u64))
            }
            _ => Err(Error::Expression("behind `@` stands a number of elements, from 1 to 65536".to_owned())),
        }
    }

    fn binary(&mut self, level: usize) -> Result<Expression, Error> {
        let Some(operators) = BINARY.get(level) else { return self.prefix() };
        let mut left = self.binary(level + 1)?;
        loop {
            let clashes = |operator: &str| {
                // `&` is not the beginning of `&&`, `<` not that of `<<`.
                let behind = self.rest[operator.len()..].chars().next();
                operator.len() == 1
                    && behind.is_some_and(|c| "&|<>".contains(operator) && operator.starts_with(c))
            };
            let found =
                operators.iter().find(|operator| self.rest.starts_with(**operator) && !clashes(operator));
            let Some(operator) = found else { return Ok(left) };
            self.eat(operator);
            let right = self.binary(level + 1)?;
            left = Expression::Binary(operator, Box::new(left), Box::new(right));
        }
    }

    fn prefix(&mut self) -> Result<Expression, Error> {
        self.deep += 1;
        if self.deep > DEEPEST {
            return Err(Error::Expression("it is nested too deeply".to_owned()));
        }
        let result = self.prefix_within();
        self.deep -= 1;
        result
    }

    fn prefix_within(&mut self) -> Result<Expression, Error> {
        for operator in ['-', '!', '~', '*', '&'] {
            if self.rest.starts_with(operator) {
                self.rest = self.rest[1..].trim_start();
                return Ok(Expression::Prefix(operator, Box::new(self.prefix()?)));
            }
        }
        let before = self.rest;
        if self.eat("(") {
            if let Some(ty) = self.type_name()
                && self.eat(")")
            {
                return Ok(Expression::Cast(ty, Box::new(self.prefix()?)));
            }
            self.rest = before;
        }
        self.postfix()
    }

    /// A type in parentheses: it begins with a word of C's or a space, or it ends with an asterisk.
    fn type_name(&mut self) -> Option<TypeName> {
        let mut words = Vec::new();
        let mut space = None;
        loop {
            if self.eat("@") {
                space = Some(self.take(is_word).to_owned());
                continue;
            }
            match self.take(|c| is_word(c) || c == ':') {
                "" => break,
                word => words.push(word),
            }
        }
        let mut pointers = 0;
        while self.eat("*") {
            pointers += 1;
        }
        let known = words.first().is_some_and(|word| TYPE_WORDS.contains(word));
        let is_type =
            !words.is_empty() && (known || space.is_some() || pointers > 0 && self.rest.starts_with(')'));
        words.retain(|word| !["struct", "enum", "union", "const"].contains(word));
        is_type.then(|| TypeName { name: words.join(" "), pointers, space })
    }

    fn postfix(&mut self) -> Result<Expression, Error> {
        let mut value = self.primary()?;
        loop {
            if self.eat("[") {
                let index = self.binary(0)?;
                self.expect("]")?;
                value = Expression::Index(Box::new(value), Box::new(index));
            } else if self.eat("->") || self.eat(".") {
                let name = self.take(is_word);
                if name.is_empty() {
                    return Err(Error::Expression("the name of a member is missing".to_owned()));
                }
                value = Expression::Member(Box::new(value), name.to_owned());
            } else {
                return Ok(value);
            }
        }
    }

    fn primary(&mut self) -> Result<Expression, Error> {
        if self.eat("(") {
            let inner = self.binary(0)?;
            self.expect(")")?;
            return Ok(inner);
        }
        let first = self.rest.chars().next();
        match first {
            Some('0'..='9') => self.number(),
            Some('%' | '$') if self.rest[1..].starts_with(is_word) => {
                self.rest = &self.rest[1..];
                let mut name = format!("%{}", self.take(is_word));
                // `%tid.x`: a component, which a register of a program has not.
                if let Some(component) =
                    ["x", "y", "z"].into_iter().find(|c| self.rest.starts_with(&format!(".{c}")))
                {
                    self.rest = self.rest[2..].trim_start();
                    name += &format!(".{component}");
                }
                Ok(Expression::Register(name))
            }
            Some(c) if is_word(c) => {
                let name = self.take(|c| is_word(c) || c == ':' || c == '$');
                Ok(Expression::Name(name.to_owned()))
            }
            Some(_) => Err(Error::Expression(format!("`{}` is not an expression", self.rest))),
            None => Err(Error::Expression("an operand is missing".to_owned())),
        }
    }

    fn number(&mut self) -> Result<Expression, Error> {
        let text = self.take(|c| is_word(c) || c == '.');
        let digits = text.trim_end_matches(['u', 'U', 'l', 'L']);
        let integer = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
            Some(hex) => i128::from_str_radix(hex, 16).ok(),
            None => digits.parse().ok(),
        };
        let float = || text.trim_end_matches(['f', 'F']).parse().ok().map(Expression::Float);
        let wrong = || Error::Expression(format!("`{text}` is not a number"));
        integer.map(Expression::Integer).or_else(float).ok_or_else(wrong)
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(expression: &Expression) -> String {
        match expression {
            Expression::Integer(value) => value.to_string(),
            Expression::Float(value) => format!("{value:?}"),
            Expression::Name(name) | Expression::Register(name) => name.clone(),
            Expression::Prefix(operator, of) => format!("({operator}{})", text(of)),
            Expression::Binary(operator, a, b) => format!("({} {operator} {})", text(a), text(b)),
            Expression::Index(a, b) => format!("{}[{}]", text(a), text(b)),
            Expression::Member(of, name) => format!("{}.{name}", text(of)),
            Expression::Cast(ty, of) => {
                let space = ty.space.as_ref().map(|space| format!("@{space} ")).unwrap_or_default();
                format!("({space}{}{}){}", ty.name, "*".repeat(ty.pointers as usize), text(of))
            }
            Expression::Several(of, count) => format!("{}@{count}", text(of)),
        }
    }

    #[test]
    fn expressions_bind_as_in_c() {
        let cases = [
            ("a + b * 2 - 1", "((a + (b * 2)) - 1)"),
            ("a<b&&c==1||!d", "(((a < b) && (c == 1)) || (!d))"),
            ("a << 2 & 3", "((a << 2) & 3)"),
            ("*p->x[i + 1].y", "(*p.x[(i + 1)].y)"),
            ("(float)%f1 / 2.0", "((float)%f1 / 2.0)"),
            ("*(@shared int *)0x10", "(*(@shared int*)16)"),
            ("(Pair*)p", "(Pair*)p"),
            ("(a) + $r2", "(a + %r2)"),
            ("%tid.x == 3", "(%tid.x == 3)"),
            ("threadIdx.x % 32", "(threadIdx.x % 32)"),
            ("data[0]@8", "data[0]@8"),
            ("1.5f", "1.5"),
        ];
        for (written, expected) in cases {
            assert_eq!(parse(written).map(|e| text(&e)).ok().as_deref(), Some(expected), "{written}");
        }
    }

    #[test]
    fn what_is_no_expression_is_refused() {
        let deep = "(".repeat(500);
        for text in ["", "1 +", "a b", "a[1", "a.", "(", "1x", "@", "a@0", "a@b", deep.as_str()] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
