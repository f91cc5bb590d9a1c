//! The thread in focus, the calls around it, tables of the threads of its CTA, and of all CTAs.

use super::{Console, Sources, table};
use crate::engine::Stop;
use crate::focus::{Focus, block_text};
use crate::{Error, Scene};
use machine::inspect::{Group, Waiting, Warp};

impl<S: Sources> Console<S> {
    pub(super) fn threads(&mut self, name: &str, rest: &str) -> Result<String, Error> {
        match name {
            "backtrace" => return self.backtrace(),
            "info frame" => return Ok(self.here()),
            "info cuda" => return self.info_cuda(rest),
            _ => {}
        }
        let now = self.session.focused()?;
        match name {
            "frame" if rest.is_empty() => Ok(self.here()),
            "frame" => {
                let frame = rest
                    .parse()
                    .map_err(|_| Error::Command(format!("`{rest}` is not the number of a frame")))?;
                self.session.set_focus(Focus { frame, ..now })?;
                Ok(self.here())
            }
            "up" => {
                self.session.set_focus(Focus { frame: now.frame + 1, ..now })?;
                Ok(self.here())
            }
            "down" => {
                let frame = now.frame.checked_sub(1);
                let frame = frame.ok_or_else(|| Error::Command("this is the innermost frame".to_owned()))?;
                self.session.set_focus(Focus { frame, ..now })?;
                Ok(self.here())
            }
            "thread" if !rest.is_empty() => self.cuda(&format!("thread {rest}"), now),
            _ => self.cuda(rest, now),
        }
    }

    /// `cuda`, `cuda thread 5 warp 1 lane 2`.
    fn cuda(&mut self, rest: &str, now: Focus) -> Result<String, Error> {
        let cleaned = rest.replace(['(', ')'], " ").replace(", ", ",");
        let words: Vec<&str> = cleaned.split_whitespace().collect();
        let mut focus = Focus { frame: 0, ..now };
        for pair in words.chunks(2) {
            match *pair {
                ["kernel" | "device" | "sm", _] => {}
                ["grid", text] => {
                    let number = self.session.stop()?.grid.number;
                    if numbers(text)?[0] != number {
                        return Err(Error::Command(format!("grid {number} is the one that runs")));
                    }
                }
                ["block", text] => {
                    let block = triple(text)?;
                    self.session.look(block)?;
                    if block != focus.block {
                        // Its first thread, until another one is named.
                        let warps = self.session.snapshot(block)?.warps.iter().map(|warp| warp.number);
                        let threads =
                            warps.filter_map(|warp| Focus::of_warp(self.session.snapshot(block).ok()?, warp));
                        let first = threads.into_iter().next();
                        focus =
                            first.ok_or_else(|| Error::Command("all its threads have exited".to_owned()))?;
                    }
                }
                ["thread", text] => {
                    let found = Focus::of_thread(self.session.snapshot(focus.block)?, triple(text)?);
                    let missing = || Error::Command(format!("there is no thread ({text}), or it has exited"));
                    focus = found.ok_or_else(missing)?;
                }
                ["warp", text] => focus.warp = numbers(text)?[0],
                ["lane", text] => focus.lane = numbers(text)?[0] as usize % machine::lanes::LANES,
                _ => {
                    return Err(Error::Command(
                        "cuda [block X,Y,Z] [thread X,Y,Z] [warp N] [lane N]".to_owned(),
                    ));
                }
            }
        }
        if !words.is_empty() {
            self.session.set_focus(focus)?;
        }
        Ok(self.here())
    }

    /// The CTAs that have threads, and where the first of these are.
    fn blocks(&mut self) -> Result<String, Error> {
        let focus = self.session.focused()?;
        let Stop { blocks, snapshot, .. } = self.session.stop()?;
        let (blocks, stopped) = (blocks.clone(), snapshot.block);
        let mut rows = vec![["block", "", "warps", "at", ""].map(str::to_owned).to_vec()];
        for &block @ [a, b, c] in &blocks.under_way {
            let snapshot = self.session.peek(block)?;
            let live = snapshot.warps.iter().filter(|warp| warp.live != 0);
            let running = |warp: &Warp| warp.groups.iter().find(|group| group.current).cloned();
            let first = live
                .clone()
                .find_map(running)
                .or_else(|| live.clone().find_map(|w| w.groups.first().cloned()));
            let place = first.as_ref().map_or_else(String::new, |group| self.place_text(group.place));
            rows.push(vec![
                format!("{}({a},{b},{c})", if block == focus.block { "*" } else { " " }),
                if block == stopped { "has stopped" } else { "under way" }.to_owned(),
                live.count().to_string(),
                place,
                first.as_ref().map_or_else(String::new, state),
            ]);
        }
        Ok(table(&rows) + &format!("{} have ended, {} have not begun\n", blocks.ended, blocks.not_begun))
    }

