//! Tests of the text of plans: its words, and that colours do not change them.

use super::*;
use crate::diagnostic::{SourcePosition, Span};
use crate::job::{Difference, DifferenceKind};
use crate::task::TaskWork;
use crate::ui::change::ChangeView;
use crate::ui::paint::{Paint, without_colours};
use crate::ui::plan::{PlanOperation, PlanTask};
use crate::ui::{OrphanLine, SkippedView};
use crate::value::Value;

/// Renders a plan without colours, and checks that colours do not change the words.
fn shown(plan: &PlanView, width: usize, is_full: bool) -> String {
    let style = |is_coloured: bool| PlanText {
        layout: Layout {
            paint: Paint::new(is_coloured),
            width,
            is_full,
        },
        lists_skipped: is_full,
    };
    let plain = plan.text(style(false));
    let coloured = plan.text(style(true));
    assert_eq!(without_colours(&coloured), plain);
    let is_plain = plan.instances.is_empty() && plan.drifted.is_empty();
    assert_eq!(coloured == plain, is_plain);
    plain
}

fn place(line: usize) -> SourcePosition {
    SourcePosition {
        path: "ensemble.yaml".into(),
        line,
        column: 9,
    }
}

fn instance(name: &str, action: InstanceAction, operations: Vec<PlanOperation>) -> PlanInstance {
    PlanInstance {
        name: name.to_owned(),
        type_name: "App".to_owned(),
        action,
        place: Some(place(12)),
        operations,
        values: Vec::new(),
        is_detailed: true,
    }
}

fn operation(name: &str, reason: &str, text: Option<&str>, command: &str) -> PlanOperation {
    PlanOperation {
        task: PlanTask {
            operation: name.to_owned(),
            reason: reason.to_owned(),
            reason_text: text.map(str::to_owned),
            ..PlanTask::default()
        },
        work: Some(TaskWork::Command(command.into())),
        ..PlanOperation::default()
    }
}

fn change(name: &str, old: impl Into<Value>, new: impl Into<Value>) -> ChangeView {
    let side = DifferenceSide::Value;
    ChangeView {
        difference: Difference {
            kind: DifferenceKind::Property,
            key: format!("::web::{name}"),
            name: name.to_owned(),
            of: None,
            old: side(old.into()),
            new: side(new.into()),
            secret: false,
            span: Span::NONE,
            follows: Vec::new(),
        },
        location: Some(place(20)),
        follows: Vec::new(),
    }
}

fn plan(instances: Vec<PlanInstance>) -> PlanView {
    PlanView {
        workflow: "deploy".to_owned(),
        ensemble: "shop/production".to_owned(),
        instances,
        unchanged: 3,
        ..PlanView::default()
    }
}

fn new_instance() -> PlanInstance {
    let missing = Some("it does not exist yet");
    let mut new = instance(
        "web",
        InstanceAction::Create,
        vec![
            operation(
                "create",
                "add",
                missing,
                "make -C web PREFIX=/srv/web install",
            ),
            operation("start", "add", missing, "web --port 80"),
        ],
    );
    new.values = vec![
        ("port".to_owned(), Some(80.into())),
        ("password".to_owned(), Some("<<REDACTED>>".into())),
        ("text".to_owned(), Some("line\n".repeat(30).into())),
        ("address".to_owned(), None),
    ];
    new
}

