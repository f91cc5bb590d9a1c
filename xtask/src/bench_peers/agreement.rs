//! Whether two peers have computed the same.

use super::kernels::Agreement;
use anyhow::{Result, ensure};

/// How far the results of two peers lie apart, as a part of the largest; 0 if their bits are equal.
///
/// # Errors
/// Where they lie further apart than they may.
pub(super) fn deviation(agreement: Agreement, expected: &[u8], found: &[u8]) -> Result<f64> {
    ensure!(expected.len() == found.len(), "{} bytes instead of {}", found.len(), expected.len());
    match agreement {
        Agreement::Bits => {
            let mut elements = expected.chunks_exact(4).zip(found.chunks_exact(4));
            let at = elements.position(|(e, f)| e != f);
            ensure!(at.is_none(), "element {} differs", at.unwrap_or_default());
            Ok(0.0)
        }
        Agreement::Floats(limit, _) => within(limit, &floats(expected), &floats(found)),
    }
}

fn floats(bytes: &[u8]) -> Vec<f64> {
    let (chunks, _) = bytes.as_chunks::<4>();
    chunks.iter().map(|&bytes| f32::from_le_bytes(bytes).into()).collect()
}

fn within(limit: f64, expected: &[f64], found: &[f64]) -> Result<f64> {
    let largest = expected.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
    ensure!(largest.is_finite() && largest > 0.0, "the largest result is {largest}");
    let mut most = 0.0_f64;
    for (at, (e, f)) in expected.iter().zip(found).enumerate() {
        let apart = (e - f).abs() / largest;
        // What is no number is not within the limit either.
        ensure!(
            apart <= limit,
            "element {at} is {f} instead of {e}: {apart:.1e} of the largest, {limit:.1e} allowed"
        );
        most = most.max(apart);
    }
    Ok(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    #[test]
    fn a_limit_is_a_part_of_the_largest() {
        let agreement = Agreement::Floats(1e-3, "");
        let expected = bytes(&[1000.0, 1.0]);
        assert_eq!(deviation(agreement, &expected, &bytes(&[1000.5, 1.0])).unwrap(), 0.0005);
        assert!(deviation(agreement, &expected, &bytes(&[1000.0, 2.5])).is_err());
        assert!(deviation(agreement, &expected, &bytes(&[1000.0, f32::NAN])).is_err());
        assert!(deviation(agreement, &expected, &bytes(&[1000.0])).is_err());
    }

    #[test]
    fn bits_are_equal_or_not() {
        assert!(deviation(Agreement::Bits, &bytes(&[0.0]), &bytes(&[-0.0])).is_err());
        assert_eq!(deviation(Agreement::Bits, &bytes(&[1.0]), &bytes(&[1.0])).unwrap(), 0.0);
    }
}
