//! The thread in focus, the calls around it, and tables of the threads of its CTA.

use super::{Console, Sources, table};
use crate::session::Focus;
use crate::{Error, Scene};
use machine::inspect::{Group, Waiting};

impl<S: Sources> Console<S> {
    pub(super) fn threads(&mut self, name: &str, rest: &str) -> Result<String, Error> {
        let now = self.session.focus().unwrap_or(Focus { warp: 0, lane: 0, frame: 0 });
        match name {
            "backtrace" => self.backtrace(),
            "info frame" => Ok(self.here()),
            "info cuda" => self.info_cuda(rest),
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
            let numbers = |text: &str| -> Result<Vec<u32>, Error> {
                let number = |word: &str| {
                    word.parse().map_err(|_| Error::Command(format!("`{word}` is not a number")))
                };
                text.split(',').map(number).collect()
            };
            match *pair {
                ["kernel" | "device" | "sm", _] => {}
                ["block", text] => {
                    let mut wanted = [0; 3];
                    numbers(text)?.into_iter().zip(&mut wanted).for_each(|(number, place)| *place = number);
                    self.is_stopped(wanted)?;
                }
                ["thread", text] => {
                    let mut wanted = [0; 3];
                    numbers(text)?.into_iter().zip(&mut wanted).for_each(|(number, place)| *place = number);
                    let warps = &self.session.stop()?.snapshot.warps;
                    let found = warps.iter().find_map(|warp| {
                        let lane = warp.threads.iter().position(|known| *known == wanted)?;
                        Some((warp.number, lane))
                    });
                    let found =
                        found.ok_or_else(|| Error::Command(format!("there is no thread ({text})")))?;
                    (focus.warp, focus.lane) = found;
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
        self.session.stop()?;
        Ok(self.here())
    }

    /// Whether a CTA is the one that has stopped; if not, how far it is.
    fn is_stopped(&self, wanted: [u32; 3]) -> Result<(), Error> {
        let stop = self.session.stop()?;
        if stop.snapshot.block == wanted {
            return Ok(());
        }
        let [a, b, c] = wanted;
        let grid = self.session.program().grid;
        let other = format!("block ({a},{b},{c})");
        if wanted.iter().zip(grid).any(|(&at, extent)| at >= extent) {
            return Err(Error::Command(format!("there is no {other}")));
        }
        Err(Error::Command(match stop.blocks.under_way.contains(&wanted) {
            true => {
                format!(
                    "{other} is under way, and stands elsewhere; stop there: break PLACE if blockIdx.x == {a}"
                )
            }
            false => {
                format!("{other} has not begun, or has ended: info cuda blocks tells how many are where")
            }
        }))
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

    fn info_cuda(&self, topic: &str) -> Result<String, Error> {
        let stop = self.session.stop()?;
        let [x, y, z] = stop.snapshot.block;
        match topic {
            "" | "threads" => {
                let mut rows = vec![["threads", "warp", "lanes", "at", ""].map(str::to_owned).to_vec()];
                for warp in &stop.snapshot.warps {
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
                for warp in &stop.snapshot.warps {
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
                        format!("{}{}", if warp.number == stop.next.warp { "*" } else { " " }, warp.number),
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
            "blocks" => {
                let mut rows = vec![["block", ""].map(str::to_owned).to_vec()];
                for &[a, b, c] in &stop.blocks.under_way {
                    let here = [a, b, c] == stop.snapshot.block;
                    let state = if here { "has stopped" } else { "under way" };
                    let mark = if here { "*" } else { " " };
                    rows.push(vec![format!("{mark}({a},{b},{c})"), state.to_owned()]);
                }
                let (ended, not_begun) = (stop.blocks.ended, stop.blocks.not_begun);
                Ok(table(&rows) + &format!("{ended} have ended, {not_begun} have not begun\n"))
            }
            "kernels" => {
                let program = self.session.program();
                let ([gx, gy, gz], [bx, by, bz]) = (program.grid, program.block);
                let name = abi::names::demangled(&program.kernel);
                Ok(format!(
                    "{name}: grid ({gx},{gy},{gz}), block ({bx},{by},{bz}); block ({x},{y},{z}) has stopped\n"
                ))
            }
            other => Err(Error::Command(format!(
                "info cuda {other}? One of threads, warps, lanes, blocks, kernels"
            ))),
        }
    }
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
