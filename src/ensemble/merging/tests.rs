use std::fmt::Write as _;

use super::{MergedEnsemble, merge_ensembles, merge_job_lists};

fn ensemble(description: &str, job: &str, instances: &[(&str, &str)]) -> String {
    let mut text = format!(
        "apiVersion: unfurl/v1.0.0\nkind: Ensemble\n# Mine.\nspec:\n  service_template:\n    \
         description: {description}\nstatus:\n  inputs: {{}}\n  instances:\n"
    );
    for (name, id) in instances {
        write!(
            text,
            "    {name}:\n      template: {name}\n      readyState:\n        local: ok\n      \
             lastConfigChange: {id}\n"
        )
        .unwrap();
    }
    write!(
        text,
        "lastJob:\n  changeId: {job}\n  previousId: A0000\njobsLog: jobs.tsv\n"
    )
    .unwrap();
    text
}

fn merge(base: &str, first: &str, second: &str) -> MergedEnsemble {
    merge_ensembles(base, first, second, ["first", "second"]).unwrap()
}

#[test]
fn what_one_side_changed_is_as_that_side_has_it() {
    let base = ensemble("x", "A1", &[("a", "A1"), ("b", "A1")]);
    let first = ensemble("x", "A2", &[("a", "A2"), ("b", "A1")]);
    let second = ensemble("y", "A3", &[("a", "A1"), ("b", "A3"), ("c", "A3")]);
    let expected = ensemble("y", "A3", &[("a", "A2"), ("b", "A3"), ("c", "A3")]);
    let merged = merge(&base, &first, &second);
    assert_eq!(merged.conflicts, Vec::<String>::new());
    assert_eq!(merged.text, expected);
    assert_eq!(merge(&base, &second, &first).text, expected);
}

#[test]
fn an_instance_that_both_changed_is_a_conflict_and_both_versions_stay() {
    let base = ensemble("x", "A1", &[("a", "A1"), ("b", "A1")]);
    let first = ensemble("x", "A2", &[("a", "A2"), ("b", "A2")]);
    let second = ensemble("x", "A3", &[("a", "A1"), ("b", "A3")]);
    let merged = merge(&base, &first, &second);
    assert_eq!(merged.conflicts, ["the instance `b`"]);
    let conflict = "<<<<<<< first\n      lastConfigChange: A2\n=======\n      \
                    lastConfigChange: A3\n>>>>>>> second\n";
    assert!(merged.text.contains(conflict), "{}", merged.text);
    assert!(
        merged.text.contains("lastConfigChange: A2\n    b:"),
        "{}",
        merged.text
    );
}

#[test]
fn a_side_that_knew_the_other_wins() {
    let base = ensemble("x", "A1", &[("a", "A1")]);
    let first = ensemble("x", "A2", &[("a", "A2")]);
    let second = ensemble("x", "A3", &[("a", "A3")]).replace("previousId: A0000", "previousId: A2");
    let merged = merge(&base, &first, &second);
    assert_eq!(
        merged,
        MergedEnsemble {
            text: second,
            conflicts: Vec::new()
        }
    );
}

#[test]
fn an_instance_that_one_side_removed_and_the_other_left_alone_is_gone() {
    let base = ensemble("x", "A1", &[("a", "A1"), ("b", "A1")]);
    let first = ensemble("x", "A2", &[("a", "A1")]);
    let second = ensemble("x", "A3", &[("a", "A3"), ("b", "A1")]);
    let merged = merge(&base, &first, &second);
    assert_eq!(merged.text, ensemble("x", "A3", &[("a", "A3")]));
    let second = ensemble("x", "A3", &[("a", "A1"), ("b", "A3")]);
    assert_eq!(
        merge(&base, &first, &second).conflicts,
        ["the instance `b`"]
    );
}

