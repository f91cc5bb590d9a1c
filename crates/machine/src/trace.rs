//! A trace: every instruction of every warp as a line of text, in the order in which it is issued.
//!
//! With several host threads the lines of different CTAs interleave as they run; a line is never torn. With
//! `threads: 1` the same scheduler writes the same trace again.

use crate::fault::Access;
use crate::lanes::LANES;
use crate::location::Location;
use crate::memory::SpaceKind;
use crate::observe::{Event, MemoryAccess, Observer};
use ptx::module::{FuncId, Module};
use std::fmt::Write as _;
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

/// Writes a line for every warp instruction.
///
/// ```text
/// block (0,0,0) warp 1 mask ffffffff line 14: ld.global.u32 %r1, [%rd1]; @ load 4 global 0x7f0000001000+4
/// ```
///
/// The mask has the lanes that execute the instruction; where a guard excludes active lanes, `of MASK` names those that
/// are active. A conditional branch is followed by the lanes that `take` it. Addresses are `ADDRESS+STRIDE` when they
/// have one, otherwise `LANE:ADDRESS` one by one.
pub struct Trace {
    /// The place and text of every instruction, by function.
    texts: Vec<Vec<String>>,
    sink: Mutex<Sink>,
}

struct Sink {
    writer: Box<dyn Write + Send>,
    lines: u64,
    error: Option<io::Error>,
}

impl std::fmt::Debug for Trace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Trace").finish_non_exhaustive()
    }
}

impl Trace {
    /// A trace of launches of a module's kernels. `writer` should have a buffer.
    pub fn new(module: &Module, writer: impl Write + Send + 'static) -> Self {
        let functions = module.functions.iter().enumerate();
        let texts = functions.map(|(index, function)| {
            let count = function.body.as_ref().map_or(0, |body| body.instructions.len());
            (0..count).map(|i| text(&Location::of(module, FuncId(index as u32), i as u32))).collect()
        });
        let sink = Sink { writer: Box::new(writer), lines: 0, error: None };
        Self { texts: texts.collect(), sink: Mutex::new(sink) }
    }

    /// Flushes the writer; the number of lines written.
    ///
    /// # Errors
    /// The first error of the writer. Nothing is written after one.
    pub fn finish(self) -> io::Result<u64> {
        let mut sink = self.sink.into_inner().unwrap_or_else(PoisonError::into_inner);
        match sink.error.take() {
            Some(error) => Err(error),
            None => sink.writer.flush().map(|()| sink.lines),
        }
    }

    fn line(&self, event: &Event<'_>) -> Result<String, std::fmt::Error> {
        let [x, y, z] = event.block;
        let mut line = format!("block ({x},{y},{z}) warp {} mask {:08x}", event.warp, event.mask);
        if event.active != event.mask {
            write!(line, " of {:08x}", event.active)?;
        }
        line.push(' ');
        line.push_str(&self.texts[event.function.index()][event.instruction as usize]);
        if let Some(taken) = event.taken {
            write!(line, " take {taken:08x}")?;
        }
        if let Some(access) = event.access.as_ref().filter(|_| event.mask != 0) {
            addresses(&mut line, access, event.mask)?;
        }
        line.push('\n');
        Ok(line)
    }
}

