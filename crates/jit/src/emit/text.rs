//! LLVM's text, line by line: types, constants, instructions, labels.

use std::fmt::Write;

/// Whether an instruction is for all lanes at once or for what they have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Scalar,
    Vector,
}

/// Weights of a branch that is nearly always taken.
const LIKELY: &str = ", !prof !0";

/// The text of a function's body.
#[derive(Debug)]
pub(crate) struct Text {
    pub(crate) width: u32,
    pub(crate) lines: String,
    next: u32,
    /// The label of the block that is being written.
    pub(crate) label: String,
}

impl Text {
    pub(crate) fn new(width: u32) -> Self {
        Self::numbered(width, 0)
    }

    /// The same, whose names are numbered from some number on.
    pub(crate) fn numbered(width: u32, next: u32) -> Self {
        Self { width, lines: String::new(), next, label: "start".to_owned() }
    }

    fn fresh(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    /// A line without a result.
    pub(crate) fn line(&mut self, text: &str) {
        let _ = writeln!(self.lines, "  {text}");
    }

    /// An instruction; the name of its result.
    pub(crate) fn value(&mut self, text: &str) -> String {
        let name = format!("%t{}", self.fresh());
        let _ = writeln!(self.lines, "  {name} = {text}");
        name
    }

    /// A label that nothing else has.
    pub(crate) fn new_label(&mut self) -> String {
        format!("x{}", self.fresh())
    }

    /// Begins a block. The one before must have ended.
    pub(crate) fn begin(&mut self, label: &str) {
        let _ = writeln!(self.lines, "{label}:");
        label.clone_into(&mut self.label);
    }

    pub(crate) fn jump(&mut self, label: &str) {
        self.line(&format!("br label %{label}"));
    }

    pub(crate) fn branch(&mut self, condition: &str, yes: &str, no: &str) {
        self.line(&format!("br i1 {condition}, label %{yes}, label %{no}"));
    }

    pub(crate) fn likely(&mut self, condition: &str, yes: &str, no: &str) {
        self.line(&format!("br i1 {condition}, label %{yes}, label %{no}{LIKELY}"));
    }

    /// The row's turn is over; where it goes on.
    pub(crate) fn end_turn(&mut self, state: i32) {
        self.line(&format!("store i32 {state}, ptr %end"));
        self.jump("ended");
    }

    /// The type of integers of so many bits.
    pub(crate) fn int(&self, bits: u32, kind: Kind) -> String {
        self.of(&format!("i{bits}"), kind)
    }

    /// The type of floats of so many bits.
    pub(crate) fn float(&self, bits: u32, kind: Kind) -> String {
        self.of(if bits == 32 { "float" } else { "double" }, kind)
    }

    fn of(&self, element: &str, kind: Kind) -> String {
        match kind {
            Kind::Scalar => element.to_owned(),
            Kind::Vector => format!("<{} x {element}>", self.width),
        }
    }

    /// The suffix by which intrinsics are told apart: `i32`, `v16i32`.
    pub(crate) fn suffix(&self, element: &str, kind: Kind) -> String {
        match kind {
            Kind::Scalar => element.to_owned(),
            Kind::Vector => format!("v{}{element}", self.width),
        }
    }

    /// An integer constant.
    pub(crate) fn constant(&self, value: i64, bits: u32, kind: Kind) -> String {
        match kind {
            Kind::Scalar => value.to_string(),
            _ if value == 0 => "zeroinitializer".to_owned(),
            Kind::Vector => self.list(bits, |_| value),
        }
    }

    /// A constant of floats, as LLVM writes it.
    pub(crate) fn float_constant(&self, number: &str, bits: u32, kind: Kind) -> String {
        match kind {
            Kind::Scalar => number.to_owned(),
            Kind::Vector => {
                let element = format!("{} {number}", self.float(bits, Kind::Scalar));
                format!("<{}>", vec![element; self.width as usize].join(", "))
            }
        }
    }

    /// A vector constant.
    pub(crate) fn list(&self, bits: u32, element: impl Fn(i64) -> i64) -> String {
        let elements: Vec<_> =
            (0..i64::from(self.width)).map(|l| format!("i{bits} {}", element(l))).collect();
        format!("<{}>", elements.join(", "))
    }

    /// All lanes of a mask.
    pub(crate) fn all(&self) -> String {
        format!("<{}>", vec!["i1 true"; self.width as usize].join(", "))
    }

    /// A scalar in all lanes.
    pub(crate) fn splat(&mut self, scalar: &str, element: &str) -> String {
        let width = self.width;
        let first =
            self.value(&format!("insertelement <{width} x {element}> poison, {element} {scalar}, i32 0"));
        self.value(&format!(
            "shufflevector <{width} x {element}> {first}, <{width} x {element}> poison, <{width} x i32> zeroinitializer"
        ))
    }

    /// The less of two numbers of 32 bits without signs.
    pub(crate) fn least(&mut self, a: &str, b: &str, kind: Kind) -> String {
        let (word, bit) = (self.int(32, kind), self.int(1, kind));
        let less = self.value(&format!("icmp ult {word} {a}, {b}"));
        self.value(&format!("select {bit} {less}, {word} {a}, {word} {b}"))
    }

    /// A mask as the bits of an integer of 32.
    pub(crate) fn mask_bits(&mut self, mask: &str) -> String {
        let width = self.width;
        let bits = self.value(&format!("bitcast <{width} x i1> {mask} to i{width}"));
        match width {
            32 => bits,
            _ => self.value(&format!("zext i{width} {bits} to i32")),
        }
    }

    /// Whether all lanes of a mask are set.
    pub(crate) fn are_all(&mut self, mask: &str) -> String {
        let width = self.width;
        let bits = self.value(&format!("bitcast <{width} x i1> {mask} to i{width}"));
        self.value(&format!("icmp eq i{width} {bits}, -1"))
    }

    /// Whether some lane of a mask is set.
    pub(crate) fn any(&mut self, mask: &str) -> String {
        let width = self.width;
        let bits = self.value(&format!("bitcast <{width} x i1> {mask} to i{width}"));
        self.value(&format!("icmp ne i{width} {bits}, 0"))
    }
}