#[test]
fn what_follows_from_others_or_only_waits_is_no_change() {
    let waits = "lastConfigChange: A2";
    let base = ensemble("x", "A1", &[]);
    let first = ensemble("x", "A2", &[("a", "A2"), ("b", "A2")]);
    // On each side, the instance that the other side deployed is only pending.
    let at = first.rfind("local: ok").unwrap();
    let first = format!(
        "{}local: pending{}",
        &first[..at],
        &first[at + "local: ok\n      lastConfigChange: A2".len()..]
    );
    assert_eq!(first.matches(waits).count(), 1);
    let second = ensemble("x", "A3", &[("a", "A3"), ("b", "A3")]);
    let second = second.replacen(
        "local: ok\n      lastConfigChange: A3",
        "effective: error\n        local: pending",
        1,
    );
    let merged = merge(&base, &first, &second);
    assert_eq!(merged.conflicts, Vec::<String>::new());
    assert_eq!(
        merged.text,
        ensemble("x", "A3", &[("a", "A2"), ("b", "A3")])
    );
    assert_eq!(merge(&base, &second, &first).text, merged.text);
}

#[test]
fn attributes_are_merged_one_by_one() {
    let with = |job: &str, attributes: &str| {
        ensemble("x", job, &[("a", "A1")]).replace(
            "template: a\n",
            &format!("template: a\n      attributes:\n{attributes}"),
        )
    };
    let base = with("A1", "        x: 1\n        v: 1\n");
    let first = with("A2", "        x: 2\n        v: 1\n");
    let second = with("A3", "        x: 1\n        v: 3\n        z: 3\n");
    let merged = merge(&base, &first, &second);
    assert_eq!(
        merged.text,
        with("A3", "        x: 2\n        v: 3\n        z: 3\n")
    );
    let other = with("A3", "        x: 3\n        v: 1\n");
    assert_eq!(merge(&base, &first, &other).conflicts, ["the instance `a`"]);
}

#[test]
fn people_who_changed_the_same_line_see_both() {
    let base = ensemble("x", "A1", &[]);
    let merged = merge(&base, &ensemble("y", "A1", &[]), &ensemble("z", "A1", &[]));
    assert_eq!(merged.conflicts, ["the text outside of the record"]);
    assert!(merged.text.contains("<<<<<<< first\n    description: y\n"));
}

#[test]
fn first_records_of_both_sides_come_together() {
    let spec = "apiVersion: unfurl/v1.0.0\nkind: Ensemble\nspec: {}\n";
    let first = ensemble("x", "A2", &[("a", "A2")]);
    let at = first.find("status:").unwrap();
    let first = format!("{spec}{}", &first[at..]);
    let second = ensemble("x", "A3", &[("b", "A3")]);
    let second = format!("{spec}{}", &second[at..]);
    let merged = merge(spec, &first, &second);
    assert_eq!(merged.conflicts, Vec::<String>::new());
    let both = ensemble("x", "A3", &[("a", "A2"), ("b", "A3")]);
    assert_eq!(merged.text, format!("{spec}{}", &both[at..]));
}

#[test]
fn records_within_the_ensemble_are_put_in_order() {
    let text = |ids: &[&str]| {
        let records: Vec<String> = ids.iter().map(|id| format!("- changeId: {id}\n")).collect();
        format!("kind: Ensemble\nchanges:\n{}", records.concat())
    };
    let merged = merge(
        &text(&["A1"]),
        &text(&["A1", "A3"]),
        &text(&["A1", "A2", "A4"]),
    );
    assert_eq!(merged.text, text(&["A1", "A2", "A3", "A4"]));
}

#[test]
fn lists_of_jobs_have_the_lines_of_both() {
    let (base, a, b) = (
        "# x\nA0000001\n",
        "# x\nA0000001\nA0000003\n\tx\n",
        "# x\nA0000001\nA0000002\n",
    );
    let merged = merge_job_lists(base, a, b);
    assert_eq!(merged, "# x\nA0000001\n\tx\nA0000002\nA0000003\n");
    assert_eq!(merge_job_lists(base, b, &merged), merged);
}

#[test]
fn what_is_no_ensemble_is_left_to_git() {
    for text in ["[1]", "a: [", "<<<<<<< x\n"] {
        assert!(
            merge_ensembles(text, "a: 1", "b: 1", ["", ""]).is_none(),
            "{text}"
        );
    }
}
