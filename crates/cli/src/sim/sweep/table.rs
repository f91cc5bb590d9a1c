//! A table with names and kinds of columns, as a Parquet file and back. The same table gives the same bytes.

use parquet::basic::{LogicalType, Repetition, Type as Kind};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::record::Field;
use parquet::schema::types::Type;
use std::panic::{self, PanicHookInfo, UnwindSafe};
use std::sync::{Arc, Once};

/// What stands in a row for a column. A column's cells are of one kind, as far as they are not empty.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cell {
    Empty,
    Number(i64),
    Real(f64),
    Text(String),
}

/// What kind a column's cells are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    Numbers,
    Reals,
    Texts,
}

/// The table.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Table {
    pub(super) columns: Vec<(String, Of)>,
    pub(super) rows: Vec<Vec<Cell>>,
    /// What is said of it, by names.
    pub(super) notes: Vec<(String, String)>,
}

impl Table {
    /// It as a Parquet file.
    pub(super) fn bytes(&self) -> Result<Vec<u8>> {
        let fields = self.columns.iter().map(|(name, of)| {
            let (kind, logical) = match of {
                Of::Numbers => (Kind::INT64, None),
                Of::Reals => (Kind::DOUBLE, None),
                Of::Texts => (Kind::BYTE_ARRAY, Some(LogicalType::String)),
            };
            let builder = Type::primitive_type_builder(name, kind).with_repetition(Repetition::OPTIONAL);
            builder.with_logical_type(logical).build().map(Arc::new)
        });
        let schema = Type::group_type_builder("sweep").with_fields(fields.collect::<Result<_>>()?).build()?;
        let notes = self.notes.iter().map(|(name, text)| KeyValue::new(name.clone(), text.clone()));
        // No version of a crate in it: the same plan gives the same bytes.
        let properties = WriterProperties::builder()
            .set_created_by("warploom".to_owned())
            .set_key_value_metadata(Some(notes.collect()))
            .build();
        let mut bytes = Vec::new();
        let mut writer = SerializedFileWriter::new(&mut bytes, Arc::new(schema), Arc::new(properties))?;
        let mut group = writer.next_row_group()?;
        for (at, (_, of)) in self.columns.iter().enumerate() {
            let Some(mut column) = group.next_column()? else { break };
            let cells = || self.rows.iter().filter_map(|row| row.get(at));
            let there: Vec<i16> = cells().map(|cell| i16::from(*cell != Cell::Empty)).collect();
            let there = Some(&there[..]);
            match of {
                Of::Numbers => {
                    let numbers = cells().filter_map(|cell| match cell {
                        Cell::Number(number) => Some(*number),
                        Cell::Empty | Cell::Real(_) | Cell::Text(_) => None,
                    });
                    column.typed::<Int64Type>().write_batch(&numbers.collect::<Vec<_>>(), there, None)?;
                }
                Of::Reals => {
                    let reals = cells().filter_map(|cell| match cell {
                        Cell::Real(real) => Some(*real),
                        Cell::Empty | Cell::Number(_) | Cell::Text(_) => None,
                    });
                    column.typed::<DoubleType>().write_batch(&reals.collect::<Vec<_>>(), there, None)?;
                }
                Of::Texts => {
                    let texts = cells().filter_map(|cell| match cell {
                        Cell::Text(text) => Some(ByteArray::from(text.as_str())),
                        Cell::Empty | Cell::Number(_) | Cell::Real(_) => None,
                    });
                    column.typed::<ByteArrayType>().write_batch(&texts.collect::<Vec<_>>(), there, None)?;
                }
            }
            column.close()?;
        }
        group.close()?;
        writer.close()?;
        Ok(bytes)
    }

    /// That of a Parquet file. Of some damaged files the crate panics, which is an error as any other here.
    pub(super) fn read(bytes: Vec<u8>) -> Result<Self> {
        let read = quietly(|| Self::parse(bytes));
        read.unwrap_or_else(|_| Err(ParquetError::General("the file is damaged".to_owned())))
    }

