//! NumPy's `.npy` files: the header by a library, the elements as they are.

use super::element::Element;
use npyz::{DType, Endianness, NpyHeader, Order, TypeChar, WriteOptions, WriterBuilder};
use ptx::types::ScalarType;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;

/// An array: elements in C order, little-endian.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Array {
    pub(crate) element: Element,
    pub(crate) shape: Vec<u64>,
    pub(crate) bytes: Vec<u8>,
}

/// Whether a path is one of a `.npy` file.
pub(crate) fn is_npy(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("npy"))
}

/// Reads a file.
pub(crate) fn read(path: &Path) -> Result<Array, String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    parse(BufReader::new(file))
}

fn parse(mut reader: impl Read) -> Result<Array, String> {
    let header = NpyHeader::from_reader(&mut reader).map_err(|error| format!("no .npy file: {error}"))?;
    let descr = header.dtype().descr();
    let unusable = || format!("its dtype {descr} is not one that a buffer can have");
    let DType::Plain(dtype) = header.dtype() else { return Err(unusable()) };
    let element = element(dtype.type_char(), dtype.size_field()).ok_or_else(unusable)?;
    let shape = header.shape().to_vec();
    if header.order() == Order::Fortran && shape.iter().filter(|&&extent| extent > 1).count() > 1 {
        return Err("it is in Fortran order; save numpy.ascontiguousarray(a)".into());
    }
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    let elements = shape.iter().try_fold(element.bytes() as u64, |n, extent| n.checked_mul(*extent));
    if elements != Some(bytes.len() as u64) {
        return Err(format!("it holds {} bytes, which its shape {shape:?} does not say", bytes.len()));
    }
    if dtype.endianness() == Endianness::Big {
        bytes.chunks_mut(element.bytes()).for_each(<[u8]>::reverse);
    }
    Ok(Array { element, shape, bytes })
}

/// The element of a NumPy type. Two opaque bytes are how the `ml_dtypes` package saves bfloat16.
fn element(kind: TypeChar, size: u64) -> Option<Element> {
    let name = match (kind, size) {
        (TypeChar::Bool, 1) => "u8".into(),
        (TypeChar::RawData, 2) => "bf16".into(),
        (TypeChar::Int, _) => format!("s{}", size * 8),
        (TypeChar::Uint, _) => format!("u{}", size * 8),
        (TypeChar::Float, _) => format!("f{}", size * 8),
        _ => return None,
    };
    Element::from_name(&name)
}

/// Writes a file.
pub(crate) fn write(path: &Path, element: Element, shape: &[u64], bytes: &[u8]) -> io::Result<()> {
    let mut writer = BufWriter::new(File::create(path)?);
    print(&mut writer, element, shape, bytes)?;
    writer.flush()
}

fn print(writer: &mut impl Write, element: Element, shape: &[u64], bytes: &[u8]) -> io::Result<()> {
    let size = element.bytes();
    let order = if size == 1 { '|' } else { '<' };
    let name = match element.scalar_type() {
        ScalarType::Bf16 => "|V2".into(),
        ty if element.is_float() => format!("<f{}", ty.bytes()),
        ScalarType::S8 | ScalarType::S16 | ScalarType::S32 | ScalarType::S64 => format!("{order}i{size}"),
        _ => format!("{order}u{size}"),
    };
    let dtype = name.parse().map_err(|error| io::Error::other(format!("dtype {name}: {error}")))?;
    let options = WriteOptions::new_header_only().dtype(DType::new_scalar(dtype)).shape(shape);
    options.writer(&mut *writer).write_header_only()?;
    writer.write_all(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A file as NumPy writes it.
    fn file(descr: &str, fortran: &str, shape: &str, data: &[u8]) -> Vec<u8> {
        let mut header = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}");
        while (10 + header.len() + 1) % 64 != 0 {
            header.push(' ');
        }
        header.push('\n');
        let length = (header.len() as u16).to_le_bytes();
        [b"\x93NUMPY\x01\0", &length[..], header.as_bytes(), data].concat()
    }

    #[test]
    fn files_of_numpy_are_read() {
        for (descr, element, data, bytes) in [
            ("<f4", "f32", &[1, 2, 3, 4][..], &[1, 2, 3, 4][..]),
            (">f4", "f32", &[1, 2, 3, 4], &[4, 3, 2, 1]),
            ("|u1", "u8", &[9], &[9]),
            ("|b1", "u8", &[1], &[1]),
            ("<i8", "s64", &[1; 8], &[1; 8]),
            ("<f2", "f16", &[1, 2], &[1, 2]),
            ("|V2", "bf16", &[1, 2], &[1, 2]),
        ] {
            let array =
                parse(&file(descr, "False", "(1,)", data)[..]).unwrap_or_else(|e| panic!("{descr}: {e}"));
            assert_eq!(Some(array.element), Element::from_name(element), "{descr}");
            assert_eq!((array.shape, array.bytes), (vec![1], bytes.to_vec()), "{descr}");
        }
    }

    #[test]
    fn unusable_files_are_errors() {
        for (bytes, part) in [
            (b"not numpy".to_vec(), "no .npy file"),
            (file("<c8", "False", "(1,)", &[0; 8]), "dtype"),
            (file("<f4", "False", "(2,)", &[0; 4]), "4 bytes"),
            (file("<f4", "True", "(2, 2)", &[0; 16]), "Fortran"),
            (file("<f4", "False", "(9223372036854775807, 4)", &[0; 4]), ""),
        ] {
            let error = parse(&bytes[..]).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }

    proptest! {
        #[test]
        fn arrays_round_trip(name in prop::sample::select(vec!["u8", "s8", "u16", "s32", "b64", "f16", "bf16", "f32", "f64"]),
                             rows in 0_u64..5, columns in 0_u64..5, seed: u8) {
            let element = Element::from_name(name).unwrap();
            let length = (rows * columns) as usize * element.bytes();
            let bytes: Vec<u8> = (0..length).map(|i| (i as u8).wrapping_mul(seed)).collect();
            let mut file = Vec::new();
            print(&mut file, element, &[rows, columns], &bytes).unwrap();
            let back = parse(&file[..]).unwrap();
            // NumPy has no untyped bits: they come back as unsigned numbers.
            prop_assert_eq!(back.element.to_string(), name.replace("b64", "u64"));
            prop_assert_eq!((back.shape, back.bytes), (vec![rows, columns], bytes));
        }

        #[test]
        fn reading_never_panics(bytes: Vec<u8>, damage: u8, at in 0_usize..80) {
            let _ = parse(&bytes[..]);
            let mut damaged = file("<f4", "False", "(1,)", &[0; 4]);
            damaged[at] = damage;
            let _ = parse(&damaged[..]);
        }
    }
}
