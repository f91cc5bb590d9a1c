//! Counters against figures worked out by hand, and against definitions written out plainly.

use super::*;
use crate::memory::{LOCAL_WINDOW, SHARED_WINDOW};
use ptx::source::Source;
use std::collections::{HashMap, HashSet};

const PTX: &str = ".version 8.0\n.target sm_80\n.address_size 64\n.const .u32 table[4];\n\
    .visible .entry k(.param .u64 p)\n{\n.reg .u32 %r<4>;\n.reg .u64 %rd<4>;\n.reg .pred %p;\n\
    ld.param.u64 %rd1, [p];\n\
    add.u32 %r1, %r1, 1;\n\
    ld.global.u32 %r2, [%rd1];\n\
    ld.u32 %r2, [%rd1];\n\
    ld.const.u32 %r2, [table];\n\
    @%p bra done;\n\
    add.u32 %r1, %r2, 1;\n\
    atom.shared.add.u32 %r1, [%rd1], 1;\n\
    done: ret;\n}\n";

fn stats() -> Stats {
    let compiled = ptx::compile(&Source::new("k.ptx", PTX));
    Stats::new(&compiled.module.unwrap_or_else(|| panic!("{:?}", compiled.diagnostics)))
}

fn event(instruction: u32, active: u32) -> Event<'static> {
    Event {
        function: FuncId(0),
        instruction,
        block: [0; 3],
        warp: 0,
        mask: active,
        active,
        access: None,
        taken: None,
    }
}

fn access(space: SpaceKind, access: Access, addresses: &[u64; LANES]) -> Option<MemoryAccess<'_>> {
    Some(MemoryAccess { space, access, bytes: 4, addresses })
}

fn stride(start: u64, step: u64) -> [u64; LANES] {
    std::array::from_fn(|lane| start + step * lane as u64)
}

#[test]
fn instructions_count_by_class_and_opcode() {
    let stats = stats();
    stats.instruction(&event(1, !0));
    stats.instruction(&event(1, 0xff));
    stats.instruction(&Event { mask: 0, ..event(6, 3) });
    let report = stats.report();
    assert_eq!(report.total.warp_instructions, 3);
    assert_eq!(report.total.thread_instructions, 40);
    assert_eq!(report.total.active_lanes, 42);
    assert_eq!(report.classes.len(), 1);
    assert_eq!(report.classes[0].0, "Integer arithmetic");
    assert_eq!(report.opcodes[0].0, "add.u32");
    assert_eq!(report.opcodes[0].1.warp_instructions, 3);
    let lines: Vec<_> = report.instructions.iter().map(|(_, i, c)| (*i, c.warp_instructions)).collect();
    assert_eq!(lines, [(1, 2), (6, 1)]);
}

#[test]
fn a_branch_diverges_when_some_lanes_take_it() {
    let stats = stats();
    for taken in [0, !0, 1] {
        stats.instruction(&Event { taken: Some(taken), ..event(5, !0) });
    }
    // All of the active lanes.
    stats.instruction(&Event { taken: Some(0xff), ..event(5, 0xff) });
    let total = stats.report().total;
    assert_eq!((total.branches, total.divergent_branches), (4, 1));
}

#[test]
fn sectors_of_known_patterns() {
    for (addresses, bytes, mask, expected) in [
        (stride(0x1000, 4), 4, !0, 4),      // consecutive
        (stride(0x1004, 4), 4, !0, 5),      // the same, not aligned to a sector
        (stride(0x1000, 32), 4, !0, 32),    // a sector each
        (stride(0x1000, 0), 4, !0, 1),      // all the same
        (stride(0x1000, 16), 16, !0, 16),   // 512 bytes
        (stride(0x1000, 4), 4, 0b1, 1),     // one lane
        (stride(0x101f, 64), 2, 0b11, 4),   // each across a boundary
        (stride(u64::MAX - 1, 0), 4, 1, 1), // past the end of the address space
    ] {
        assert_eq!(sectors(&addresses, bytes, mask), expected, "{addresses:x?} {bytes} {mask:x}");
    }
}

#[test]
fn bank_conflicts_of_known_patterns() {
    for (addresses, bytes, mask, expected) in [
        (stride(0, 4), 4, !0, (1, 1)),
        (stride(0, 8), 4, !0, (1, 2)),    // every second bank
        (stride(0, 128), 4, !0, (1, 32)), // all in bank 0
        (stride(0, 132), 4, !0, (1, 1)),  // padded
        (stride(0, 0), 4, !0, (1, 1)),    // broadcast
        (stride(0, 1), 1, !0, (1, 1)),    // four lanes share a word
        (stride(0, 8), 8, !0, (2, 2)),
        (stride(0, 16), 16, !0, (4, 4)),
        (stride(0, 16), 8, !0, (2, 4)), // every second pair of banks
        (stride(0, 16), 16, 0xff, (1, 1)),
    ] {
        assert_eq!(wavefronts(&addresses, bytes, mask), expected, "{addresses:x?} {bytes} {mask:x}");
    }
}

