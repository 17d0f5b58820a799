//! Generators of random models. They draw small picks, which proptest can shrink one by one, and build a
//! valid service template from them.

use proptest::collection::vec;
use proptest::option::weighted;
use proptest::prelude::{Just, Strategy, any, prop_oneof};

use super::model::{Directive, Expr, Form, Implementation, Model, Node, Op, Requirement};

/// The largest number of properties of a node.
const PROPERTIES: usize = 3;

#[derive(Debug, Clone)]
struct ExprPick {
    kind: u8,
    node: u16,
    property: u8,
    form: u8,
}

#[derive(Debug, Clone)]
struct OpPick {
    op: usize,
    process: bool,
    reads: Vec<ExprPick>,
    sets: Option<ExprPick>,
}

#[derive(Debug, Clone)]
struct RequirementPick {
    target: u16,
    operations: u8,
}

#[derive(Debug, Clone)]
struct NodePick {
    host: Option<RequirementPick>,
    needs: Vec<RequirementPick>,
    base: Option<u16>,
    properties: Vec<ExprPick>,
    operations: Vec<OpPick>,
    in_type: bool,
    directive: Option<Directive>,
}

fn expr() -> impl Strategy<Value = ExprPick> {
    (0u8..10, any::<u16>(), 0u8..3, 0u8..4).prop_map(|(kind, node, property, form)| ExprPick {
        kind,
        node,
        property,
        form,
    })
}

fn operation() -> impl Strategy<Value = OpPick> {
    // Most operations bring nodes up. Few use a process, because processes are slow.
    let op = prop_oneof![4 => 2usize..5, 2 => 5usize..7, 1 => 0usize..2];
    let process = prop_oneof![24 => Just(false), 1 => Just(true)];
    (op, process, vec(expr(), 0..4), weighted(0.3, expr())).prop_map(
        |(op, process, reads, sets)| OpPick {
            op,
            process,
            reads,
            sets,
        },
    )
}

fn requirement() -> impl Strategy<Value = RequirementPick> {
    let operations = prop_oneof![4 => Just(0), 1 => any::<u8>()];
    (any::<u16>(), operations)
        .prop_map(|(target, operations)| RequirementPick { target, operations })
}

fn directive() -> impl Strategy<Value = Option<Directive>> {
    prop_oneof![
        20 => Just(None),
        1 => Just(Some(Directive::Default)),
        1 => Just(Some(Directive::Dependent)),
        1 => Just(Some(Directive::Protected)),
        1 => Just(Some(Directive::Virtual)),
        1 => Just(Some(Directive::Discover)),
        1 => Just(Some(Directive::Check)),
    ]
}

fn node() -> impl Strategy<Value = NodePick> {
    let requirements = (weighted(0.4, requirement()), vec(requirement(), 0..3));
    let parts = (
        requirements,
        weighted(0.2, any::<u16>()),
        vec(expr(), 0..=PROPERTIES),
        vec(operation(), 0..6),
        any::<bool>(),
        directive(),
    );
    parts.prop_map(
        |((host, needs), base, properties, operations, in_type, directive)| NodePick {
            host,
            needs,
            base,
            properties,
            operations,
            in_type,
            directive,
        },
    )
}

/// Random service templates with up to 12 nodes.
pub(super) fn models() -> impl Strategy<Value = Model> {
    let nodes = prop_oneof![100 => vec(node(), 1..=12), 0 => vec(node(), 60)];
    let outputs = vec(expr(), 0..3);
    (nodes, outputs).prop_map(|(nodes, outputs)| build(&nodes, &outputs))
}

/// Random service templates with a fixed number of nodes.
pub(super) fn models_of(size: usize) -> impl Strategy<Value = Model> {
    vec(node(), size).prop_map(|nodes| build(&nodes, &[]))
}

