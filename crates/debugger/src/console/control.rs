//! Running, stepping, going back; breakpoints and watchpoints.

use super::{Console, Sources};
use crate::plan::{Calls, Unit, WatchKind};
use crate::{Error, Target};

impl<S: Sources> Console<S> {
    pub(super) fn control(&mut self, name: &str, rest: &str) -> Result<String, Error> {
        use Calls::{Into, Out, Over};
        use Unit::{Instruction, Line};
        let session = &mut self.session;
        match name {
            "run" => session.run(false).map(|_| ())?,
            "start" => session.run(true).map(|_| ())?,
            "continue" => session.go_on().map(|_| ())?,
            "reverse-continue" => session.go_back().map(|_| ())?,
            "step" => return self.steps(rest, Line, Into, false),
            "next" => return self.steps(rest, Line, Over, false),
            "stepi" => return self.steps(rest, Instruction, Into, false),
            "nexti" => return self.steps(rest, Instruction, Over, false),
            "finish" => return self.steps("", Line, Out, false),
            "reverse-step" => return self.steps(rest, Line, Into, true),
            "reverse-next" => return self.steps(rest, Line, Over, true),
            "reverse-stepi" => return self.steps(rest, Instruction, Into, true),
            "reverse-nexti" => return self.steps(rest, Instruction, Over, true),
            "reverse-finish" => return self.steps("", Line, Out, true),
            "goto" => {
                let position =
                    rest.parse().map_err(|_| Error::Command("goto takes a position".to_owned()))?;
                session.go_to(position).map(|_| ())?;
            }
            "break" => return self.breakpoint(rest, false),
            "tbreak" => return self.breakpoint(rest, true),
            "watch" => return self.watchpoint(rest, WatchKind::Change),
            "rwatch" => return self.watchpoint(rest, WatchKind::Read),
            "awatch" => return self.watchpoint(rest, WatchKind::Access),
            "catch" => return self.catch(rest),
            "delete" => return self.delete(rest),
            "enable" | "disable" => {
                for number in numbers(rest)? {
                    if !session.enable(number, name == "enable") {
                        return Err(Error::Command(format!("there is no breakpoint {number}")));
                    }
                }
                return Ok(String::new());
            }
            _ => return Err(Error::Command(format!("`{name}` is not a command"))),
        }
        Ok(self.report())
    }

    fn steps(&mut self, rest: &str, unit: Unit, calls: Calls, back: bool) -> Result<String, Error> {
        let count = match rest {
            "" => 1,
            text => text.parse().map_err(|_| Error::Command(format!("`{text}` is not a number of steps")))?,
        };
        for _ in 0..count.min(1_u32 << 16) {
            match back {
                false => self.session.step(unit, calls)?,
                true => self.session.step_back(unit, calls)?,
            };
            // Whatever else stops the launch ends the steps.
            if !self.session.stop().is_ok_and(|stop| stop.reason == crate::Reason::Step) {
                break;
            }
        }
        Ok(self.report())
    }

    fn breakpoint(&mut self, rest: &str, temporary: bool) -> Result<String, Error> {
        let (place, condition) = match rest.split_once(" if ") {
            Some((place, condition)) => (place.trim(), Some(condition.trim())),
            None => (rest, None),
        };
        let target = match (place, self.session.innermost()) {
            // Here.
            ("", Ok(scene)) => Target::Ptx(scene.ptx().0),
            _ => Target::parse(place)?,
        };
        let breakpoint = self.session.add_breakpoint(target, condition, temporary)?;
        let (number, places, target) =
            (breakpoint.number, breakpoint.places.clone(), breakpoint.target.to_string());
        let lines = places.iter().map(|&place| self.place_text(place)).collect::<Vec<_>>();
        let at = match &lines[..] {
            [] => "nowhere in this module; others may have it".to_owned(),
            [only] => only.clone(),
            all => format!("{} places: {}", all.len(), all.join("; ")),
        };
        Ok(format!("Breakpoint {number} at {target}: {at}\n"))
    }

    fn watchpoint(&mut self, rest: &str, kind: WatchKind) -> Result<String, Error> {
        let watchpoint = self.session.add_watchpoint(rest, kind)?;
        let word = match kind {
            WatchKind::Change => "Watchpoint",
            WatchKind::Read => "Read watchpoint",
            WatchKind::Access => "Access watchpoint",
        };
        Ok(format!("{word} {}: {rest}\n", watchpoint.number))
    }

    fn catch(&mut self, rest: &str) -> Result<String, Error> {
        let words: Vec<_> = rest.split_whitespace().collect();
        let (what, on) = match words[..] {
            [what] => (what, true),
            [what, "off"] => (what, false),
            _ => return Err(Error::Command("catch what? barrier, race, launch or end".to_owned())),
        };
        let stops = &mut self.session.stops;
        match what {
            "barrier" => stops.barriers = on,
            "launch" | "end" if !stops.of_program => {
                return Err(Error::Command("there is one launch: it stops at its end anyway".to_owned()));
            }
            "launch" => stops.beginnings = on,
            "end" => stops.ends = on,
            "race" if self.session.program().checks.is_none() => {
                return Err(Error::Command("nothing is looked for: begin with --check race".to_owned()));
            }
            "race" => self.session.stops.findings = on,
            other => {
                let known = "barrier, race, launch and end can";
                return Err(Error::Command(format!("`{other}` cannot be caught: {known}")));
            }
        }
        Ok(format!("{} {what}\n", if on { "Catching" } else { "No longer catching" }))
    }

    fn delete(&mut self, rest: &str) -> Result<String, Error> {
        let numbers = match rest {
            "" => {
                let breakpoints = self.session.breakpoints().iter().map(|breakpoint| breakpoint.number);
                breakpoints.chain(self.session.watchpoints().iter().map(|watch| watch.number)).collect()
            }
            text => numbers(text)?,
        };
        for number in numbers {
            if !self.session.delete(number) {
                return Err(Error::Command(format!("there is no breakpoint {number}")));
            }
        }
        Ok(String::new())
    }

    pub(super) fn list_breakpoints(&self) -> String {
        let times = |hits: u32| match hits {
            0 => String::new(),
            1 => "hit once".to_owned(),
            hits => format!("hit {hits} times"),
        };
        let mut rows = vec![["number", "kind", "what", ""].map(str::to_owned).to_vec()];
        for breakpoint in self.session.breakpoints() {
            let condition =
                breakpoint.condition.as_ref().map(|text| format!(" if {text}")).unwrap_or_default();
            let off = if breakpoint.enabled { "" } else { " (disabled)" };
            rows.push(vec![
                breakpoint.number.to_string(),
                "breakpoint".to_owned(),
                format!("{}{condition}{off}", breakpoint.target),
                times(breakpoint.hits),
            ]);
        }
        for watchpoint in self.session.watchpoints() {
            let kind = match watchpoint.kind {
                WatchKind::Change => "watchpoint",
                WatchKind::Read => "read watchpoint",
                WatchKind::Access => "access watchpoint",
            };
            let number = watchpoint.number.to_string();
            rows.push(vec![number, kind.to_owned(), watchpoint.text.clone(), times(watchpoint.hits)]);
        }
        if rows.len() == 1 { "No breakpoints or watchpoints.\n".to_owned() } else { super::table(&rows) }
    }
}

fn numbers(text: &str) -> Result<Vec<u32>, Error> {
    let number = |word: &str| {
        word.parse().map_err(|_| Error::Command(format!("`{word}` is not the number of a breakpoint")))
    };
    text.split_whitespace().map(number).collect()
}