/// The definitions again, byte by byte and with sets.
fn plain_sectors(addresses: &[u64; LANES], bytes: u32, mask: u32) -> u64 {
    let bytes_of = |lane: usize| (0..u64::from(bytes)).map(move |i| (addresses[lane] + i) / SECTOR);
    (0..LANES).filter(|l| mask >> l & 1 == 1).flat_map(bytes_of).collect::<HashSet<_>>().len() as u64
}

fn plain_wavefronts(addresses: &[u64; LANES], bytes: u32, mask: u32) -> u64 {
    let lanes_at_once = (32 * 4 / bytes.max(4)) as usize;
    let mut sum = 0;
    for part in 0..LANES / lanes_at_once {
        let mut banks = HashMap::<u64, HashSet<u64>>::new();
        for (lane, address) in addresses.iter().enumerate().skip(part * lanes_at_once).take(lanes_at_once) {
            for byte in (0..u64::from(bytes)).filter(|_| mask >> lane & 1 == 1) {
                let word = (address + byte) / 4;
                banks.entry(word % 32).or_default().insert(word);
            }
        }
        sum += banks.values().map(HashSet::len).max().unwrap_or(0) as u64;
    }
    sum
}

#[test]
fn random_patterns_agree_with_the_plain_definitions() {
    let mut state = 1_u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    for round in 0..2000 {
        let bytes = 1 << (random() % 5);
        let mask = (random() as u32) << 1 ^ random() as u32;
        let range = 64 << (round % 6);
        // Mostly aligned, as real accesses are.
        let align = if round % 4 == 0 { 1 } else { u64::from(bytes) };
        let addresses: [u64; LANES] = std::array::from_fn(|_| random() % range / align * align);
        assert_eq!(sectors(&addresses, bytes, mask), plain_sectors(&addresses, bytes, mask));
        assert_eq!(wavefronts(&addresses, bytes, mask).1, plain_wavefronts(&addresses, bytes, mask));
    }
}

#[test]
fn generic_accesses_count_for_the_space_that_they_reach() {
    let stats = stats();
    let mut addresses = stride(0x1000, 4);
    for lane in 0..8 {
        addresses[lane] = SHARED_WINDOW + 128 * lane as u64;
        addresses[8 + lane] = LOCAL_WINDOW + 4 * lane as u64;
    }
    stats.instruction(&Event {
        access: access(SpaceKind::Generic, Access::Load, &addresses),
        ..event(3, 0x00ff_ffff)
    });
    let report = stats.report();
    let of = |space| *report.total.traffic.iter().find(|t| t.space == space).expect("it was reached");
    assert_eq!(report.total.traffic.len(), 3);
    assert_eq!((of(Space::Global).accesses, of(Space::Global).sectors), (8, 1));
    assert_eq!(of(Space::Global).bytes, 32);
    assert_eq!((of(Space::Shared).accesses, of(Space::Shared).bank_conflicts()), (8, 7));
    assert_eq!((of(Space::Local).accesses, of(Space::Local).requests), (8, 1));
    assert_eq!(of(Space::Local).sectors, 0);
}

#[test]
fn constants_and_atomics_have_their_own_figures() {
    let stats = stats();
    let same = stride(0x2000, 0);
    stats.instruction(&Event { access: access(SpaceKind::Global, Access::Load, &same), ..event(4, !0) });
    let pairs = std::array::from_fn(|lane| lane as u64 / 2 * 4);
    stats.instruction(&Event { access: access(SpaceKind::Shared, Access::Atomic, &pairs), ..event(7, !0) });
    // A guard that holds for nobody is no request.
    stats.instruction(&Event {
        mask: 0,
        access: access(SpaceKind::Global, Access::Load, &same),
        ..event(2, !0)
    });
    let report = stats.report();
    let kinds: Vec<_> = report.total.traffic.iter().map(|t| (t.space, t.collisions, t.requests)).collect();
    assert_eq!(kinds, [(Space::Shared, 16, 1), (Space::Const, 0, 1)]);
    assert_eq!(report.total.traffic[1].efficiency(), Some(4.0));
    let classes: Vec<&str> = report.classes.iter().map(|(name, _)| name.as_str()).collect();
    assert!(classes.contains(&"Data movement and conversion: const memory"), "{classes:?}");
    assert!(classes.contains(&"Data movement and conversion: global memory"), "{classes:?}");
}

#[test]
fn host_threads_count_together() {
    let stats = stats();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..1000).for_each(|_| stats.instruction(&event(1, !0))));
        }
    });
    assert_eq!(stats.report().total.thread_instructions, 4 * 1000 * 32);
}