    fn parse(bytes: Vec<u8>) -> Result<Self> {
        let strange = |what: &str| ParquetError::General(format!("no table of a sweep: {what}"));
        let reader = SerializedFileReader::new(bytes::Bytes::from(bytes))?;
        let file = reader.metadata().file_metadata();
        let columns = file.schema_descr().columns().iter().map(|column| {
            let of = match column.physical_type() {
                Kind::INT64 => Ok(Of::Numbers),
                Kind::DOUBLE => Ok(Of::Reals),
                Kind::BYTE_ARRAY => Ok(Of::Texts),
                Kind::BOOLEAN | Kind::INT32 | Kind::INT96 | Kind::FLOAT | Kind::FIXED_LEN_BYTE_ARRAY => {
                    Err(strange("a column of another kind"))
                }
            };
            Ok((column.name().to_owned(), of?))
        });
        let columns = columns.collect::<Result<_>>()?;
        let notes = file.key_value_metadata().into_iter().flatten();
        let notes = notes.map(|note| (note.key.clone(), note.value.clone().unwrap_or_default())).collect();
        let rows = reader.get_row_iter(None)?.map(|row| {
            let cells = row?.into_columns().into_iter().map(|(_, field)| match field {
                Field::Null => Ok(Cell::Empty),
                Field::Long(number) => Ok(Cell::Number(number)),
                Field::Double(real) => Ok(Cell::Real(real)),
                Field::Str(text) => Ok(Cell::Text(text)),
                _ => Err(strange("a cell of another kind")),
            });
            cells.collect()
        });
        Ok(Self { columns, rows: rows.collect::<Result<_>>()?, notes })
    }

    /// What is said of it under a name.
    pub(super) fn note(&self, name: &str) -> Option<&str> {
        self.notes.iter().find(|(known, _)| known == name).map(|(_, text)| text.as_str())
    }
}

thread_local! {
    /// Whether what panics in this thread is caught, so that nobody need read of it.
    static IS_QUIET: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Calls a function that may panic, without a word of that on the terminal; other threads' panics are told as ever.
fn quietly<T>(function: impl FnOnce() -> T + UnwindSafe) -> std::thread::Result<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| panic::set_hook(unless_quiet(panic::take_hook())));
    IS_QUIET.set(true);
    let result = panic::catch_unwind(function);
    IS_QUIET.set(false);
    result
}

type Hook = Box<dyn Fn(&PanicHookInfo<'_>) + Send + Sync>;

fn unless_quiet(told: Hook) -> Hook {
    Box::new(move |info| {
        if !IS_QUIET.get() {
            told(info);
        }
    })
}

#[cfg(test)]
mod tests {
    use super::{Cell, Of, Table, quietly, unless_quiet};
    use std::panic;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    fn table() -> Table {
        let columns = [("point", Of::Numbers), ("error", Of::Texts), ("cycles.max", Of::Reals)];
        let row = |point| {
            let error = if point == 1 { Cell::Text("no".to_owned()) } else { Cell::Empty };
            vec![Cell::Number(point), error, Cell::Real(0.1 * point as f64)]
        };
        Table {
            columns: columns.map(|(name, of)| (name.to_owned(), of)).to_vec(),
            rows: (0..100).map(row).collect(),
            notes: vec![("plan".to_owned(), "a digest".to_owned())],
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let bytes = table().bytes().expect("a file");
        assert_eq!(bytes, table().bytes().expect("a file"));
        let read = Table::read(bytes).expect("our own file");
        assert_eq!((&read, read.note("plan")), (&table(), Some("a digest")));
        let none = Table { rows: Vec::new(), ..table() };
        assert_eq!(Table::read(none.bytes().expect("a file")).expect("our own file"), none);
    }

    /// A file that was cut off, or in which a byte is another one, is an error or a table, never a panic.
    #[test]
    fn damaged_files_do_no_harm() {
        let bytes = table().bytes().expect("a file");
        for at in 0..bytes.len() {
            assert!(Table::read(bytes[..at].to_vec()).is_err(), "cut off at {at}");
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x55;
            let _ = Table::read(damaged);
        }
    }

    #[test]
    fn what_is_caught_is_not_told() {
        let told = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&told);
        let before = panic::take_hook();
        panic::set_hook(unless_quiet(Box::new(move |_| _ = counted.fetch_add(1, Ordering::Relaxed))));
        let quiet = quietly(|| panic!("nobody reads this"));
        let after_quiet = told.load(Ordering::Relaxed);
        let loud = panic::catch_unwind(|| panic!("somebody does"));
        panic::set_hook(before);
        assert!(quiet.is_err() && loud.is_err());
        assert_eq!((after_quiet, told.load(Ordering::Relaxed)), (0, 1));
    }
}