fn build(picks: &[NodePick], outputs: &[ExprPick]) -> Model {
    let mut model = Model {
        inputs: vec![0, 0],
        nodes: Vec::new(),
        outputs: Vec::new(),
    };
    for (place, pick) in picks.iter().enumerate() {
        let node = shape(&model, place, pick);
        model.nodes.push(node);
    }
    for (place, pick) in picks.iter().enumerate() {
        for (at, value) in pick.properties.iter().enumerate() {
            let value = property(&model, place, at, value);
            model.nodes[place].properties.push(value);
        }
        fill(&mut model, place, pick);
        inherit_what_is_set(&mut model, place);
    }
    for place in 0..model.nodes.len() {
        // A default node without operations is not recorded, so later jobs cannot know about the order of the
        // nodes before and after it. Avoid such nodes.
        if model.nodes[place].directive == Some(Directive::Default) && model.is_computed(place) {
            model.nodes[place].directive = None;
        }
    }
    model.outputs = outputs
        .iter()
        .enumerate()
        .map(|(at, pick)| read(&model, picks.len(), &format!("o{at}"), pick))
        .collect();
    model
}

/// Adds the effects of inherited inputs. An operation that refines one of the base type inherits its inputs,
/// and so sets the same attribute. Still, only one operation of a node sets it.
fn inherit_what_is_set(model: &mut Model, place: usize) {
    let Some(base) = model.nodes[place].base else {
        return;
    };
    let inherited = model.operations(base).into_iter();
    let mut setting = inherited.filter_map(|(op, it)| Some((op, it.sets.clone()?)));
    let Some((setter, sets)) = setting.next() else {
        return;
    };
    drop(setting);
    let own = &mut model.nodes[place].own;
    if own
        .iter()
        .any(|(op, it)| *op == setter && it.sets.is_none())
    {
        for (op, implementation) in own {
            implementation.sets = (*op == setter).then(|| sets.clone());
        }
    }
}

/// Chooses the requirements, the base type and the operations of a node.
fn shape(model: &Model, place: usize, pick: &NodePick) -> Node {
    let earlier = |pick: u16| (place > 0).then(|| usize::from(pick) % place);
    let target = |pick: &RequirementPick| {
        let target = earlier(pick.target)?;
        // A virtual node never exists, so no node can require it.
        let exists = model.nodes[target].directive != Some(Directive::Virtual);
        // A discovered node has no turn in which relationship operations could run.
        let found = model.nodes[target].directive == Some(Directive::Discover);
        let operations = if found { 0 } else { pick.operations };
        exists.then_some(Requirement { target, operations })
    };
    let mut own: Vec<(Op, Implementation)> = Vec::new();
    let mut add = |op: Op, pick: Option<&OpPick>| {
        if own.iter().all(|(other, _)| *other != op) {
            let implementation = Implementation {
                process: pick.is_some_and(|pick| pick.process),
                reads: Vec::new(),
                sets: None,
                reports: matches!(op, Op::Check | Op::Discover),
            };
            own.push((op, implementation));
        }
    };
    for pick in &pick.operations {
        add(Op::ALL[pick.op], Some(pick));
    }
    let wanted = match pick.directive {
        Some(Directive::Discover) => Some(Op::Discover),
        Some(Directive::Check) => Some(Op::Check),
        _ => None,
    };
    if let Some(op) = wanted {
        add(op, None);
    }
    let mut node = Node {
        host: pick.host.as_ref().and_then(target),
        needs: pick.needs.iter().filter_map(target).collect(),
        base: pick.base.and_then(earlier),
        properties: Vec::new(),
        own,
        in_type: pick.in_type,
        directive: pick.directive,
    };
    node.own.sort_by_key(|(op, _)| *op);
    let mut with = model.clone();
    with.nodes.push(node.clone());
    // A node with operations, but none that brings it up, would never exist.
    let all = with.operations(place);
    let acts = all.iter().any(|(op, _)| *op != Op::Check);
    if acts && !all.iter().any(|(op, _)| op.brings_up()) {
        let implementation = Implementation {
            process: false,
            reads: Vec::new(),
            sets: None,
            reports: false,
        };
        node.own.push((Op::Configure, implementation));
    }
    node
}