    fn backtrace(&self) -> Result<String, Error> {
        let chosen = self.session.focus().map_or(0, |focus| focus.frame);
        let lines = self.session.innermost()?.frames().into_iter().enumerate().map(|(number, frame)| {
            let (line, _) = frame.scene.ptx();
            let at = match &frame.source {
                Some(source) => format!(" at {source}"),
                None => format!(" at ptx:{line}"),
            };
            let mark = if number == chosen { "*" } else { " " };
            let inlined = if frame.inlined { " (inlined)" } else { "" };
            format!("{mark}#{number} {}{at}{inlined}\n", frame.name)
        });
        Ok(lines.collect())
    }

    fn info_cuda(&mut self, topic: &str) -> Result<String, Error> {
        if topic == "blocks" {
            return self.blocks();
        }
        let focus = self.session.focused()?;
        let snapshot = self.session.snapshot(focus.block)?;
        match topic {
            "" | "threads" => {
                let mut rows = vec![["threads", "warp", "lanes", "at", ""].map(str::to_owned).to_vec()];
                for warp in &snapshot.warps {
                    for group in &warp.groups {
                        let first = warp.threads[group.mask.trailing_zeros() as usize % 32];
                        let last = warp.threads[31 - group.mask.leading_zeros() as usize % 32];
                        let text = |[x, y, z]: [u32; 3]| format!("({x},{y},{z})");
                        rows.push(vec![
                            format!("{} - {}: {}", text(first), text(last), group.mask.count_ones()),
                            warp.number.to_string(),
                            format!("{:08x}", group.mask),
                            self.place_text(group.place),
                            state(group),
                        ]);
                    }
                }
                Ok(table(&rows))
            }
            "warps" => {
                let header = ["warp", "live", "active", "waiting", "at", "meets"];
                let mut rows = vec![header.map(str::to_owned).to_vec()];
                for warp in &snapshot.warps {
                    let of = |waits: bool| {
                        warp.groups
                            .iter()
                            .filter(|g| g.waits.is_some() == waits)
                            .fold(0, |mask, g| mask | g.mask)
                    };
                    let running = warp.groups.iter().find(|group| group.current).or(warp.groups.first());
                    let meetings = warp.meetings.iter().map(|meeting| {
                        let (arrived, expected) = (meeting.arrived, meeting.expected);
                        format!("{arrived:08x} of {expected:08x} at {}", self.place_text(meeting.place))
                    });
                    rows.push(vec![
                        format!("{}{}", if warp.number == focus.warp { "*" } else { " " }, warp.number),
                        format!("{:08x}", warp.live),
                        format!("{:08x}", of(false)),
                        format!("{:08x}", of(true)),
                        running.map_or_else(|| "exited".to_owned(), |group| self.place_text(group.place)),
                        meetings.collect::<Vec<_>>().join("; "),
                    ]);
                }
                Ok(table(&rows))
            }
            "lanes" => {
                let scene: Scene<'_> = self.session.innermost()?;
                let mut rows = vec![["lane", "thread", "state", "at"].map(str::to_owned).to_vec()];
                for lane in scene.lanes() {
                    let [a, b, c] = scene.warp.threads[lane];
                    let (state, at) = match scene.warp.group_of(lane) {
                        None => ("exited".to_owned(), String::new()),
                        Some(group) => (state(group), self.place_text(group.place)),
                    };
                    let mark = if lane == scene.lane { "*" } else { " " };
                    rows.push(vec![format!("{mark}{lane}"), format!("({a},{b},{c})"), state, at]);
                }
                Ok(table(&rows))
            }
            "kernels" => {
                let (stop, program) = (self.session.stop()?, self.session.program());
                let ([gx, gy, gz], [x, y, z]) = (stop.grid.extent, stop.grid.block);
                let name = abi::names::demangled(&program.module().functions[stop.grid.kernel.index()].name);
                let at = block_text(stop.snapshot.block);
                let by = match stop.grid.number {
                    0 => String::new(),
                    number => format!(", grid {number}, launched by a kernel"),
                };
                Ok(format!("{name}: grid ({gx},{gy},{gz}), block ({x},{y},{z}){by}; {at} has stopped\n"))
            }
            other => Err(Error::Command(format!(
                "info cuda {other}? One of threads, warps, lanes, blocks, kernels"
            ))),
        }
    }
}

/// Numbers with commas between them.
fn numbers(text: &str) -> Result<Vec<u32>, Error> {
    let number = |word: &str| word.parse().map_err(|_| Error::Command(format!("`{word}` is not a number")));
    text.split(',').map(number).collect()
}

/// Up to three numbers; those that are missing are 0.
fn triple(text: &str) -> Result<[u32; 3], Error> {
    let mut all = [0; 3];
    numbers(text)?.into_iter().zip(&mut all).for_each(|(number, place)| *place = number);
    Ok(all)
}

fn state(group: &Group) -> String {
    match &group.waits {
        None if group.current => "next".to_owned(),
        None => "ready".to_owned(),
        Some(Waiting::Barrier(number)) => format!("at barrier {number}"),
        Some(Waiting::Members) => "waits for lanes of its warp".to_owned(),
        Some(Waiting::Meeting) => "waits where lanes meet again".to_owned(),
        Some(Waiting::Event(what)) => what.clone(),
    }
}
