//! What a buffer holds against what it should hold.

use super::binding::Contents;
use super::element::Element;
use super::grammar::Tolerance;
use serde_json::{Value, json};

/// Differences that are shown one by one.
const SHOWN: usize = 10;

/// The outcome of a comparison.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Comparison {
    elements: u64,
    /// Elements outside of the tolerance.
    pub(crate) different: u64,
    /// The first of those: index, value, expected value.
    first: Vec<(u64, u64, u64)>,
    /// The largest difference of two numbers, within the tolerance or not.
    max_abs: f64,
    /// The largest distance of two values in steps of the type.
    max_ulp: u128,
    /// Elements of which exactly one is NaN: they have no difference.
    nan: u64,
}

impl Tolerance {
    fn permits(&self, element: Element, value: u64, expected: u64) -> bool {
        if element.same(value, expected) {
            return true;
        }
        let (v, e) = (element.to_f64(value), element.to_f64(expected));
        let bound = self.abs + self.rel * e.abs();
        // Without a tolerance even the two zeros differ; an infinity is near to nothing but itself.
        let near = bound > 0.0 && e.is_finite() && (v - e).abs() <= bound;
        let steps = || element.distance(value, expected).is_some_and(|steps| steps <= self.ulp.into());
        near || (self.ulp > 0 && steps())
    }
}

/// Compares all elements.
pub(crate) fn compare(
    element: Element,
    bytes: &[u8],
    expected: &Contents,
    tolerance: &Tolerance,
) -> Comparison {
    let mut comparison =
        Comparison { elements: (bytes.len() / element.bytes()) as u64, ..Comparison::default() };
    for index in 0..comparison.elements {
        let value = element.get(bytes, index as usize);
        let expected = expected.at(element, index);
        match element.distance(value, expected) {
            Some(steps) => {
                let difference = (element.to_f64(value) - element.to_f64(expected)).abs();
                comparison.max_abs = comparison.max_abs.max(difference);
                comparison.max_ulp = comparison.max_ulp.max(steps);
            }
            None => comparison.nan += u64::from(!element.same(value, expected)),
        }
        if !tolerance.permits(element, value, expected) {
            comparison.different += 1;
            if comparison.first.len() < SHOWN {
                comparison.first.push((index, value, expected));
            }
        }
    }
    comparison
}

impl Comparison {
    pub(crate) fn passed(&self) -> bool {
        self.different == 0
    }

    /// Lines that tell what differs; `shape` turns indices into those of the array.
    pub(crate) fn text(&self, name: &str, element: Element, shape: &[u64]) -> String {
        use crate::terminal::thousands;
        let mut text = format!(
            "{name}: {} of {} elements differ from what is expected\n",
            thousands(self.different),
            thousands(self.elements)
        );
        for (index, value, expected) in &self.first {
            let place = place(*index, shape);
            let (value, expected) = (element.text(*value), element.text(*expected));
            text += &format!("  {name}{place} = {value}, expected {expected}\n");
        }
        let rest = self.different - self.first.len() as u64;
        if rest > 0 {
            text += &format!("  ... and {} more\n", thousands(rest));
        }
        text += &format!("  largest difference {:?}", self.max_abs);
        if element.is_float() {
            text += &format!(", {} ulp", self.max_ulp);
        }
        if self.nan > 0 {
            text += &format!("; {} have NaN on one side", thousands(self.nan));
        }
        text + "\n"
    }

    pub(crate) fn json(&self, element: Element, shape: &[u64]) -> Value {
        let first: Vec<_> = self
            .first
            .iter()
            .map(|(index, value, expected)| {
                let (value, expected) = (element.json(*value), element.json(*expected));
                json!({ "index": indices(*index, shape), "value": value, "expected": expected })
            })
            .collect();
        // JSON has no infinity.
        let max_abs = serde_json::Number::from_f64(self.max_abs);
        json!({
            "passed": self.passed(),
            "elements": self.elements,
            "different": self.different,
            "first": first,
            "max_abs": max_abs.map_or_else(|| self.max_abs.to_string().into(), Value::Number),
            "max_ulp": u64::try_from(self.max_ulp).unwrap_or(u64::MAX),
            "nan_on_one_side": self.nan,
        })
    }
}

/// The index of an element in each dimension.
fn indices(index: u64, shape: &[u64]) -> Vec<u64> {
    let mut rest = index;
    let mut indices: Vec<_> = shape
        .iter()
        .rev()
        .map(|&extent| {
            let extent = extent.max(1);
            let index = rest % extent;
            rest /= extent;
            index
        })
        .collect();
    indices.reverse();
    indices
}

/// `[3][5]`, as C would write it.
fn place(index: u64, shape: &[u64]) -> String {
    indices(index, shape).iter().map(|index| format!("[{index}]")).collect()
}

#[cfg(test)]
mod tests {
    use super::super::fill::Fill;
    use super::*;

    fn f32s(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|v| v.to_le_bytes()).collect()
    }

    fn compared(values: &[f32], expected: &[f32], tolerance: Tolerance) -> Comparison {
        let element = Element::from_name("f32").unwrap();
        compare(element, &f32s(values), &Contents::Bytes(f32s(expected)), &tolerance)
    }

    #[test]
    fn without_a_tolerance_bits_count() {
        let exact = Tolerance::default();
        assert!(compared(&[1.0, f32::NAN, f32::INFINITY], &[1.0, -f32::NAN, f32::INFINITY], exact).passed());
        let zeros = compared(&[0.0], &[-0.0], exact);
        assert_eq!((zeros.different, zeros.max_abs, zeros.max_ulp), (1, 0.0, 0));
        let nan = compared(&[f32::NAN], &[1.0], exact);
        assert_eq!((nan.different, nan.nan), (1, 1));
    }

    #[test]
    fn one_bound_is_enough() {
        let next = f32::from_bits(1.0_f32.to_bits() + 3);
        assert!(compared(&[next], &[1.0], Tolerance { ulp: 3, ..Tolerance::default() }).passed());
        assert!(!compared(&[next], &[1.0], Tolerance { ulp: 2, ..Tolerance::default() }).passed());
        assert!(compared(&[101.0], &[100.0], Tolerance { rel: 0.01, ..Tolerance::default() }).passed());
        assert!(!compared(&[102.0], &[100.0], Tolerance { rel: 0.01, ..Tolerance::default() }).passed());
        assert!(compared(&[0.5, -0.0], &[0.0, 0.0], Tolerance { abs: 0.5, ..Tolerance::default() }).passed());
        let infinite = Tolerance { abs: 1.0, rel: 1.0, ulp: 0 };
        assert!(!compared(&[1.0], &[f32::INFINITY], infinite).passed());
        assert!(!compared(&[f32::NAN], &[1.0], infinite).passed());
    }

    #[test]
    fn differences_are_told_with_their_place() {
        let element = Element::from_name("s32").unwrap();
        let bytes: Vec<u8> = (0..24_i32).flat_map(i32::to_le_bytes).collect();
        let expected = Contents::Fill(Fill::Constant(0));
        let comparison = compare(element, &bytes, &expected, &Tolerance::default());
        assert_eq!(comparison.different, 23);
        let text = comparison.text("c", element, &[4, 6]);
        for part in ["23 of 24", "c[0][1] = 1, expected 0", "c[1][4] = 10", "and 13 more", "difference 23.0"]
        {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
        assert!(!text.contains("c[1][5]"), "{text}");
    }
}
