//! `.debug_line` and `.debug_frame` of the virtual machine, read back by `gimli`, and by `readelf` where there is one.

#[allow(dead_code)]
mod common;

use common::Sample;
use gimli::{LittleEndian, UnwindSection as _};
use object::{Object as _, ObjectSection as _};
use ptx::module::FuncId;

/// Every instruction has the line in the table that its `.loc` gives it, and every function a frame.
#[test]
fn the_tables_say_what_the_directives_say() {
    for name in ["guide.ptx", "nvcc-G.ptx", "nvcc-lineinfo.ptx", "clang-O0.ptx", "clang-O2.ptx", "triton.ptx"]
    {
        let sample = Sample::read(name);
        let bytes = sample.info.elf(&sample.module).expect("it can be written");
        let file = object::File::parse(&*bytes).expect("an ELF file");
        let section = |name: &str| file.section_by_name(name).expect("a section").data().expect("its bytes");
        let lines = gimli::DebugLine::new(section(".debug_line"), LittleEndian);
        let program = lines.program(gimli::DebugLineOffset(0), 8, None, None).expect("a table");
        let mut rows = program.rows();
        let mut table = Vec::new();
        while let Some((header, row)) = rows.next_row().expect("a row") {
            let file = row.file(header).map(|file| file.path_name());
            let file = match file {
                Some(gimli::AttributeValue::String(text)) => text.to_string_lossy().into_owned(),
                _ => String::new(),
            };
            table.push((
                row.address(),
                row.end_sequence(),
                file,
                row.line().map_or(0, |line| line.get() as u32),
            ));
        }
        let mut judged = 0;
        for (index, function) in sample.module.functions.iter().enumerate() {
            let id = FuncId(index as u32);
            for number in 0..function.body.as_ref().map_or(0, |body| body.instructions.len() as u32) {
                let pc = sample.info.addresses.of(id, number).expect("a place");
                let row = table.iter().rev().find(|row| row.0 <= pc && !(row.1 && row.0 == pc));
                let row = row.filter(|row| !row.1).map(|row| (row.2.clone(), row.3));
                let loc = sample.module.loc(id, number);
                let loc = loc.map(|loc| (sample.module.file_name(loc.file), loc.line));
                assert_eq!(row, loc, "{name}: {} {number}", function.name);
                judged += 1;
            }
        }
        assert!(judged > 10, "{name}");
        let frames = gimli::DebugFrame::new(section(".debug_frame"), LittleEndian);
        let bases = gimli::BaseAddresses::default();
        for (index, _) in sample.module.functions.iter().enumerate().filter(|(_, f)| f.body.is_some()) {
            let range = sample.info.addresses.function(FuncId(index as u32)).expect("a place");
            let entry = frames.fde_for_address(&bases, range.start, |frame, bases, offset| {
                frame.cie_from_offset(bases, offset)
            });
            let entry = entry.expect("a frame");
            assert_eq!((entry.initial_address(), entry.len()), (range.start, range.end - range.start));
        }
    }
}

/// Another reader sees the same entries and registers.
#[test]
fn readelf_reads_it() {
    let sample = Sample::read("nvcc-G.ptx");
    let bytes = sample.info.elf(&sample.module).expect("it can be written");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("sample.elf");
    std::fs::write(&path, bytes).expect("it can be written");
    let Ok(output) =
        std::process::Command::new("readelf").args(["--debug-dump=info,decodedline"]).arg(&path).output()
    else {
        return eprintln!("SKIPPED: there is no readelf");
    };
    let text = String::from_utf8_lossy(&output.stdout);
    let entries = sample.info.entries(&sample.module);
    let abbreviations =
        text.lines().filter(|line| line.contains("Abbrev Number:") && !line.contains(": 0")).count();
    assert_eq!(abbreviations, entries.len());
    // `%r1`, as the number that it is.
    let number = debug_info::location::register_number("%r1").expect("a number");
    assert!(text.contains(&format!("DW_OP_regx: {number}")), "{text}");
    assert!(text.contains("sample.cu"));
}