#[test]
fn a_new_instance_shows_what_runs_and_its_values() {
    let plan = plan(vec![new_instance()]);
    insta::assert_snapshot!(shown(&plan, 100, false), @r#"
    Plan for deploy of shop/production:

    + create web (App)   ensemble.yaml:12:9
        create: does not exist yet
          $ make -C web PREFIX=/srv/web install
        start
          $ web --port 80
        port = 80, password = "<<REDACTED>>", text = text, 30 lines, sha256 1275bad4a9f5…,
            address = (known after the job)

    Plan: create 1 (3 unchanged).
    "#);
}

#[test]
fn a_narrow_terminal_wraps_lines() {
    let plan = plan(vec![new_instance()]);
    let text = shown(&plan, 40, false);
    assert!(
        text.lines().all(|line| line.chars().count() <= 52),
        "{text}"
    );
    insta::assert_snapshot!(text, @r#"
    Plan for deploy of shop/production:

    + create web (App)   ensemble.yaml:12:9
        create: does not exist yet
          $ make -C web PREFIX=/srv/web
              install
        start
          $ web --port 80
        port = 80,
            password = "<<REDACTED>>",
            text = text, 30 lines, sha256 1275bad4a9f5…,
            address = (known after the job)

    Plan: create 1 (3 unchanged).
    "#);
}

fn changed_instance() -> PlanInstance {
    let mut operation = operation("configure", "reconfigure", None, "app <<REDACTED>> 81");
    operation.task.changes = vec![
        change("port", 80, 81),
        change("body", r#"{"a": {"b": [1, 2]}}"#, r#"{"a": {"b": [1, 3]}}"#),
        change("config", "a: 1\nb:\n  c: x\n", "a: 1\nb:\n  c: y\n"),
        change("motd", "Hello\nworld\n", "Hello\nAda\n"),
        change("secret", "<<REDACTED>>", "<<REDACTED>>"),
    ];
    operation.task.changes[4].difference.secret = true;
    let mut command = change("command", "app 80", "app 81");
    command.difference.kind = DifferenceKind::Input;
    command.follows = vec!["port".to_owned()];
    operation.task.changes.push(command);
    instance("web", InstanceAction::Change, vec![operation])
}

#[test]
fn changes_are_shown_inside_json_yaml_and_texts() {
    let plan = plan(vec![changed_instance()]);
    insta::assert_snapshot!(shown(&plan, 100, false), @r#"
    Plan for deploy of shop/production:

    ~ change web (App)   ensemble.yaml:12:9
        configure: values have changed
          $ app <<REDACTED>> 81
          property port: 80 -> 81   ensemble.yaml:20:9
          property body inside JSON .a.b[1]: 2 -> 3   ensemble.yaml:20:9
          property config inside YAML .b.c: "x" -> "y"   ensemble.yaml:20:9
          property motd: text, 2 lines, 2 changed: +1 -1, sha256 96d3e784546e…   ensemble.yaml:20:9
               Hello
              -world
              +Ada
          property secret: changed (secret)   ensemble.yaml:20:9

    Plan: change 1 (3 unchanged).
    "#);
    let full = shown(&plan, 100, true);
    assert!(
        full.contains(r#"input command: "app 80" -> "app 81" (follows from port)"#),
        "{full}"
    );
}

#[test]
fn what_is_deleted_or_replaced_comes_first_and_again_at_the_end() {
    use InstanceAction::{Create, Delete, InDoubt, Replace};
    let doubt = Some("a job crashed during `configure`, so the effect is unknown");
    let prune = Some("the model no longer needs it");
    let plan = plan(vec![
        instance(
            "new",
            Create,
            vec![operation("create", "add", None, "make")],
        ),
        instance(
            "odd",
            InDoubt,
            vec![operation("configure", "in-doubt", doubt, "app")],
        ),
        instance(
            "db",
            Replace,
            vec![
                operation("delete", "prune", prune, "drop"),
                operation("create", "add", None, "make db"),
            ],
        ),
        instance(
            "old",
            Delete,
            vec![operation("delete", "prune", prune, "rm -r old")],
        ),
    ]);
    insta::assert_snapshot!(shown(&plan, 100, false), @r"
    Plan for deploy of shop/production:

    -/+ replace db (App)   ensemble.yaml:12:9
        delete: the model no longer needs it
          $ drop
        create: does not exist yet
          $ make db

    - delete old (App)   ensemble.yaml:12:9
        delete: the model no longer needs it
          $ rm -r old

    + create new (App)   ensemble.yaml:12:9
        create: does not exist yet
          $ make

    ? in doubt odd (App)   ensemble.yaml:12:9
        configure: a job crashed during `configure`, so the effect is unknown
          $ app

    Deletes `old`.
    Replaces `db`.
    In doubt: `odd`. `--redo-in-doubt` runs the operation again.
    Plan: create 1, replace 1, delete 1, 1 in doubt (3 unchanged).
    ");
}

#[test]
fn inputs_and_outputs_that_change_are_listed() {
    let value = |name: &str, old: DifferenceSide, new: DifferenceSide| PlanValue {
        name: name.to_owned(),
        old,
        new,
        is_secret: false,
        source: String::new(),
    };
    let known = |value: &str| DifferenceSide::Value(value.into());
    let mut plan = plan(vec![instance("web", InstanceAction::Run, Vec::new())]);
    let mut given = value("size", known("small"), known("large"));
    given.source = "--var input_size".to_owned();
    let mut token = value("token", DifferenceSide::Unknown, known("<<REDACTED>>"));
    token.is_secret = true;
    plan.inputs = vec![given, token];
    plan.outputs = vec![
        value("url", known("http://a"), DifferenceSide::Unknown),
        value("new", DifferenceSide::Missing, known("x")),
        value("old", known("x"), DifferenceSide::Missing),
    ];
    insta::assert_snapshot!(shown(&plan, 100, false), @r#"
    Plan for deploy of shop/production:

    > run web (App)   ensemble.yaml:12:9

    Changes to inputs:
      ~ size: "small" -> "large"   --var input_size
      ~ token: changed (secret)

    Changes to outputs:
      ~ url: "http://a" -> (known after the job)
      + new = "x"
      - old: "x" -> removed

    Plan: run 1 (3 unchanged).
    "#);
}

#[test]
fn other_work_errors_and_conditions_are_named() {
    let work = |name: &str, work: TaskWork| PlanOperation {
        work: Some(work),
        ..operation(name, "run", None, "")
    };
    let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let mut failed = operation("start", "run", None, "app {{ 1 / 0 }}");
    failed.errors = vec!["unable to calculate 1 / 0".to_owned()];
    let mut undo = operation("undo", "run", None, "rm x");
    undo.condition = Some("step `a`".to_owned());
    undo.requirement = Some("host".to_owned());
    let delegate = TaskWork::Operation {
        operation: "Standard.start".to_owned(),
        target: Some("db".to_owned()),
    };
    let operations = vec![
        work("a", TaskWork::Attributes(list(&["url", "port"]))),
        work("b", TaskWork::Attributes(Vec::new())),
        work("c", delegate),
        work("d", TaskWork::Task("backup".into())),
        work("e", TaskWork::States(Value::list(["nginx".into()]))),
        work(
            "f",
            TaskWork::Command(Value::list(["echo".into(), "a b".into()])),
        ),
        work("g", TaskWork::Command("x\n".repeat(20).into())),
        failed,
        undo,
    ];
    let plan = plan(vec![instance("web", InstanceAction::Run, operations)]);
    insta::assert_snapshot!(shown(&plan, 100, false), @r#"
    Plan for deploy of shop/production:

    > run web (App)   ensemble.yaml:12:9
        a: requested
          sets `url` and `port`
        b
          runs no program
        c
          runs Standard.start of db
        d
          runs the task "backup"
        e
          applies the states ["nginx"]
        f
          $ echo 'a b'
        g
          $ text, 20 lines, sha256 2fe86ac51db8…
        start
          cannot be rendered: unable to calculate 1 / 0
          $ app {{ 1 / 0 }}
        undo (requirement `host`) if step `a` fails
          $ rm x

    1 operation cannot be rendered; `--exclude NAME` leaves an instance out.
    Plan: run 1 (3 unchanged).
    "#);
}

#[test]
fn many_instances_are_folded_and_deletions_are_not() {
    let many = |count: usize, action: InstanceAction| {
        (0..count).map(move |n| PlanInstance {
            is_detailed: n < 1,
            ..instance(&format!("{}{n}", action.verb()), action, Vec::new())
        })
    };
    let all = many(3000, InstanceAction::Create).chain(many(4, InstanceAction::Delete));
    let plan = plan(all.collect());
    insta::assert_snapshot!(shown(&plan, 80, false), @r"
    Plan for deploy of shop/production:

    - delete delete0 (App)   ensemble.yaml:12:9

    + create create0 (App)   ensemble.yaml:12:9

    + create 2,999 more: create1, create2, create3, create4, create5, create6,
        create7, create8 and 2,991 more (`--detail` shows each)
    - delete delete1
    - delete delete2
    - delete delete3

    Deletes `delete0`, `delete1`, `delete2` and `delete3`.
    Plan: create 3,000, delete 4 (3 unchanged).
    ");
}

#[test]
fn nothing_to_do_is_one_line() {
    let mut plan = plan(Vec::new());
    plan.unchanged = 3000;
    plan.inputs = vec![PlanValue {
        name: "size".to_owned(),
        old: DifferenceSide::Missing,
        new: DifferenceSide::Value(1.into()),
        is_secret: false,
        source: String::new(),
    }];
    assert_eq!(
        shown(&plan, 100, false),
        "Nothing to do: 3,000 instances are as planned.\n"
    );
    plan.unchanged = 1;
    plan.skipped = SkippedView {
        skipped: vec![("db".to_owned(), "protected instance".to_owned())],
        orphans: vec![OrphanLine {
            instance: "old".to_owned(),
            template: "page".to_owned(),
            status: crate::name::Status::Ok,
            state: None,
            created: Value::Null,
            last_change: None,
            not_removed_reason: None,
        }],
    };
    assert_eq!(
        shown(&plan, 100, false),
        "Nothing to do: 1 instance is as planned, 1 left alone, 1 without a template (`-v` says why).\n"
    );
    let full = shown(&plan, 100, true);
    assert!(full.contains("- db: protected instance\n"), "{full}");
    plan.workflow = "undeploy".to_owned();
    plan.skipped = SkippedView::default();
    assert_eq!(shown(&plan, 100, false), "Nothing to do.\n");
}

#[test]
fn text_of_others_cannot_steer_the_terminal() {
    let mut hostile = instance(
        "a\x1b[31m",
        InstanceAction::Create,
        vec![operation(
            "x\x1b[0m",
            "add",
            Some("\x1b[2J"),
            "echo \x1b[2J",
        )],
    );
    hostile.values = vec![("p\x1b".to_owned(), Some("\x1b[2J".into()))];
    let text = shown(&plan(vec![hostile]), 100, false);
    assert!(!text.contains('\x1b'), "{text:?}");
}

#[test]
fn drift_that_was_found_last_is_marked() {
    let mut plan = plan(vec![instance("web", InstanceAction::Run, Vec::new())]);
    let note = "drifted since yesterday: status: ok → error".to_owned();
    plan.drifted = vec![("web".to_owned(), note.clone()), ("db".to_owned(), note)];
    insta::assert_snapshot!(shown(&plan, 100, false), @r#"
    Plan for deploy of shop/production:

    > run web (App)   ensemble.yaml:12:9
        ! drifted since yesterday: status: ok → error

    ! db drifted since yesterday: status: ok → error
    Plan: run 1 (3 unchanged).
    "#);
    plan.instances.clear();
    insta::assert_snapshot!(shown(&plan, 100, false), @"
    Nothing to do: 3 instances are as planned.
    ! web drifted since yesterday: status: ok → error
    ! db drifted since yesterday: status: ok → error
    ");
}