/// `line 14: ld.global.u32 %r1, [%rd1];`, whatever line breaks the text has.
fn text(location: &Location) -> String {
    let line = location.ptx.as_ref().map_or(0, |place| place.line);
    let text = location.text.as_deref().unwrap_or_default();
    format!("line {line}: {}", text.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn addresses(line: &mut String, access: &MemoryAccess<'_>, mask: u32) -> std::fmt::Result {
    let kind = match access.access {
        Access::Load => "load",
        Access::Store => "store",
        Access::Atomic => "atomic",
    };
    let space = match access.space {
        SpaceKind::Global => "global",
        SpaceKind::Shared => "shared",
        SpaceKind::Cluster => "shared::cluster",
        SpaceKind::Local => "local",
        SpaceKind::Param => "param",
        SpaceKind::Generic => "generic",
    };
    write!(line, " @ {kind} {} {space}", access.bytes)?;
    let lanes: Vec<usize> = (0..LANES).filter(|lane| mask >> lane & 1 != 0).collect();
    match stride(&lanes, access.addresses) {
        Some(stride) => write!(line, " {:#x}{stride:+}", access.addresses[lanes[0]]),
        None => lanes.iter().try_for_each(|&lane| write!(line, " {lane}:{:#x}", access.addresses[lane])),
    }
}

/// The difference between the addresses of neighbouring lanes, if it is the same everywhere.
fn stride(lanes: &[usize], addresses: &[u64; LANES]) -> Option<i64> {
    let (&first, rest) = lanes.split_first()?;
    let Some(&second) = rest.first() else { return Some(0) };
    let distance = addresses[second].wrapping_sub(addresses[first]).cast_signed();
    let lanes_between = (second - first) as i64;
    let stride = distance / lanes_between;
    let regular = |&lane: &usize| {
        let offset = stride.wrapping_mul((lane - first) as i64);
        addresses[lane] == addresses[first].wrapping_add_signed(offset)
    };
    lanes.iter().all(regular).then_some(stride)
}

impl Observer for Trace {
    fn instruction(&self, event: &Event<'_>) {
        // Writing to a string cannot fail.
        let line = self.line(event).unwrap_or_default();
        let mut sink = self.sink.lock().unwrap_or_else(PoisonError::into_inner);
        if sink.error.is_none() {
            match sink.writer.write_all(line.as_bytes()) {
                Ok(()) => sink.lines += 1,
                Err(error) => sink.error = Some(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptx::source::Source;
    use std::sync::Arc;

    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    const PTX: &str = ".version 8.0\n.target sm_80\n.address_size 64\n.entry k(.param .u64 p)\n{\n\
        .reg .u32 %r<4>;\n.reg .u64 %rd<4>;\n.reg .pred %p;\n\
        ld.global.u32\n\t%r1, [%rd1];\n@%p bra done;\ndone: ret;\n}\n";

    fn event(instruction: u32, mask: u32) -> Event<'static> {
        Event {
            function: FuncId(0),
            instruction,
            block: [1, 2, 3],
            warp: 4,
            mask,
            active: !0,
            access: None,
            taken: None,
        }
    }

    fn load(addresses: &[u64; LANES]) -> Option<MemoryAccess<'_>> {
        Some(MemoryAccess { space: SpaceKind::Global, access: Access::Load, bytes: 4, addresses })
    }

    #[test]
    fn lines_tell_everything() {
        let module = ptx::compile(&Source::new("k.ptx", PTX)).module.expect("it compiles");
        let sink = Shared::default();
        let trace = Trace::new(&module, sink.clone());
        let mut lanes: [u64; LANES] = std::array::from_fn(|lane| 0x1000 + 4 * lane as u64);
        trace.instruction(&Event { access: load(&lanes), ..event(0, !0) });
        lanes[2] = 0x20;
        trace.instruction(&Event { access: load(&lanes), ..event(0, 0b111) });
        trace.instruction(&Event { taken: Some(5), ..event(1, !0) });
        trace.instruction(&Event { access: load(&lanes), ..event(0, 0) });
        assert_eq!(trace.finish().unwrap(), 4);
        let text = String::from_utf8(sink.0.lock().unwrap().clone()).unwrap();
        assert_eq!(
            text,
            "block (1,2,3) warp 4 mask ffffffff line 9: ld.global.u32 %r1, [%rd1]; @ load 4 global 0x1000+4\n\
             block (1,2,3) warp 4 mask 00000007 of ffffffff line 9: ld.global.u32 %r1, [%rd1]; \
             @ load 4 global 0:0x1000 1:0x1004 2:0x20\n\
             block (1,2,3) warp 4 mask ffffffff line 11: @%p bra done; take 00000005\n\
             block (1,2,3) warp 4 mask 00000000 of ffffffff line 9: ld.global.u32 %r1, [%rd1];\n"
        );
    }

    #[test]
    fn a_full_disk_is_reported_once() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let module = ptx::compile(&Source::new("k.ptx", PTX)).module.expect("it compiles");
        let trace = Trace::new(&module, Full);
        trace.instruction(&event(2, !0));
        trace.instruction(&event(2, !0));
        assert_eq!(trace.finish().unwrap_err().kind(), io::ErrorKind::StorageFull);
    }
}
