//! Finding which components a wrong prediction is due to: the fewest that, taken from the word into the base, are wrong there.

use super::apart::Condition;
use super::form::Draft;
use super::opcode::Learner;
use super::oracle::Answer;

/// Components whose codes together make a wrong prediction.
pub(super) struct Culprit {
    pub(super) masks: Vec<u128>,
    /// The base with these components' codes, and what the oracle says of it.
    pub(super) word: u128,
    pub(super) answer: Answer,
    pub(super) verdict: Verdict,
}

/// How a prediction compares with the oracle's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Right,
    Text,
    Legality,
}

impl Learner<'_> {
    /// Asks about sets of components taken from words, and keeps what is predicted wrongly.
    fn probe(
        &mut self,
        draft: &Draft,
        sets: Vec<(u128, Vec<usize>)>,
        excluded: &[Condition],
    ) -> Result<Vec<Option<Culprit>>, String> {
        let words: Vec<u128> = sets.iter().map(|(word, set)| draft.mixed(*word, set)).collect();
        let answers = self.ask(words.clone())?;
        Ok(words
            .into_iter()
            .zip(answers)
            .zip(sets)
            .map(|((word, answer), (_, set))| {
                let verdict = self.judge(draft, word, &answer);
                let masks = set.iter().map(|&at| draft.components[at].bits.mask()).collect();
                let here = verdict != Verdict::Right && !excluded.iter().any(|it| word & it.0 == it.1);
                here.then_some(Culprit { masks, word, answer, verdict })
            })
            .collect())
    }

    /// The culprits of which a component is wrong by itself, reduced to that component: a number that is left out where it is 0
    /// would otherwise be taken for something between it and each of its neighbours.
    pub(super) fn alone(
        &mut self,
        draft: &Draft,
        culprits: Vec<Culprit>,
        excluded: &[Condition],
    ) -> Result<Vec<Culprit>, String> {
        let at = |mask: &u128| draft.components.iter().position(|it| it.bits.mask() == *mask);
        let parts: Vec<Vec<usize>> = culprits
            .iter()
            .map(|it| if it.masks.len() > 1 { it.masks.iter().filter_map(at).collect() } else { Vec::new() })
            .collect();
        let sets = culprits
            .iter()
            .zip(&parts)
            .flat_map(|(it, parts)| parts.iter().map(|&part| (it.word, vec![part])));
        let mut probed = self.probe(draft, sets.collect(), excluded)?.into_iter();
        let mut reduced = Vec::new();
        for (culprit, parts) in culprits.into_iter().zip(&parts) {
            let alone: Vec<Culprit> = probed.by_ref().take(parts.len()).flatten().collect();
            if alone.is_empty() {
                reduced.push(culprit);
            } else {
                reduced.extend(alone);
            }
        }
        Ok(reduced)
    }

    /// Tries some random codes of all pairs of components.
    pub(super) fn survey(&mut self, draft: &Draft, excluded: &[Condition]) -> Result<Vec<Culprit>, String> {
        let audible: Vec<usize> =
            (0..draft.components.len()).filter(|&at| draft.components[at].matters()).collect();
        let mut sets = Vec::new();
        for (nth, &a) in audible.iter().enumerate() {
            for &b in &audible[..nth] {
                for _ in 0..3 {
                    let word = self.draw(draft);
                    sets.push((word, vec![b, a]));
                }
            }
        }
        Ok(self.probe(draft, sets, excluded)?.into_iter().flatten().collect())
    }

    /// Least sets of components that, taken from one of the words, make a wrong prediction.
    pub(super) fn least(
        &mut self,
        draft: &Draft,
        words: &[u128],
        excluded: &[Condition],
    ) -> Result<Vec<Culprit>, String> {
        let mut culprits = Vec::new();
        let mut left = words.to_vec();
        // Pairs of components that matter by themselves, then any pairs.
        for quiet in [false, true] {
            let mut sets = Vec::new();
            let mut ranges = Vec::new();
            for &word in &left {
                let all: Vec<usize> = draft
                    .differing(word)
                    .into_iter()
                    .filter(|&at| quiet || draft.components[at].matters())
                    .collect();
                let from = sets.len();
                sets.extend(all.iter().map(|&a| (word, vec![a])));
                for (nth, &a) in all.iter().enumerate() {
                    sets.extend(all[..nth].iter().map(|&b| (word, vec![b, a])));
                }
                ranges.push(from..sets.len());
            }
            let mut found = self.probe(draft, sets, excluded)?;
            let mut without = Vec::new();
            for (&word, range) in left.iter().zip(ranges) {
                let here: Vec<Culprit> = found[range].iter_mut().filter_map(Option::take).collect();
                if here.is_empty() {
                    without.push(word);
                }
                culprits.extend(here);
            }
            left = without;
            if !culprits.is_empty() || left.is_empty() {
                break;
            }
        }
        let mut rest: Vec<(u128, Vec<usize>, Option<Culprit>)> =
            left.into_iter().map(|word| (word, draft.differing(word), None)).collect();
        // More than two take part: leave one out after the other, for all words at once.
        rest.truncate(if culprits.is_empty() { 3 } else { 0 });
        while !rest.is_empty() {
            let mut sets = Vec::new();
            for (word, all, _) in &rest {
                sets.extend((0..all.len()).map(|out| (*word, [&all[..out], &all[out + 1..]].concat())));
            }
            let mut probed = self.probe(draft, sets.clone(), excluded)?.into_iter().zip(sets);
            let mut next = Vec::new();
            for (word, all, last) in rest {
                let fewer: Vec<_> = probed.by_ref().take(all.len()).collect();
                match fewer.into_iter().find_map(|(culprit, (_, set))| Some((culprit?, set))) {
                    Some((culprit, set)) => next.push((word, set, Some(culprit))),
                    None => culprits.extend(last),
                }
            }
            rest = next;
        }
        Ok(culprits)
    }
}
