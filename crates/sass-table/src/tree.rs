//! The strings of a set as a tree of their letters: which of them a text begins with is found letter by letter. Trees that are the
//! same, as those of most operands that are registers, stand once.

use std::collections::HashMap;

/// Where a text stands whose letters so far some strings begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Node {
    /// The codes whose strings end here: where they begin in the order of the set's codes, and how many they are.
    pub first: u16,
    /// How many.
    pub count: u16,
    /// Where the letters that may follow begin, in [`Trees::letters`] and in [`Trees::next`].
    pub branches: u32,
    /// How many, in their order.
    pub len: u16,
}

/// Trees that refer to their nodes by number.
#[derive(Clone, Copy, Debug)]
pub struct Trees<'a> {
    /// The nodes of all trees.
    pub nodes: &'a [Node],
    /// The letters that may follow nodes.
    pub letters: &'a [u8],
    /// The node behind each letter.
    pub next: &'a [u16],
}

impl Trees<'_> {
    /// The node behind a letter.
    #[inline]
    pub(crate) fn follow(&self, node: Node, letter: u8) -> Option<Node> {
        let first = node.branches as usize;
        let letters = &self.letters[first..first + usize::from(node.len)];
        let at = letters.iter().position(|&it| it == letter)?;
        Some(self.nodes[usize::from(self.next[first + at])])
    }
}

/// A node with its letters and what is behind each: where the codes begin that end here, and how many they are.
type Spread = (u16, u16, Vec<(u8, u16)>);

/// Trees that grow.
#[derive(Debug, Default)]
pub(crate) struct Growing {
    nodes: Vec<Node>,
    letters: Vec<u8>,
    next: Vec<u16>,
    known: HashMap<Spread, u16>,
}

impl Growing {
    /// The tree of strings that are in order: the number of its root.
    pub(crate) fn tree(&mut self, strings: &[&str]) -> Result<u16, String> {
        self.node(strings, 0, 0)
    }

    /// The node of strings that share so many letters, of which so many come before.
    fn node(&mut self, strings: &[&str], depth: usize, before: usize) -> Result<u16, String> {
        let letter = |at: usize| strings[at].as_bytes()[depth];
        let count = strings.iter().take_while(|it| it.len() == depth).count();
        let mut branches = Vec::new();
        let mut start = count;
        while start < strings.len() {
            let alike = (start..strings.len()).take_while(|&at| letter(at) == letter(start)).count();
            let next = self.node(&strings[start..start + alike], depth + 1, before + start)?;
            branches.push((letter(start), next));
            start += alike;
        }
        // Where none ends, it does not matter where that would be.
        let first = if count == 0 { 0 } else { before };
        let key = (first as u16, count as u16, branches);
        if let Some(&known) = self.known.get(&key) {
            return Ok(known);
        }
        let number = u16::try_from(self.nodes.len()).map_err(|_| "the trees have too many nodes")?;
        let (first, count, branches) = &key;
        let (first, count, len) = (*first, *count, branches.len() as u16);
        self.nodes.push(Node { first, count, branches: self.letters.len() as u32, len });
        self.letters.extend(branches.iter().map(|it| it.0));
        self.next.extend(branches.iter().map(|it| it.1));
        self.known.insert(key, number);
        Ok(number)
    }

    pub(crate) fn trees(&self) -> Trees<'_> {
        Trees { nodes: &self.nodes, letters: &self.letters, next: &self.next }
    }
}
