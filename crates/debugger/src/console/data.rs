//! Printing: expressions, all lanes, memory, types, variables, registers.

use super::{Console, Sources, format_of, table};
use crate::evaluate::Scene;
use crate::expression;
use crate::value::{Format, Types, Value, Where};
use crate::{Error, Expression};

impl<S: Sources> Console<S> {
    pub(super) fn data(&mut self, name: &str, rest: &str) -> Result<String, Error> {
        match name {
            "set" => {
                let rest = rest.strip_prefix("var ").unwrap_or(rest).trim();
                let (to, from) = expression::assignment(rest)
                    .ok_or_else(|| Error::Command("set takes EXPRESSION = VALUE".to_owned()))?;
                self.session.assign(to, from)?;
                Ok(String::new())
            }
            "print" => {
                if let Some((to, from)) = expression::assignment(format_of(rest).1) {
                    self.session.assign(to, from)?;
                    let before = rest.strip_suffix(format_of(rest).1).unwrap_or_default();
                    return self.data("print", &format!("{before}{to}"));
                }
                let (format, expression) = formatted(rest)?;
                let scene = self.session.scene()?;
                let text = scene.text(&scene.evaluate(&expression)?, format)?;
                Ok(format!("{text}\n"))
            }
            "lanes" => {
                let (letters, expression) = format_of(rest);
                let Some((to, from)) = expression::assignment(expression) else { return self.lanes(rest) };
                self.session.assign_in_lanes(to, from)?;
                self.lanes(&if letters.is_empty() { to.to_owned() } else { format!("/{letters} {to}") })
            }
            "x" => self.memory(rest),
            "whatis" => {
                let scene = self.session.scene()?;
                let value = scene.evaluate(&expression::parse(rest)?)?;
                let place = match &value.place {
                    Where::Memory(address) => format!(", at {address:#x}"),
                    Where::Register { .. } => ", in a register".to_owned(),
                    Where::Bytes(_) => ", not in memory".to_owned(),
                    Where::Missing(why) => format!(", {why}"),
                };
                Ok(format!("{}{place}\n", scene.symbols.info.ty_name(&value.ty)))
            }
            "locals" => self.variables(false),
            "args" => self.variables(true),
            _ => self.registers(rest),
        }
    }

    /// The variables in sight that are parameters, or are not.
    fn variables(&self, parameters: bool) -> Result<String, Error> {
        let scene = self.session.scene()?;
        let info = &scene.symbols.info;
        let mut text = String::new();
        for (scope, variable) in scene.variables() {
            let of_unit = info.scope(scope).parent.is_none();
            if of_unit || variable.parameter != parameters || variable.name.is_empty() {
                continue;
            }
            let value = scene.variable(scope, variable);
            let value = scene.text(&value, Format::Natural).unwrap_or_else(|error| format!("<{error}>"));
            text += &format!("{} = {value}\n", variable.name);
        }
        Ok(match (text.is_empty(), info.has_entries()) {
            (false, _) => text,
            (true, true) => "None.\n".to_owned(),
            (true, false) => {
                "The module describes no variables: compile with -G, or look at `info registers`.\n"
                    .to_owned()
            }
        })
    }

    /// An expression in every lane of the warp in focus.
    fn lanes(&self, rest: &str) -> Result<String, Error> {
        let (format, expression) = formatted(rest)?;
        let focus = self.session.scene()?;
        let mut rows = vec![["lane", "thread", "value"].map(str::to_owned).to_vec()];
        for lane in focus.lanes() {
            let [x, y, z] = focus.warp.threads[lane];
            let value = match focus.warp.group_of(lane) {
                None => "exited".to_owned(),
                Some(group) => {
                    let (frame, place) = (group.frame, group.place);
                    // A lane elsewhere may not have the variable in sight.
                    let scene = Scene { lane, frame, place, ..focus };
                    let value = scene.evaluate(&expression).and_then(|value| scene.text(&value, format));
                    value.unwrap_or_else(|error| format!("<{error}>"))
                }
            };
            let mark = if lane == focus.lane { "*" } else { " " };
            rows.push(vec![format!("{mark}{lane}"), format!("({x},{y},{z})"), value]);
        }
        Ok(table(&rows))
    }

    /// `x/8xw ADDRESS`.
    fn memory(&self, rest: &str) -> Result<String, Error> {
        let (letters, expression) = format_of(rest);
        let digits: String = letters.chars().take_while(char::is_ascii_digit).collect();
        let count = digits.parse::<u64>().unwrap_or(1).clamp(1, 4096);
        let (mut format, mut size) = (Format::Hexadecimal, 4);
        for letter in letters.chars().skip(digits.len()) {
            match letter {
                'b' => size = 1,
                'h' => size = 2,
                'w' => size = 4,
                'g' => size = 8,
                other => {
                    format = Format::of(other)
                        .ok_or_else(|| Error::Command(format!("`{other}` is neither a format nor a size")))?;
                }
            }
        }
        let scene = self.session.scene()?;
        let value = scene.evaluate(&expression::parse(expression)?)?;
        let start = scene.number(&value)?.as_i128() as u64;
        let ty = match size {
            1 => ptx::types::ScalarType::U8,
            2 => ptx::types::ScalarType::U16,
            4 => ptx::types::ScalarType::U32,
            _ => ptx::types::ScalarType::U64,
        };
        let each = 16 / size;
        let mut text = String::new();
        for first in (0..count).step_by(each as usize) {
            text += &format!("{:#x}:", start.wrapping_add(first * size));
            for index in first..(first + each).min(count) {
                let place = Where::Memory(start.wrapping_add(index * size));
                let value = Value { ty: crate::value::Ty::Scalar(ty), place };
                let shown = scene.text(&value, format)?;
                let width = size as usize * 2 + 2;
                text += &match format {
                    Format::Hexadecimal => {
                        let digits = shown.trim_start_matches("0x");
                        format!(" 0x{digits:0>width$}", width = width - 2)
                    }
                    _ => format!(" {shown:>width$}"),
                };
            }
            text.push('\n');
        }
        Ok(text)
    }

    /// All registers of the thread in focus, or those named in all lanes.
    fn registers(&self, names: &str) -> Result<String, Error> {
        let scene = self.session.scene()?;
        let module = self.session.program().module();
        let Some(body) = &module.functions[scene.place.0.index()].body else { return Ok(String::new()) };
        if !names.is_empty() {
            return names.split_whitespace().map(|name| self.lanes(name)).collect();
        }
        let mut rows = vec![["register", "type", "hexadecimal", "value"].map(str::to_owned).to_vec()];
        for register in &body.registers {
            let name = module.text(register.name);
            let Ok(value) = scene.evaluate(&Expression::Register(name.to_owned())) else { continue };
            let text = |format| scene.text(&value, format).unwrap_or_else(|error| error.to_string());
            let (hexadecimal, natural) = (text(Format::Hexadecimal), text(Format::Natural));
            rows.push(vec![name.to_owned(), register.ty.to_string(), hexadecimal, natural]);
        }
        Ok(table(&rows))
    }
}

/// A format and an expression.
fn formatted(rest: &str) -> Result<(Format, Expression), Error> {
    let (letters, expression) = format_of(rest);
    let format = match letters.chars().next() {
        None => Format::Natural,
        Some(letter) => Format::of(letter)
            .ok_or_else(|| Error::Command(format!("`/{letters}` is not a format: x d u t f c")))?,
    };
    Ok((format, expression::parse(expression)?))
}
