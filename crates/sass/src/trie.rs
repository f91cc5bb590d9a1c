//! Which strings of a set a text begins with, found in time that does not grow with the set.

/// The strings of a set, letter by letter.
#[derive(Debug, Default)]
pub(crate) struct Trie {
    nodes: Vec<Node>,
}

#[derive(Debug, Default)]
struct Node {
    /// What may come next, in the order of letters, and the node behind it.
    next: Vec<(u8, u32)>,
    /// The codes whose string ends here.
    codes: Vec<u32>,
}

impl Trie {
    /// The trie of strings, each of which has its position as its code.
    pub(crate) fn new<'a>(strings: impl Iterator<Item = Option<&'a str>>) -> Trie {
        let mut trie = Trie { nodes: vec![Node::default()] };
        for (code, string) in (0..).zip(strings) {
            let Some(string) = string else { continue };
            let end = string.bytes().fold(0, |node, letter| trie.child(node, letter));
            trie.nodes[end].codes.push(code);
        }
        trie
    }

    fn child(&mut self, node: usize, letter: u8) -> usize {
        let fresh = self.nodes.len();
        let next = &mut self.nodes[node].next;
        match next.binary_search_by_key(&letter, |&(letter, _)| letter) {
            Ok(at) => next[at].1 as usize,
            Err(at) => {
                next.insert(at, (letter, fresh as u32));
                self.nodes.push(Node::default());
                fresh
            }
        }
    }

    /// The codes of a string.
    pub(crate) fn codes(&self, text: &str) -> &[u32] {
        let end = text.bytes().try_fold(self.nodes.first(), |node, letter| Some(self.behind(node?, letter)));
        end.flatten().map_or(&[], |node| &node.codes)
    }

    /// Calls with the codes of every string that the text begins with, and the string's length, shortest first.
    pub(crate) fn prefixes(&self, text: &[u8], mut found: impl FnMut(usize, &[u32])) {
        let Some(mut node) = self.nodes.first() else { return };
        let mut length = 0;
        loop {
            if !node.codes.is_empty() {
                found(length, &node.codes);
            }
            let next = text.get(length).and_then(|&letter| self.behind(node, letter));
            let Some(next) = next else { return };
            node = next;
            length += 1;
        }
    }

    fn behind(&self, node: &Node, letter: u8) -> Option<&Node> {
        let at = node.next.binary_search_by_key(&letter, |&(letter, _)| letter).ok()?;
        self.nodes.get(node.next[at].1 as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::Trie;

    #[test]
    fn all_prefixes_are_found() {
        let strings = [Some("R1"), None, Some(""), Some("R10"), Some("R1"), Some("R2")];
        let trie = Trie::new(strings.into_iter());
        let mut found = Vec::new();
        trie.prefixes(b"R10.reuse", |length, codes| found.push((length, codes.to_vec())));
        assert_eq!(found, [(0, vec![2]), (2, vec![0, 4]), (3, vec![3])]);
        assert_eq!((trie.codes("R1"), trie.codes("R"), trie.codes("X")), (&[0, 4][..], &[][..], &[][..]));
    }
}
