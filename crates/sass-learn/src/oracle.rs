//! The oracle: nvdisasm run as a black box over files of words, and the meeting of many learners at it.
//!
//! A run costs 0.2 s before the first word, so learners are threads that write straight on as if they asked alone;
//! when all of them wait for an answer, their questions go out as one batch, in the order of their opcodes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Condvar, Mutex};

use sass::Arch;

/// What gives the text of words: `None` for an illegal one.
pub trait Oracle: Sync {
    /// The texts of the words; the word at index i stands at address 16 * (i + `first`).
    fn ask(&self, words: &[u128], first: usize) -> Result<Vec<Option<String>>, String>;
}

/// NVIDIA's disassembler, and a folder for what it reads, which goes with it.
#[derive(Debug)]
pub struct Nvdisasm {
    program: PathBuf,
    arch: Arch,
    scratch: PathBuf,
}

/// A word that no architecture has: a mark in the list of errors.
const ILLEGAL: u128 = 1 << 4;
/// Opcodes that are not asked about on Turing, ALD and AST: of some of their words nvdisasm says that two patterns match,
/// names no address, and gives up on the whole file.
const FATAL_ON_TURING: [u128; 2] = [0x321, 0x322];
/// NOP.
const NOP: u128 = 0x7918 | 0xfc000 << 96;

impl Nvdisasm {
    /// The program at a path.
    ///
    /// # Errors
    /// There is no such program, or no folder for what it reads.
    pub fn open(program: &Path, arch: Arch) -> Result<Self, String> {
        if !program.is_file() {
            return Err(format!("there is no program {}", program.display()));
        }
        let scratch = std::env::temp_dir().join(format!("warploom-{arch}-{}", std::process::id()));
        std::fs::create_dir_all(&scratch)
            .map_err(|error| format!("cannot make {}: {error}", scratch.display()))?;
        Ok(Self { program: program.to_path_buf(), arch, scratch })
    }

    /// One run: its listing, its complaints.
    fn run(&self, words: &[u128], first: usize, name: &str) -> Result<(String, String), String> {
        let bytes: Vec<u8> = words.iter().flat_map(|it| it.to_le_bytes()).collect();
        let path = self.scratch.join(name);
        std::fs::write(&path, bytes).map_err(|error| error.to_string())?;
        let variant = if matches!(self.arch, Arch::Sm90 | Arch::Sm100 | Arch::Sm120) { "a" } else { "" };
        let output = Command::new(&self.program)
            .args(["-b", &format!("SM{}{variant}", self.arch.number()), "-ndf", "-raw"])
            .arg(format!("--base-address={}", first * 16))
            .arg(&path)
            .output()
            .map_err(|error| format!("{}: {error}", self.program.display()))?;
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ok((text(output.stdout), text(output.stderr)))
    }

    fn ask_part(&self, words: &[u128], first: usize, name: &str) -> Result<Vec<Option<String>>, String> {
        let mut sent = words.to_vec();
        let fatal = |word: &u128| self.arch == Arch::Sm75 && FATAL_ON_TURING.contains(&(word & 0xfff));
        let mut illegal: Vec<bool> = words.iter().map(fatal).collect();
        for (word, _) in sent.iter_mut().zip(&illegal).filter(|it| *it.1) {
            *word = NOP;
        }
        for _ in 0..40 {
            let (listing, complaints) = self.run(&sent, first, name)?;
            if complaints.trim().is_empty() {
                return Ok(read_listing(&listing, first, &illegal));
            }
            let (mut bad, suspects) = complaints_of(&complaints, first, sent.len());
            if !suspects.is_empty() {
                // Each between two words that are complained about with their address.
                let mut marked = vec![ILLEGAL];
                marked.extend(suspects.iter().flat_map(|&at| [sent[at], ILLEGAL]));
                let (_, complaints) = self.run(&marked, 0, name)?;
                let (addressed, between) = complaints_of(&complaints, 0, marked.len());
                bad.extend(
                    between.iter().chain(&addressed).filter(|&at| at % 2 == 1).map(|at| suspects[at / 2]),
                );
            }
            if bad.is_empty() {
                return Err(format!("nvdisasm: {}", complaints.lines().next().unwrap_or("")));
            }
            for at in bad {
                illegal[at] = true;
                sent[at] = NOP;
            }
        }
        Err("nvdisasm goes on complaining about new words".to_string())
    }
}

/// The words complained about with an address, and those among which one without address must be.
fn complaints_of(text: &str, first: usize, len: usize) -> (Vec<usize>, Vec<usize>) {
    let (mut bad, mut suspects) = (Vec::new(), Vec::new());
    let (mut last, mut pending, mut paired) = (0, false, false);
    for line in text.lines() {
        let address = line
            .rsplit_once("at address 0x")
            .and_then(|(_, digits)| usize::from_str_radix(digits.trim(), 16).ok())
            .and_then(|address| (address / 16).checked_sub(first))
            .filter(|&at| at < len);
        match address {
            Some(at) => {
                if pending {
                    suspects.extend(last..at);
                }
                bad.push(at);
                (last, pending, paired) = (at + 1, false, line.contains("Unrecognized"));
            }
            None if paired => paired = false,
            None => pending |= line.contains("Illegal instruction"),
        }
    }
    if pending {
        suspects.extend(last..len);
    }
    (bad, suspects)
}

