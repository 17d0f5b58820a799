//! The oracle: computes from a model, by the planning rules alone, which operations each job must run.

use std::collections::BTreeSet;

use super::model::{Directive, Expr, Form, Implementation, Model, Op, RELATIONSHIP_OPS, name};

/// An operation of a node or relationship: the key of its target, and its name.
pub(super) type Act = (String, String);

fn act(node: usize, op: Op) -> Act {
    (format!("::{}", name(node)), op.word().to_owned())
}

impl Model {
    pub(super) fn deploys(&self, node: usize) -> bool {
        match self.nodes[node].directive {
            Some(Directive::Virtual) => false,
            Some(Directive::Default) => self.is_required(node),
            Some(Directive::Dependent) => self.sources(node).next().is_some(),
            _ => true,
        }
    }

    /// Whether a node is not a default, or a required node requires it (rule U-f).
    fn is_required(&self, node: usize) -> bool {
        self.nodes[node].directive != Some(Directive::Default)
            || self.sources(node).any(|source| self.is_required(source))
    }

    /// The nodes that a node requires, directly and indirectly.
    pub(super) fn needed(&self, node: usize) -> BTreeSet<usize> {
        let mut all = BTreeSet::from([node]);
        for at in (0..=node).rev() {
            if all.contains(&at) {
                all.extend(self.targets(at));
            }
        }
        all.remove(&node);
        all
    }

    /// The nodes that require a node directly.
    fn sources(&self, node: usize) -> impl Iterator<Item = usize> {
        let later = node + 1..self.nodes.len();
        later.filter(move |source| self.targets(*source).any(|target| target == node))
    }

    /// Whether a node has no operation that creates it, so that its status is computed from its requirements.
    pub(super) fn is_computed(&self, node: usize) -> bool {
        self.operations(node).iter().all(|(op, _)| *op == Op::Check)
    }

    /// Whether a node is found instead of created. A node on a new host cannot exist yet, so it is not found.
    pub(super) fn is_found(&self, node: usize) -> bool {
        let host = self.nodes[node].host.as_ref().map(|host| host.target);
        match self.nodes[node].directive {
            Some(Directive::Discover) => true,
            Some(Directive::Check) => host.is_none_or(|host| !self.is_made(host)),
            _ => false,
        }
    }

    fn is_made(&self, node: usize) -> bool {
        !self.is_computed(node) && !self.is_found(node)
    }

    /// The operations that the first deploy runs.
    pub(super) fn first_deploy(&self) -> BTreeSet<Act> {
        let mut acts = BTreeSet::new();
        for node in (0..self.nodes.len()).filter(|node| self.deploys(*node)) {
            let directive = self.nodes[node].directive;
            let finds = match directive {
                Some(Directive::Discover) => Some(Op::Discover),
                Some(Directive::Check) if self.is_found(node) => Some(Op::Check),
                _ => None,
            };
            let operations = self.operations(node);
            let runs = |op: Op| finds.map_or(op.brings_up(), |found| op == found);
            acts.extend(
                operations
                    .iter()
                    .filter(|(op, _)| runs(*op))
                    .map(|(op, _)| act(node, *op)),
            );
            let of_relationships = match directive {
                Some(Directive::Discover) => ["add_source", "add_target"].as_slice(),
                _ => &RELATIONSHIP_OPS[..4],
            };
            self.relationships(node, of_relationships, &mut acts);
        }
        acts
    }

    /// Adds the operations of relationships that run in a node's turn: those that run on the source if the
    /// node is the source, and those that run on the target if it is the target.
    fn relationships(&self, node: usize, which: &[&str], acts: &mut BTreeSet<Act>) {
        for source in (0..self.nodes.len()).filter(|source| self.deploys(*source)) {
            for (kind, requirement) in self.requirements(source) {
                let key = format!("::{}::.requirements::[.name={kind}]", name(source));
                for (bit, op) in RELATIONSHIP_OPS.iter().enumerate() {
                    let turn = if op.ends_with("target") {
                        requirement.target
                    } else {
                        source
                    };
                    let stated = requirement.operations >> bit & 1 == 1;
                    if stated && turn == node && which.contains(op) {
                        acts.insert((key.clone(), (*op).to_owned()));
                    }
                }
            }
        }
    }

