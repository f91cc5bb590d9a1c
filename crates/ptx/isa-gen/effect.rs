//! The words of a line `does`: what a semantic function does beside computing results.

use super::emit::camel_case;
use super::model::Table;
use std::fmt::Write;

/// The names in a line `does name ...: effect ...`, and what the functions with these names do.
pub(crate) fn line(text: &str) -> Result<(Vec<&str>, Effects), String> {
    let (names, words) = text.split_once(':').ok_or("expected `does name ...: effect ...`")?;
    let mut effects = Effects::default();
    if words.trim() != "pure" {
        words.split_whitespace().try_for_each(|word| effects.add(word))?;
        if effects == Effects::default() {
            return Err("what does nothing else is `pure`".to_owned());
        }
    }
    Ok((names.split_whitespace().collect(), effects))
}

/// Whether each semantic function of the table has its effects, on operands of its own.
pub(crate) fn check(table: &Table) -> Result<(), String> {
    let mut sems = table.forms.iter().filter_map(|form| form.sem.as_ref());
    if let Some(sem) = sems.find(|sem| !table.effects.contains_key(*sem)) {
        return Err(format!("no line `does {sem}: ...` says what `{sem}` does"));
    }
    for (sem, effects) in &table.effects {
        let forms: Vec<_> = table.forms.iter().filter(|form| form.sem.as_ref() == Some(sem)).collect();
        if forms.is_empty() {
            return Err(format!("`does {sem}`, but no form is executed by `{sem}`"));
        }
        for operand in effects.operands() {
            let mut operands = forms.iter().flat_map(|form| &form.operands);
            if !operands.any(|known| known.identifier() == operand) {
                return Err(format!("`{sem}` touches `{operand}`, which is no operand of it"));
            }
        }
    }
    Ok(())
}

/// The effects of one semantic function, as the runtime's `Effects` spells them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Effects {
    /// Fields that differ from `Effects::PURE`, with their values.
    fields: Vec<(&'static str, String)>,
    /// Operand, access, proxy and footprint.
    memory: Vec<[String; 4]>,
    /// Fields of the runtime's `State`.
    state: Vec<&'static str>,
}

impl Effects {
    /// Adds what a word says.
    pub(crate) fn add(&mut self, word: &str) -> Result<(), String> {
        if let Some((access, rest)) = word.split_once('(') {
            let (operand, rest) = rest.split_once(')').ok_or("`)` is missing")?;
            let access = match access {
                "load" => "Load".to_owned(),
                "store" => "Store".to_owned(),
                "atomic" => "Atomic".to_owned(),
                "cas" => "CompareAndSwap".to_owned(),
                "reduce" => "Reduce".to_owned(),
                _ => match access.strip_prefix("mbarrier.") {
                    Some("inval") => "Mbarrier(MbarrierAction::Invalidate)".to_owned(),
                    Some(action @ ("init" | "expect_tx" | "complete_tx" | "arrive" | "wait")) => {
                        format!("Mbarrier(MbarrierAction::{})", camel_case(action))
                    }
                    _ => return Err(format!("`{access}` is not an access")),
                },
            };
            let (mut proxy, mut footprint) = ("Generic".to_owned(), "Lane".to_owned());
            for name in rest.split('.').filter(|name| !name.is_empty()) {
                match name {
                    "async" | "texture" | "surface" | "tensormap" | "multimem" => proxy = camel_case(name),
                    "rows" | "matrix" | "descriptor" | "block" => footprint = camel_case(name),
                    _ => return Err(format!("`{name}` is neither a proxy nor a footprint")),
                }
            }
            self.memory.push([operand.to_owned(), access, proxy, footprint]);
            return Ok(());
        }
        let group = |name: &str| match name {
            "copy" | "bulk" | "wgmma" | "mbarrier" | "tensor_core" | "tensor_load" | "tensor_store" => {
                Ok(format!("Group::{}", camel_case(name)))
            }
            _ => Err(format!("`{name}` is not a kind of groups")),
        };
        let (kind, rest) = word.split_once('.').or_else(|| word.split_once('=')).unwrap_or((word, ""));
        match (kind, rest) {
            ("branch" | "switch" | "call" | "return" | "exit" | "trap", "") => {
                self.set("flow", format!("Flow::{}", camel_case(kind)))
            }
            ("warp" | "warpgroup", "") => {
                self.set("convergence", format!("Convergence::{}", camel_case(kind)))
            }
            ("barrier", rest) => {
                let (of, parts) = rest.split_once('.').ok_or("a barrier needs its threads and a part")?;
                if !matches!(of, "cta" | "cluster") || !matches!(parts, "arrive" | "wait" | "sync") {
                    return Err(format!("`{word}` is not a barrier"));
                }
                let barrier = format!(
                    "Some(Barrier {{ of: Meeting::{}, arrives: {}, waits: {} }})",
                    camel_case(of),
                    parts != "wait",
                    parts != "arrive"
                );
                self.set("barrier", barrier)
            }
            ("fence", "memory" | "proxy") => self.set("fence", format!("Some(Fence::{})", camel_case(rest))),
            ("async", name) => self.set("asynchronous", format!("Some({})", group(name)?)),
            ("commit" | "wait" | "arrive" | "order", name) if !word.contains('=') => {
                let effect = format!("Some(GroupEffect::{}({}))", camel_case(kind), group(name)?);
                self.set("groups", effect)
            }
            ("carry", "read") => self.hidden("reads_carry"),
            ("carry", "write") => self.hidden("writes_carry"),
            ("stack", "") => self.hidden("stack"),
            ("lanes", "") => self.hidden("active_lanes"),
            ("outside", "") => self.hidden("outside"),
            ("waits", "") => self.set("waits", "true".to_owned()),
            ("order", "weak" | "relaxed" | "acquire" | "release" | "acq_rel" | "sc") => {
                self.set("order", format!("Some(Order::{})", camel_case(rest)))
            }
            ("scope", "cta" | "cluster" | "gpu" | "sys") => {
                self.set("scope", format!("Some(Scope::{})", camel_case(rest)))
            }
            _ => Err(format!("`{word}` is not an effect")),
        }
    }

    fn set(&mut self, field: &'static str, value: String) -> Result<(), String> {
        if self.fields.iter().any(|(known, _)| *known == field) {
            return Err(format!("two effects say `{field}`"));
        }
        self.fields.push((field, value));
        Ok(())
    }

    fn hidden(&mut self, field: &'static str) -> Result<(), String> {
        self.state.push(field);
        Ok(())
    }

    /// The operands whose memory is touched.
    pub(crate) fn operands(&self) -> impl Iterator<Item = &str> {
        self.memory.iter().map(|[operand, ..]| operand.as_str())
    }

    /// The expression of the runtime's `Effects`.
    pub(crate) fn expression(&self) -> String {
        let mut text = "Effects { ".to_owned();
        for (field, value) in &self.fields {
            let _ = write!(text, "{field}: {value}, ");
        }
        if !self.memory.is_empty() {
            text += "memory: &[";
            for [operand, access, proxy, footprint] in &self.memory {
                let _ = write!(
                    text,
                    "MemoryEffect {{ operand: {operand:?}, access: Access::{access}, proxy: Proxy::{proxy}, \
                     footprint: Footprint::{footprint} }}, "
                );
            }
            text += "], ";
        }
        if !self.state.is_empty() {
            let fields: Vec<_> = self.state.iter().map(|field| format!("{field}: true")).collect();
            let _ = write!(text, "state: State {{ {}, ..State::NONE }}, ", fields.join(", "));
        }
        text + "..Effects::PURE }"
    }
}
