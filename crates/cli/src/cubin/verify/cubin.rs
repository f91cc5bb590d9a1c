//! A cubin there and back: through its own structures, and through text.

use super::Checks;
use super::count::{Count, Texts};
use ::cubin::elf::section::{CUDA_COMPAT_INFO, CUDA_INFO};
use ::cubin::elf::{Contents, Elf};
use ::cubin::info;
use ::cubin::read::Program;

/// Counts a cubin. What is wrong with it is said with the place that it has among the entries of its file.
pub(super) fn check(bytes: &[u8], place: usize, checks: Checks) -> Count {
    let mut count = Count { cubins: 1, bytes: bytes.len() as u64, ..Count::default() };
    let elf = match Elf::parse(bytes) {
        Ok(elf) => elf,
        Err(error) => {
            count.problems.push((place, error.to_string()));
            return count;
        }
    };
    count.kernels = Program::new(&elf).functions().iter().filter(|function| function.entry).count() as u64;
    count.problems.extend(different(&elf, bytes).map(|what| (place, what)));
    if checks.text {
        text(bytes, place, checks, &mut count);
    }
    count
}

/// What of a cubin does not come back.
fn different(elf: &Elf, bytes: &[u8]) -> Option<String> {
    let same = |elf: &Elf| elf.to_bytes().is_ok_and(|again| again == bytes);
    if !same(elf) {
        return Some("it is written differently".to_owned());
    }
    let mut again = elf.clone();
    for section in again.sections.iter_mut().filter(|s| matches!(s.kind, CUDA_INFO | CUDA_COMPAT_INFO)) {
        let Ok(mut attributes) = info::decode(section.data()) else {
            return Some("its attributes cannot be read".to_owned());
        };
        for attribute in &mut attributes {
            attribute.set_payload(&attribute.payload());
        }
        section.contents = Contents::Bytes(info::encode(&attributes).unwrap_or_default());
    }
    if again != *elf {
        return Some("its attributes are written differently".to_owned());
    }
    match again.lay_out() {
        Ok(()) if same(&again) => None,
        Ok(()) => Some("it is laid out differently".to_owned()),
        Err(error) => Some(error.to_string()),
    }
}

fn text(bytes: &[u8], place: usize, checks: Checks, count: &mut Count) {
    let trip = match cuasm::round_trip(bytes, cuasm::Options { hazards: checks.lint }) {
        Ok(trip) => trip,
        Err(error) => {
            count.problems.push((place, format!("as text: {error}")));
            return;
        }
    };
    let texts = Texts {
        cubins: 1,
        kernels: count.kernels,
        words: trip.words,
        unknown: trip.unknown,
        residues: trip.residues,
        hazards: trip.hazards.len() as u64,
        different: u64::from(trip.difference.is_some()),
        text: trip.text,
        writing: trip.writing,
        reading: trip.reading,
    };
    count.texts.insert(trip.sm, texts);
    count.problems.extend(trip.difference.map(|what| (place, format!("as text: {what}"))));
    count.hazards.extend(trip.hazards.into_iter().map(|hazard| (place, hazard)));
}