    /// The nodes that a teardown keeps (rule U-f): protected and found nodes, and all nodes that these
    /// require.
    pub(super) fn kept(&self) -> BTreeSet<usize> {
        let mut kept = BTreeSet::new();
        for node in (0..self.nodes.len())
            .rev()
            .filter(|node| self.deploys(*node))
        {
            let protected = self.nodes[node].directive == Some(Directive::Protected);
            if protected || self.is_found(node) && !self.is_computed(node) {
                kept.insert(node);
            }
            if kept.contains(&node) {
                kept.extend(self.targets(node));
            }
        }
        kept
    }

    /// The nodes that are absent after a teardown.
    pub(super) fn gone(&self) -> BTreeSet<usize> {
        let kept = self.kept();
        let nodes =
            (0..self.nodes.len()).filter(|node| self.deploys(*node) && !kept.contains(node));
        nodes
            .filter(|node| {
                let stops = self.runs(*node) && self.has(*node, Op::Stop);
                stops || self.has(*node, Op::Delete)
            })
            .collect()
    }

    /// Whether a node was started, or a check reported that it works.
    fn runs(&self, node: usize) -> bool {
        self.has(node, Op::Start) || self.nodes[node].directive == Some(Directive::Check)
    }

    /// The operations that a teardown runs. Started nodes are stopped, and relationships are removed before
    /// their ends.
    pub(super) fn teardown(&self) -> BTreeSet<Act> {
        let kept = self.kept();
        let mut acts = BTreeSet::new();
        for node in (0..self.nodes.len()).filter(|node| self.deploys(*node)) {
            // A computed node takes no part, and neither do the relationship operations in its turn.
            if kept.contains(&node) || self.is_computed(node) {
                continue;
            }
            let goes = |op: Op| op == Op::Delete || op == Op::Stop && self.runs(node);
            let operations = self.operations(node);
            acts.extend(
                operations
                    .iter()
                    .filter(|(op, _)| goes(*op))
                    .map(|(op, _)| act(node, *op)),
            );
            self.relationships(node, &RELATIONSHIP_OPS[6..], &mut acts);
        }
        acts
    }

    /// The operations that run again after an edit of a property or an input.
    pub(super) fn rerun(&self, edited: &Expr) -> BTreeSet<Act> {
        let mut changed: Vec<Expr> = vec![edited.clone()];
        let mut acts = BTreeSet::new();
        loop {
            let before = changed.len() + acts.len();
            for node in (0..self.nodes.len()).filter(|node| self.deploys(*node)) {
                for (at, value) in self.nodes[node].properties.iter().enumerate() {
                    let property = Expr::Property(node, at, Form::Eval);
                    if has(&changed, value) && !has(&changed, &property) {
                        changed.push(property);
                    }
                }
                self.rerun_of(node, &mut changed, &mut acts);
            }
            if changed.len() + acts.len() == before {
                return acts;
            }
        }
    }

    fn rerun_of(&self, node: usize, changed: &mut Vec<Expr>, acts: &mut BTreeSet<Act>) {
        let operations = self.operations(node);
        let touched = |op: &Op, implementation: &Implementation| {
            let mut reads = implementation.reads.iter().chain(&implementation.sets);
            acts.contains(&act(node, *op)) || reads.any(|read| has(changed, read))
        };
        let touched = operations.iter().filter(|(op, it)| touched(op, it));
        let touched: Vec<Op> = touched.map(|(op, _)| *op).collect();
        let again: Vec<Op> = match self.nodes[node].directive {
            Some(Directive::Discover) => vec![Op::Discover],
            Some(Directive::Check) => Vec::new(),
            // A node that is created again is brought up completely.
            _ if touched.contains(&Op::Create) => vec![Op::Create, Op::Configure, Op::Start],
            _ => vec![Op::Configure, Op::Start],
        };
        let anew = again.contains(&Op::Create);
        for (op, implementation) in operations {
            if again.contains(&op) && (anew || touched.contains(&op)) {
                acts.insert(act(node, op));
                let attribute = Expr::Attribute(node, Form::Eval);
                let sets = implementation.sets.as_ref();
                if sets.is_some_and(|value| has(changed, value)) && !has(changed, &attribute) {
                    changed.push(attribute);
                }
            }
        }
    }
}

/// Whether an expression is in a list, whatever its syntax.
fn has(all: &[Expr], one: &Expr) -> bool {
    all.iter().any(|other| match (other, one) {
        (Expr::Property(a, b, _), Expr::Property(c, d, _)) => (a, b) == (c, d),
        (Expr::Attribute(a, _), Expr::Attribute(b, _)) => a == b,
        _ => other == one,
    })
}