fn read_listing(listing: &str, first: usize, illegal: &[bool]) -> Vec<Option<String>> {
    let mut texts = vec![None; illegal.len()];
    for line in listing.lines() {
        let Some((address, text)) = line.trim_start().strip_prefix("/*").and_then(|it| it.split_once("*/"))
        else {
            continue;
        };
        let at = usize::from_str_radix(address, 16).ok().and_then(|it| (it / 16).checked_sub(first));
        if let Some(at) = at.filter(|&at| at < illegal.len() && !illegal[at]) {
            texts[at] = Some(text.trim().trim_end_matches(';').trim_end().to_string());
        }
    }
    texts
}

impl Drop for Nvdisasm {
    fn drop(&mut self) {
        // What is left in the folder for temporary files does no harm.
        let _ = std::fs::remove_dir_all(&self.scratch);
    }
}

impl Oracle for Nvdisasm {
    fn ask(&self, words: &[u128], first: usize) -> Result<Vec<Option<String>>, String> {
        // Less is not worth a second start of the program.
        const SMALL: usize = 16_000;
        const PART: usize = 400_000;
        let half = words.len().div_ceil(2).clamp(SMALL, PART);
        let mut texts = Vec::with_capacity(words.len());
        let parts: Vec<&[u128]> = words.chunks(half).collect();
        for (at, pair) in parts.chunks(2).enumerate() {
            let begin = first + at * 2 * half;
            let id = std::process::id();
            let (left, right) = std::thread::scope(|scope| {
                let right = pair.get(1).map(|part| {
                    scope.spawn(move || self.ask_part(part, begin + half, &format!("{id}r.bin")))
                });
                let left = self.ask_part(pair[0], begin, &format!("{id}l.bin"));
                (left, right.map(|it| it.join().expect("the thread does not panic")))
            });
            texts.extend(left?);
            texts.extend(right.transpose()?.into_iter().flatten());
        }
        Ok(texts)
    }
}

/// Where learners meet: `ask` blocks until every learner asks or has left.
pub(crate) struct Meeting<'a> {
    oracle: &'a dyn Oracle,
    state: Mutex<State>,
    answered: Condvar,
}

#[derive(Default)]
struct State {
    present: usize,
    questions: BTreeMap<usize, Vec<u128>>,
    answers: BTreeMap<usize, Vec<Answer>>,
    error: Option<String>,
    asked: usize,
    batches: usize,
}

/// A text and the address it was printed for.
pub(crate) type Answer = Option<(String, u64)>;

impl<'a> Meeting<'a> {
    pub(crate) fn new(oracle: &'a dyn Oracle, present: usize) -> Meeting<'a> {
        Meeting { oracle, state: Mutex::new(State { present, ..State::default() }), answered: Condvar::new() }
    }

    /// The learner `who` asks for the texts of words.
    pub(crate) fn ask(&self, who: usize, words: Vec<u128>) -> Result<Vec<Answer>, String> {
        let mut state = self.state.lock().expect("no learner panics while it holds the lock");
        state.questions.insert(who, words);
        self.answer_if_all(&mut state);
        loop {
            if let Some(error) = &state.error {
                return Err(error.clone());
            }
            if let Some(answers) = state.answers.remove(&who) {
                return Ok(answers);
            }
            state = self.answered.wait(state).expect("no learner panics while it holds the lock");
        }
    }

    /// A learner has finished.
    pub(crate) fn leave(&self) {
        let mut state = self.state.lock().expect("no learner panics while it holds the lock");
        state.present -= 1;
        self.answer_if_all(&mut state);
    }

    /// How many words were asked for so far, in how many batches.
    pub(crate) fn asked(&self) -> (usize, usize) {
        let state = self.state.lock().expect("no learner panics while it holds the lock");
        (state.asked, state.batches)
    }

    fn answer_if_all(&self, state: &mut State) {
        if state.questions.len() < state.present || state.questions.is_empty() {
            return;
        }
        let questions = std::mem::take(&mut state.questions);
        let words: Vec<u128> = questions.values().flatten().copied().collect();
        state.asked += words.len();
        state.batches += 1;
        match self.oracle.ask(&words, 0) {
            Ok(texts) => {
                let mut texts = texts.into_iter().enumerate().map(|(at, text)| Some((text?, 16 * at as u64)));
                for (who, words) in questions {
                    state.answers.insert(who, texts.by_ref().take(words.len()).collect());
                }
            }
            Err(error) => state.error = Some(error),
        }
        self.answered.notify_all();
    }
}
