//! The points of a sweep that are done, beside the file that they will be in: a line each, so that whoever is killed loses those under way
//! alone. A line that was cut off is none. The file itself appears whole, at the end.

use super::table::Cell;
use crate::failure::Failure;
use crate::replace::replace;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// What came of a point: cells of the columns that are not of the plan.
pub(super) type Cells = Vec<Cell>;

/// The file with lines, which nobody else writes to.
pub(super) struct Journal {
    path: PathBuf,
    file: File,
    pub(super) done: BTreeMap<u64, Cells>,
}

impl Journal {
    /// That of a sweep's file, with what is done already if it is of the same plan and shard.
    pub(super) fn open(of: &Path, plan: &str, shard: &str) -> Result<Self, Failure> {
        let mut name = of.file_name().unwrap_or_default().to_owned();
        name.push(".points");
        let path = of.with_file_name(name);
        let wrong = |why: String| Failure::usage(format!("{}: {why}", path.display()));
        let io = |error: std::io::Error| wrong(error.to_string());
        let options = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let mut file = options.map_err(io)?;
        file.try_lock().map_err(|_| wrong("another process is at it".to_owned()))?;
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(io)?;
        // What stands behind the last end of a line was being written.
        let whole = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let mut lines = text[..whole].split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
        let head = json!({ "plan": plan, "shard": shard });
        let mut done = BTreeMap::new();
        match lines.next() {
            None => {
                file.set_len(0).map_err(io)?;
                file.rewind().map_err(io)?;
                file.write_all(format!("{head}\n").as_bytes()).map_err(io)?;
            }
            Some(line) if serde_json::from_slice::<Value>(line).is_ok_and(|found| found == head) => {
                for line in lines {
                    let (point, cells) =
                        read(line).ok_or_else(|| wrong("has a line of something else".to_owned()))?;
                    done.insert(point, cells);
                }
                file.set_len(whole as u64).map_err(io)?;
                file.seek(SeekFrom::End(0)).map_err(io)?;
            }
            Some(_) => {
                return Err(wrong("is of another plan or shard".to_owned())
                    .hint("remove it, or let this one write to another file"));
            }
        }
        Ok(Self { path, file, done })
    }

    /// A point is done.
    pub(super) fn add(&mut self, point: u64, cells: Cells) -> std::io::Result<()> {
        // A number as text, which is read as the same number again.
        let texts = cells.iter().map(|cell| match cell {
            Cell::Empty => Value::Null,
            Cell::Number(number) => json!(number),
            Cell::Real(real) => json!({ "real": format!("{real:?}") }),
            Cell::Text(text) => json!(text),
        });
        let line = json!({ "point": point, "cells": texts.collect::<Vec<_>>() });
        self.file.write_all(format!("{line}\n").as_bytes())?;
        self.done.insert(point, cells);
        Ok(())
    }

    /// Gives the sweep's file its bytes, in one step, and ends.
    pub(super) fn finish(self, of: &Path, bytes: &[u8]) -> std::io::Result<()> {
        write(of, bytes)?;
        fs::remove_file(&self.path)
    }
}

/// Writes a file in one step.
pub(super) fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    replace(path, |temporary| {
        // What one with our number has left, who was killed, is no obstacle.
        let mut file = File::create(temporary)?;
        file.write_all(bytes)?;
        Ok(file)
    })
}

fn read(line: &[u8]) -> Option<(u64, Cells)> {
    let line: Value = serde_json::from_slice(line).ok()?;
    let cells = line.get("cells")?.as_array()?.iter().map(|cell| {
        Some(match cell {
            Value::Null => Cell::Empty,
            Value::Number(number) => Cell::Number(number.as_i64()?),
            Value::String(text) => Cell::Text(text.clone()),
            Value::Object(real) => Cell::Real(real.get("real")?.as_str()?.parse().ok()?),
            Value::Bool(_) | Value::Array(_) => return None,
        })
    });
    Some((line.get("point")?.as_u64()?, cells.collect::<Option<_>>()?))
}
