//! An order in which every variable follows those that its initialiser names.

use crate::symbols::Resolution;
use crate::{Input, Problem, codes};
use ptx::module::{Symbol, VarId};
use std::collections::HashMap;

/// A variable of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Node {
    pub(crate) input: usize,
    pub(crate) variable: VarId,
}

/// How far the walk has come with a variable.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    Open,
    Done,
}

/// The variables of the whole.
pub(crate) fn variables(inputs: &[Input], resolution: &Resolution, problems: &mut Vec<Problem>) -> Vec<Node> {
    let mut nodes = Vec::new();
    let mut chosen: HashMap<&str, usize> = HashMap::new();
    let mut index: HashMap<Node, usize> = HashMap::new();
    for (i, input) in inputs.iter().enumerate() {
        for (v, variable) in input.module.variables.iter().enumerate() {
            if variable.function.is_some() || !resolution.keeps(i, &variable.name) {
                continue;
            }
            let node = Node { input: i, variable: VarId(v as u32) };
            if resolution.chosen.get(&variable.name) == Some(&i) {
                chosen.insert(&variable.name, nodes.len());
            }
            index.insert(node, nodes.len());
            nodes.push(node);
        }
    }
    // What a variable's initialiser names, as indices of nodes.
    let needs: Vec<Vec<usize>> = nodes
        .iter()
        .map(|node| {
            let module = &inputs[node.input].module;
            let named = module.variables[node.variable.index()].relocations.iter();
            named
                .filter_map(|relocation| match relocation.target {
                    Symbol::Variable(id) => {
                        let here = index.get(&Node { input: node.input, variable: id });
                        here.or_else(|| chosen.get(module.variables[id.index()].name.as_str())).copied()
                    }
                    Symbol::Function(_) => None,
                })
                .collect()
        })
        .collect();
    let mut state = vec![State::New; nodes.len()];
    let mut sorted = Vec::with_capacity(nodes.len());
    for start in 0..nodes.len() {
        if state[start] != State::New {
            continue;
        }
        // The path from `start`, each with the next of its needs to look at.
        let mut path = vec![(start, 0)];
        state[start] = State::Open;
        while let Some(top) = path.last_mut() {
            let (node, next) = *top;
            top.1 += 1;
            match needs[node].get(next) {
                None => {
                    state[node] = State::Done;
                    sorted.push(nodes[node]);
                    path.pop();
                }
                // A variable may hold its own address.
                Some(&need) if need == node || state[need] == State::Done => {}
                Some(&need) if state[need] == State::New => {
                    state[need] = State::Open;
                    path.push((need, 0));
                }
                Some(&need) => {
                    let from = path.iter().position(|&(node, _)| node == need).unwrap_or(0);
                    let circle: Vec<Node> = path[from..].iter().map(|&(node, _)| nodes[node]).collect();
                    problems.push(cycle(inputs, &circle));
                }
            }
        }
    }
    sorted
}

fn cycle(inputs: &[Input], circle: &[Node]) -> Problem {
    let variable = |node: &Node| &inputs[node.input].module.variables[node.variable.index()];
    let names: Vec<&str> = circle.iter().map(|node| variable(node).name.as_str()).collect();
    let message = format!("the initialisers of {} name one another", names.join(", "));
    circle.iter().fold(Problem::new(codes::CYCLE, message), |problem, node| {
        problem.at(node.input, variable(node).span, "one of them")
    })
}
