//! What must happen to a model, by the rules alone.

use std::collections::BTreeSet;

use super::model::{Directive, Expr, Model, Op, RELATIONSHIP_OPS, name};

/// An operation of a node or of a relationship: the key of its target, and its name.
pub(super) type Act = (String, String);

fn act(node: usize, op: Op) -> Act {
    (format!("::{}", name(node)), op.word().to_owned())
}

impl Model {
    /// Whether a node is deployed: on demand only where something deployed requires it.
    pub(super) fn deploys(&self, node: usize) -> bool {
        match self.nodes[node].directive {
            Some(Directive::Virtual) => false,
            Some(Directive::Default | Directive::Dependent) => (node + 1..self.nodes.len())
                .any(|source| self.deploys(source) && self.targets(source).any(|t| t == node)),
            _ => true,
        }
    }

    /// Whether no operation makes a node, so that it is the sum of what it requires.
    pub(super) fn is_computed(&self, node: usize) -> bool {
        self.operations(node).iter().all(|(op, _)| *op == Op::Check)
    }

    /// Whether a node is found, not made.
    pub(super) fn is_found(&self, node: usize) -> bool {
        let found = [Some(Directive::Discover), Some(Directive::Check)];
        found.contains(&self.nodes[node].directive)
    }

    /// What the first deploy runs.
    pub(super) fn first_deploy(&self) -> BTreeSet<Act> {
        let mut acts = BTreeSet::new();
        for node in (0..self.nodes.len()).filter(|node| self.deploys(*node)) {
            let directive = self.nodes[node].directive;
            let finds = match directive {
                Some(Directive::Discover) => Some(Op::Discover),
                Some(Directive::Check) => Some(Op::Check),
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
                Some(Directive::Check) => &[],
                _ => &RELATIONSHIP_OPS[..4],
            };
            self.relationships(node, of_relationships, &mut acts);
        }
        acts
    }

    /// The operations of a node's relationships that run in its turn: those of its own as their
    /// source, those of others as their target.
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

    /// The nodes that a teardown leaves alone (rules 18 to 21): what is protected or was found,
    /// and all that these need.
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

    /// The nodes that a teardown makes absent.
    pub(super) fn gone(&self) -> BTreeSet<usize> {
        let kept = self.kept();
        let nodes =
            (0..self.nodes.len()).filter(|node| self.deploys(*node) && !kept.contains(node));
        nodes
            .filter(|node| {
                let started = self.has(*node, Op::Start) && self.has(*node, Op::Stop);
                started || self.has(*node, Op::Delete)
            })
            .collect()
    }

    /// The operations that run again after a property, or an input, was edited.
    pub(super) fn rerun(&self, edited: &Expr) -> BTreeSet<Act> {
        let mut changed: Vec<Expr> = vec![edited.clone()];
        let mut acts = BTreeSet::new();
        loop {
            let before = changed.len() + acts.len();
            for node in (0..self.nodes.len()).filter(|node| self.deploys(*node)) {
                for (at, value) in self.nodes[node].properties.iter().enumerate() {
                    let property = Expr::Property(node, at, super::model::Form::Eval);
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
        for (op, implementation) in self.operations(node) {
            if !self.is_compared(node, op) {
                continue;
            }
            let reads = implementation.reads.iter().chain(&implementation.sets);
            if reads.clone().any(|read| has(changed, read)) {
                acts.insert(act(node, op));
                let attribute = Expr::Attribute(node, super::model::Form::Eval);
                let sets = implementation.sets.as_ref();
                if sets.is_some_and(|value| has(changed, value)) && !has(changed, &attribute) {
                    changed.push(attribute);
                }
            }
        }
    }

    /// Whether a deploy looks for changes of what an operation read.
    fn is_compared(&self, node: usize, op: Op) -> bool {
        match self.nodes[node].directive {
            Some(Directive::Discover) => op == Op::Discover,
            Some(Directive::Check) => false,
            _ => op == Op::Configure,
        }
    }
}

/// Whether an expression is among others, however it is written.
fn has(all: &[Expr], one: &Expr) -> bool {
    all.iter().any(|other| match (other, one) {
        (Expr::Property(a, b, _), Expr::Property(c, d, _)) => (a, b) == (c, d),
        (Expr::Attribute(a, _), Expr::Attribute(b, _)) => a == b,
        _ => other == one,
    })
}
