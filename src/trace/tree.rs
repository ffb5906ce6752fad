//! The merged call tree: calls with the same callers are one node.

use super::call::{Call, Frame, Outcome, Scaled};
use super::methods::MethodIx;
use rustc_hash::FxHashMap;

/// Deepest level: deeper calls count for the node there. Deeper recursion shows nothing new.
pub const MAX_DEPTH: u32 = 1_000;

/// Most nodes; calls that would make more count for the nearest caller that has one.
const MAX_NODES: usize = 1 << 20;

/// A method called by one chain of callers.
#[derive(Clone, Debug)]
pub struct Node {
    /// The caller's node.
    pub parent: Option<u32>,
    pub method: MethodIx,
    /// 0 for a thread's first call.
    pub depth: u32,
    /// Calls; a logical call counts where its first piece ran.
    pub calls: u64,
    /// Further pieces of logical calls that ran here.
    pub resumed: u64,
    /// Time from enter to end; of logical calls the time of the pieces that ran here.
    pub total: u64,
    /// Time not spent in the nodes below.
    pub own: u64,
    /// Calls left by an exception.
    pub errors: u64,
    /// Calls that were running at the end of the trace.
    pub running: u64,
    /// The share of calls that stand for others.
    pub scaled: Scaled,
    /// Of `own`, the time of calls for which others below stand.
    pub of_others: u64,
}

impl Node {
    /// Time not spent in the nodes below, nor in calls for which those stand. With it the times of a tree add up.
    pub fn own_apart(&self) -> u64 {
        self.own.saturating_sub(self.of_others)
    }
}

/// The tree over all threads; parents come before their children.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    nodes: Vec<Node>,
    children: FxHashMap<(Option<u32>, MethodIx), u32>,
    folded: u64,
}

impl Tree {
    /// All nodes; parents come before their children.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Calls that were too deep or too many for a node of their own.
    pub fn folded(&self) -> u64 {
        self.folded
    }

    /// Time of all first calls of threads.
    pub fn total(&self) -> u64 {
        self.nodes
            .iter()
            .filter(|n| n.parent.is_none())
            .fold(0, |sum, n| sum.saturating_add(n.total))
    }

    /// Each node's children, the largest first; the roots are those of `None`, at the end.
    pub fn by_parent(&self) -> Children {
        let mut order: Vec<u32> = (0..self.nodes.len() as u32).collect();
        let key = |&i: &u32| {
            let node = &self.nodes[i as usize];
            let parent = node.parent.map_or(self.nodes.len(), |p| p as usize);
            (parent, std::cmp::Reverse(node.total), i)
        };
        order.sort_unstable_by_key(key);
        let mut starts = vec![0u32; self.nodes.len() + 2];
        for i in &order {
            starts[key(i).0 + 1] += 1;
        }
        for i in 1..starts.len() {
            starts[i] += starts[i - 1];
        }
        Children { order, starts }
    }

    /// Adds the call at the end of the stack.
    pub fn add(&mut self, call: &Call, stack: &mut [Frame]) {
        // Callers get their nodes with the first call below them that ends.
        let known = stack.iter().rposition(|f| f.node.is_some());
        let mut parent = known.and_then(|i| stack[i].node);
        for frame in &mut stack[known.map_or(0, |i| i + 1)..] {
            parent = self.child(parent, frame.method).or(parent);
            frame.node = parent;
        }
        let above = stack.len().checked_sub(2).and_then(|i| stack[i].node);
        let Some(node) = parent else { return };
        let entry = &mut self.nodes[node as usize];
        if above == Some(node) {
            // Folded into its caller, whose total has this time already.
            self.folded = self.folded.saturating_add(call.weight.into());
            entry.own = entry.own.saturating_add(call.scaled(call.own));
            return;
        }
        let calls = u64::from(call.weight);
        match call.piece {
            Some(piece) if !piece.first => entry.resumed = entry.resumed.saturating_add(calls),
            _ => entry.calls = entry.calls.saturating_add(calls),
        }
        entry.total = entry.total.saturating_add(call.scaled(call.total));
        entry.own = entry.own.saturating_add(call.scaled(call.own));
        match call.outcome {
            Outcome::Error => entry.errors = entry.errors.saturating_add(calls),
            Outcome::Running => entry.running = entry.running.saturating_add(calls),
            Outcome::Exit | Outcome::Lost => {}
        }
        if call.weight > 1 {
            match call.piece {
                Some(piece) if !piece.first => {}
                Some(_) => entry.scaled.add_logical(call.weight),
                None => entry.scaled.add(call),
            }
            self.claim(call, stack);
        }
    }

