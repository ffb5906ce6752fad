//! The call trees of two sides as one.

use crate::trace::methods::MethodIx;
use crate::trace::tree::Tree;

/// What a node costs on one side, a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// Calls.
    pub calls: u64,
    /// Time not spent in the nodes below.
    pub own: u64,
    /// Time from enter to end.
    pub total: u64,
}

/// Both call trees as one. A node is as wide as what is inside it, each part as wide as on the side where it is wider:
/// what is new and what is gone both show.
pub struct DiffTree {
    /// The tree; methods are rows of the comparison.
    pub tree: Tree,
    /// Per node: before and after.
    pub costs: Vec<[Costs; 2]>,
}

impl DiffTree {
    pub(super) fn new(
        trees: [&Tree; 2],
        rows_of: &[Vec<MethodIx>; 2],
        runs: [usize; 2],
    ) -> DiffTree {
        let mut tree = Tree::default();
        let mut costs: Vec<[Costs; 2]> = Vec::new();
        for side in 0..2 {
            let mean = |sum: u64| sum / runs[side].max(1) as u64;
            let mut places: Vec<u32> = Vec::with_capacity(trees[side].nodes().len());
            for node in trees[side].nodes() {
                let parent = node.parent.map(|p| places[p as usize]);
                let method = rows_of[side][node.method as usize];
                // Beyond the bound on nodes a node's cost is its caller's.
                let Some(place) = tree.child(parent, method).or(parent) else {
                    places.push(0);
                    continue;
                };
                let beyond = Some(place) == parent;
                places.push(place);
                costs.resize(tree.nodes().len(), [Costs::default(); 2]);
                let cost = &mut costs[place as usize][side];
                // What calls below stand for is in them: or the times would not add up.
                cost.own = cost.own.saturating_add(mean(node.own_apart()));
                if !beyond {
                    cost.calls = cost.calls.saturating_add(mean(node.calls));
                    cost.total = cost.total.saturating_add(mean(node.total));
                }
            }
        }
        let own: Vec<u64> = costs.iter().map(|[b, a]| b.own.max(a.own)).collect();
        tree.weigh(&own);
        DiffTree { tree, costs }
    }
}
