//! Places the boxes of a flame graph: root on top, children under their parent, as wide as their share of the time.
//!
//! Pure and independent of what the nodes are; boxes that would be narrower than can be seen are left out together
//! with everything under them.

/// One box, in shares of the width.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Block {
    /// Depth below the root, which has 0.
    pub depth: usize,
    /// Left end, 0 to 1.
    pub left: f64,
    /// Right end, 0 to 1.
    pub right: f64,
    /// Which node it is, as given by `children`.
    pub node: usize,
    /// Number of its parent's box; the root's is its own.
    pub parent: usize,
}

/// How a tree of nodes with indices is read.
pub struct Tree<'a> {
    /// The time of a node, its children included; what is negative or no number counts as nothing.
    pub value: &'a dyn Fn(usize) -> f64,
    /// The children of a node, in the order in which they are to be drawn.
    pub children: &'a dyn Fn(usize) -> Vec<usize>,
}

/// Places the boxes of everything under `root`, which fills the width. Boxes narrower than `least_share` are left out.
/// Children that together claim more than their parent has are shrunk to fit. Never deeper than `max_depth`.
pub fn place(tree: &Tree<'_>, root: usize, least_share: f64, max_depth: usize) -> Vec<Block> {
    let mut blocks = vec![Block { depth: 0, left: 0.0, right: 1.0, node: root, parent: 0 }];
    let mut next = 0;
    while let Some(parent) = blocks.get(next).copied() {
        if parent.depth < max_depth {
            place_children(tree, parent, next, least_share, &mut blocks);
        }
        next += 1;
    }
    blocks
}

fn place_children(tree: &Tree<'_>, parent: Block, parent_idx: usize, least_share: f64, blocks: &mut Vec<Block>) {
    let amount = |node: usize| {
        let value = (tree.value)(node);
        if value.is_finite() { value.max(0.0) } else { 0.0 }
    };
    let children = (tree.children)(parent.node);
    let claimed: f64 = children.iter().map(|&child| amount(child)).sum();
    let whole = amount(parent.node).max(claimed);
    if whole <= 0.0 {
        return;
    }
    let scale = (parent.right - parent.left) / whole;
    let mut left = parent.left;
    for node in children {
        let right = (left + amount(node) * scale).min(parent.right);
        if right - left >= least_share {
            blocks.push(Block { depth: parent.depth + 1, left, right, node, parent: parent_idx });
        }
        left = right;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use proptest::prelude::*;

    /// Values and parents of nodes; a parent comes before its children.
    fn trees() -> impl Strategy<Value = Vec<(f64, usize)>> {
        prop::collection::vec((0.0..100.0_f64, 0..1_000_000_usize), 1..80).prop_map(|nodes| {
            nodes
                .into_iter()
                .enumerate()
                .map(|(i, (value, parent))| (value, if i == 0 { 0 } else { parent % i }))
                .collect()
        })
    }

    proptest! {
        #[test]
        fn boxes_lie_within_their_parents_and_never_overlap(nodes in trees()) {
            let children = |node: usize| (1..nodes.len()).filter(|&i| nodes[i].1 == node).collect::<Vec<_>>();
            let value = |node: usize| nodes[node].0;
            let blocks = place(&Tree { value: &value, children: &children }, 0, 0.0, 100);
            for block in &blocks {
                let parent = blocks[block.parent];
                prop_assert!(block.left >= parent.left - 1e-12 && block.right <= parent.right + 1e-12);
            }
            for a in &blocks {
                for b in blocks.iter().filter(|b| b.depth == a.depth && b.node != a.node) {
                    prop_assert!(a.right <= b.left + 1e-12 || b.right <= a.left + 1e-12, "{a:?} {b:?}");
                }
            }
        }
    }

    #[test]
    fn narrow_boxes_and_what_is_under_them_are_left_out() {
        let values = [100.0, 99.0, 1.0, 50.0];
        let children = |node: usize| match node {
            0 => vec![1, 2],
            2 => vec![3],
            _ => vec![],
        };
        let value = |node: usize| values[node];
        let tree = Tree { value: &value, children: &children };
        let nodes: Vec<usize> = place(&tree, 0, 0.05, 10).iter().map(|block| block.node).collect();
        assert_eq!(nodes, [0, 1]);
        assert_eq!(place(&tree, 0, 0.0, 1).len(), 3, "no deeper than asked");
    }

    #[test]
    fn children_that_claim_too_much_are_shrunk() {
        let values = [10.0, 15.0, 5.0, f64::NAN];
        let children = |node: usize| if node == 0 { vec![1, 2, 3] } else { vec![] };
        let value = |node: usize| values[node];
        let blocks = place(&Tree { value: &value, children: &children }, 0, 0.0, 10);
        assert_eq!((blocks[1].left, blocks[1].right), (0.0, 0.75));
        assert_eq!((blocks[2].left, blocks[2].right), (0.75, 1.0));
    }
}