/// Chooses the inputs and the result of a node's operations.
fn fill(model: &mut Model, place: usize, pick: &NodePick) {
    for at in 0..model.nodes[place].own.len() {
        let op = model.nodes[place].own[at].0;
        let Some(pick) = pick.operations.iter().find(|pick| Op::ALL[pick.op] == op) else {
            continue;
        };
        let text = |what: &str| format!("{}{place}-{what}", op.word());
        // The plan decides whether `create` and `start` run again before any task sets an attribute, so these
        // operations must not read attributes.
        let is_early = matches!(op, Op::Create | Op::Start);
        let value = |name: &str, pick: &ExprPick| match read(model, place, &text(name), pick) {
            Expr::Attribute(..) if is_early => Expr::Text(text(name), 0),
            other => other,
        };
        let reads = pick.reads.iter().enumerate();
        let reads = reads.map(|(at, pick)| value(&at.to_string(), pick));
        let reads = reads.collect();
        // Only one operation sets the attribute, so its value does not depend on which one ran last.
        let free = model
            .operations(place)
            .iter()
            .all(|(_, other)| other.sets.is_none());
        let may_set = free && (op.brings_up() || op == Op::Discover);
        let sets = pick.sets.as_ref().filter(|_| may_set);
        // The result template is evaluated when the task ends, and no dependency makes the task wait for
        // attributes of other nodes that it reads.
        let sets = sets.map(|pick| match value("a", pick) {
            Expr::Attribute(..) => Expr::Text(text("a"), 0),
            other => other,
        });
        let implementation = &mut model.nodes[place].own[at].1;
        implementation.reads = reads;
        implementation.sets = sets;
    }
}

/// Chooses the value of a property. A property refers only to earlier properties, so there are no cycles.
fn property(model: &Model, place: usize, at: usize, pick: &ExprPick) -> Expr {
    let text = || Expr::Text(format!("n{place}-p{at}"), 0);
    match pick.kind {
        0..6 => text(),
        6 => Expr::Input(usize::from(pick.property) % model.inputs.len()),
        _ => {
            let node = usize::from(pick.node) % (place + 1);
            let known = if node == place {
                at
            } else {
                model.nodes[node].properties.len()
            };
            let is_there = model.nodes[node].exists_always() && known > 0;
            if is_there {
                Expr::Property(node, usize::from(pick.property) % known, form(pick))
            } else {
                text()
            }
        }
    }
}

/// Chooses a value that an operation or an output reads: properties of nodes up to its own, or attributes of
/// other nodes.
fn read(model: &Model, place: usize, name: &str, pick: &ExprPick) -> Expr {
    let text = || Expr::Text(name.to_owned(), 0);
    let up_to = (place + 1).min(model.nodes.len());
    let node = usize::from(pick.node) % up_to;
    let (of, known) = (&model.nodes[node], model.nodes[node].properties.len());
    if (node != place && !of.exists_always()) || pick.kind < 3 {
        return text();
    }
    match pick.kind {
        3 => Expr::Input(usize::from(pick.property) % model.inputs.len()),
        4..7 if known > 0 => Expr::Property(node, usize::from(pick.property) % known, form(pick)),
        7.. if node != place => Expr::Attribute(node, form(pick)),
        _ => text(),
    }
}

fn form(pick: &ExprPick) -> Form {
    [Form::Function, Form::Eval, Form::Jinja, Form::Concat][usize::from(pick.form) % 4]
}

impl Node {
    /// Whether the node exists even if no other node requires it.
    pub(super) fn exists_always(&self) -> bool {
        let on_demand = [Directive::Default, Directive::Dependent, Directive::Virtual];
        self.directive
            .is_none_or(|directive| !on_demand.contains(&directive))
    }
}
