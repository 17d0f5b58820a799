//! Findings as annotations in a workflow of GitHub, and for code hosts.

use crate::support::TestEnv;

const MISTAKE: &str = "
apiVersion: unfurl/v1alpha1
kind: Ensemble
spec:
  service_template:
    topology_template:
      outputs:
        place: {value: {get_input: region}}
";

#[test]
fn a_finding_is_an_annotation_with_its_check_as_title() {
    let env = TestEnv::with_ensemble(MISTAKE).variable("GITHUB_ACTIONS", "true");
    let run = env.unfurl(["validate"]).exits(1);
    let annotation = "::error file=ensemble.yaml,line=8,col=36,title=undeclared-input::";
    assert!(run.stderr.contains(annotation), "{run}");
}

#[test]
fn sarif_names_the_rule_of_each_result() {
    let env = TestEnv::with_ensemble(MISTAKE);
    let run = env.unfurl(["validate", "--output", "sarif"]).exits(1);
    let log = &run.json()["runs"][0];
    assert_eq!(log["results"][0]["ruleId"], "undeclared-input", "{run}");
    assert_eq!(log["tool"]["driver"]["rules"][0]["id"], "undeclared-input");
}
