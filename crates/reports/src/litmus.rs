//! What the memory model says about a litmus test.

use memory_model::answer::{
    Execution, Liveness, Options, Outcome, Outcomes, Question, Race, Undecided, Verdict,
};
use memory_model::checker::Checker;
use memory_model::explain::{self, Forbidden};
use memory_model::model::Model;
use memory_model::program::Program;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// A test with its model.
pub struct Test {
    /// The test.
    pub program: Program,
    /// The model that it is asked of.
    pub model: Model,
}

/// What is asked beside the verdict and races.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted {
    /// All ways to end: there may be very many.
    pub outcomes: bool,
    /// Whether all executions end.
    pub liveness: bool,
}

/// All that is said about a test.
pub struct Answers<'a> {
    test: &'a Test,
    question: Question<'a>,
    options: Options,
    /// Whether the assertion holds, and what shows it.
    pub verdict: Verdict,
    /// All ways to end.
    pub outcomes: Option<Outcomes>,
    /// A race, if there is one.
    pub race: Option<Race>,
    /// Whether all executions end.
    pub liveness: Option<Liveness>,
    /// Whether the independent checker accepts the verdict's certificate.
    pub certified: bool,
}

/// How an execution is drawn, with edges that are marked.
pub type Picture = fn(&Program, &Model, &Execution, &[explain::Edge]) -> String;

/// Whether the independent checker accepts what shows that a verdict is right.
///
/// # Errors
/// What is too large to be decided.
pub fn certify(
    program: &Program,
    model: &Model,
    question: &Question,
    verdict: &Verdict,
    options: Options,
) -> Result<bool, Undecided> {
    let checker = Checker::new(program, model.family, model.version, options.bound);
    Ok(checker.accepts(&question.certificate(verdict)?))
}

impl<'a> Answers<'a> {
    /// Asks.
    ///
    /// # Errors
    /// What is too large to be decided.
    pub fn of(test: &'a Test, options: Options, wanted: Wanted) -> Result<Self, Undecided> {
        let Test { program, model } = test;
        let question = Question::new(program, model, options);
        let verdict = question.verdict()?;
        let certified = certify(program, model, &question, &verdict, options)?;
        Ok(Self {
            outcomes: wanted.outcomes.then(|| question.outcomes()).transpose()?,
            race: question.race()?,
            liveness: wanted.liveness.then(|| question.liveness()).transpose()?,
            verdict,
            certified,
            test,
            question,
            options,
        })
    }

    /// Whether a race of accesses that overlap in part leaves the test without meaning. Dartagnan's model has no bytes.
    pub fn is_mixed(&self) -> bool {
        self.race.as_ref().is_some_and(|race| race.mixed_size)
    }

    /// For programs.
    pub fn json(&self, name: &str) -> Value {
        let Test { program, model } = self.test;
        let outcomes = self.outcomes.as_ref().map(|outcomes| {
            let terms: Vec<String> = outcomes.terms.iter().map(|term| program.term_name(*term)).collect();
            let object = |outcome: &Outcome| {
                let values: serde_json::Map<_, _> =
                    terms.iter().cloned().zip(outcome.values.iter().map(|value| json!(value))).collect();
                json!({ "values": values, "count": outcome.count, "satisfies": outcome.satisfies })
            };
            outcomes.list.iter().map(object).collect::<Vec<_>>()
        });
        json!({
            "file": name,
            "model": model.family.name(),
            "ptx": model.version.to_string(),
            "assertion": program.assertion,
            "holds": self.verdict.holds,
            "undefined": if self.is_mixed() { Some("mixed-size race") } else { None },
            "outcomes": outcomes,
            "race": self.race.is_some(),
            "terminates": self.liveness.as_ref().map(|liveness| liveness.terminates),
            "bounded": self.verdict.truncated,
            "certificate": if self.verdict.execution.is_some() { "execution" } else { "proof" },
            "certified": self.certified,
        })
    }

    /// For people.
    ///
    /// # Errors
    /// What is too large to be decided.
    pub fn text(&self, name: &str) -> Result<String, Undecided> {
        let Test { program, model } = self.test;
        let verdict = &self.verdict;
        let holds = match verdict.holds {
            _ if self.is_mixed() => "undefined: mixed-size race",
            true => "holds",
            false => "does not hold",
        };
        let mut out = format!("{name}: {}: {holds} ({model})\n", program.assertion);
        if verdict.truncated {
            let _ = writeln!(out, "  loops with effects: at most {} iterations", self.options.bound);
        }
        match (&verdict.execution, self.forbidden()?) {
            (Some(execution), _) => {
                out.push_str("  allowed, by this execution:\n");
                out.push_str(&explain::text(program, model, execution));
            }
            (None, Some(forbidden)) => {
                out.push_str("  forbidden; this would be the execution:\n");
                out.push_str(&explain::text(program, model, &forbidden.execution));
                out.push_str(&explain::reason(&forbidden));
            }
            (None, None) => out.push_str("  no thread computes such values\n"),
        }
        if let Some(outcomes) = &self.outcomes {
            let terms: Vec<String> = outcomes.terms.iter().map(|term| program.term_name(*term)).collect();
            out.push_str("  outcomes:\n");
            for outcome in &outcomes.list {
                let values: Vec<String> = terms
                    .iter()
                    .zip(&outcome.values)
                    .map(|(term, value)| format!("{term}={value}"))
                    .collect();
                let mark = if outcome.satisfies { " *" } else { "" };
                let _ = writeln!(out, "    {:6}  {}{mark}", outcome.count, values.join(" "));
            }
        }
        if let Some(race) = &self.race {
            let of = |event| explain::describe(program, &race.execution, event);
            let _ = writeln!(out, "  data race: {} and {}", of(race.pair.0), of(race.pair.1));
        }
        match self.liveness.as_ref().map(|liveness| &liveness.stuck) {
            None => {}
            Some(None) => out.push_str("  every execution ends\n"),
            Some(Some((threads, _))) => {
                let names: Vec<&str> = threads.iter().map(|&thread| &*program.threads[thread].name).collect();
                let _ = writeln!(out, "  does not always end: {} can be stuck", names.join(", "));
            }
        }
        out.push_str(if self.certified { "  certificate: accepted\n" } else { "  certificate: REJECTED\n" });
        Ok(out)
    }

    /// The execution that shows the verdict, or the one that is forbidden; none if no thread computes such values.
    ///
    /// # Errors
    /// What is too large to be decided.
    pub fn picture(&self, picture: Picture) -> Result<Option<String>, Undecided> {
        let Test { program, model } = self.test;
        let forbidden = self.forbidden()?;
        let marked = forbidden.as_ref().map_or(&[][..], |forbidden| &forbidden.edges);
        let execution = self.verdict.execution.as_deref();
        let execution = execution.or(forbidden.as_ref().map(|forbidden| &forbidden.execution));
        Ok(execution.map(|execution| picture(program, model, execution, marked)))
    }

    /// What would be the execution, if none shows the verdict.
    fn forbidden(&self) -> Result<Option<Forbidden>, Undecided> {
        match self.verdict.execution {
            Some(_) => Ok(None),
            None => self.question.forbidden(),
        }
    }
}