    /// The time of calls for which this one stands is in the own time of its caller, where that stands for fewer.
    fn claim(&mut self, call: &Call, stack: &[Frame]) {
        if let [.., caller, _] = stack
            && let Some(node) = caller.node
        {
            let others = u64::from(call.weight.saturating_sub(caller.weight));
            let caller = &mut self.nodes[node as usize];
            let more = call.total.saturating_mul(others);
            caller.of_others = caller.of_others.saturating_add(more);
        }
    }

    /// Gives the nodes these own times, and the totals that follow.
    pub fn weigh(&mut self, own: &[u64]) {
        for (node, &own) in self.nodes.iter_mut().zip(own) {
            (node.own, node.total) = (own, own);
        }
        for i in (0..self.nodes.len()).rev() {
            let Node { parent, total, .. } = self.nodes[i];
            if let Some(parent) = parent {
                let caller = &mut self.nodes[parent as usize];
                caller.total = caller.total.saturating_add(total);
            }
        }
    }

    /// The node of a method that this node calls; `None` if it would be too deep or too many.
    pub fn child(&mut self, parent: Option<u32>, method: MethodIx) -> Option<u32> {
        if let Some(&node) = self.children.get(&(parent, method)) {
            return Some(node);
        }
        let depth = parent.map_or(0, |p| self.nodes[p as usize].depth + 1);
        // Roots always have nodes: they are no more than methods.
        if depth >= MAX_DEPTH || depth > 0 && self.nodes.len() >= MAX_NODES {
            return None;
        }
        let node = self.nodes.len() as u32;
        self.nodes.push(Node {
            parent,
            method,
            depth,
            calls: 0,
            resumed: 0,
            total: 0,
            own: 0,
            errors: 0,
            running: 0,
            scaled: Scaled::default(),
            of_others: 0,
        });
        self.children.insert((parent, method), node);
        Some(node)
    }
}

/// Per node: whether it, a caller or a callee of it is of a method that is wanted.
pub fn visible(tree: &Tree, wanted: &[bool]) -> Vec<bool> {
    let nodes = tree.nodes();
    let own: Vec<bool> = nodes.iter().map(|n| wanted[n.method as usize]).collect();
    let mut below = own.clone();
    for (i, node) in nodes.iter().enumerate().rev() {
        if let (true, Some(parent)) = (below[i], node.parent) {
            below[parent as usize] = true;
        }
    }
    let mut above = own;
    for (i, node) in nodes.iter().enumerate() {
        above[i] |= node.parent.is_some_and(|p| above[p as usize]);
    }
    below.iter().zip(&above).map(|(&b, &a)| a || b).collect()
}

/// The children of every node.
pub struct Children {
    order: Vec<u32>,
    starts: Vec<u32>,
}

impl Children {
    /// Children of a node, the largest first; the roots for `None`.
    pub fn of(&self, parent: Option<u32>) -> &[u32] {
        let slot = parent.map_or(self.starts.len() - 2, |p| p as usize);
        &self.order[self.starts[slot] as usize..self.starts[slot + 1] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(tree: &mut Tree, methods: &[u32], total: u64) {
        let mut stack: Vec<Frame> = methods
            .iter()
            .map(|&method| Frame {
                method,
                id: method,
                node: None,
                start: 0,
                inner: 0,
                piece: None,
                root: 0,
                weight: 1,
                taken: 0,
            })
            .collect();
        let call = Call {
            method: *methods.last().unwrap(),
            start: 0,
            total,
            took: total,
            own: total,
            outermost: true,
            outcome: Outcome::Exit,
            piece: None,
            weight: 1,
        };
        tree.add(&call, &mut stack);
    }

    #[test]
    fn chains_merge_and_children_come_largest_first() {
        let mut tree = Tree::default();
        add(&mut tree, &[1, 2], 5);
        add(&mut tree, &[1, 3], 9);
        add(&mut tree, &[1, 2], 1);
        add(&mut tree, &[1], 20);
        add(&mut tree, &[2], 30);
        let children = tree.by_parent();
        let methods = |of| -> Vec<_> {
            let nodes: &[u32] = children.of(of);
            nodes
                .iter()
                .map(|&i| {
                    let n = &tree.nodes()[i as usize];
                    (n.method, n.calls, n.total)
                })
                .collect()
        };
        assert_eq!(methods(None), [(2, 1, 30), (1, 1, 20)]);
        assert_eq!(methods(Some(0)), [(3, 1, 9), (2, 2, 6)]);
        assert_eq!(methods(Some(1)), []);
        assert_eq!(tree.total(), 50);
    }

    #[test]
    fn depth_is_bounded() {
        let mut tree = Tree::default();
        add(&mut tree, &vec![1; 5_000], 3);
        assert_eq!(tree.nodes().len(), MAX_DEPTH as usize);
        assert_eq!(tree.nodes().last().unwrap().own, 3);
        assert_eq!(tree.folded(), 1);
    }
}
