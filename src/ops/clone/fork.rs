//! Makes a new ensemble of another one: the same manifest, without its identity and its record.

use std::path::Path;

use crate::ops::failure::{Failure, FailureKind};
use crate::system::fs;
use crate::yaml::{self, Patch, Route, Schema};

/// The parts of a manifest that belong to one ensemble alone.
const OWN_PARTS: [&[&str]; 9] = [
    &["status"],
    &["changes"],
    &["lastJob"],
    &["lock"],
    &["metadata", "uri"],
    &["metadata", "aliases"],
    &["environment", "repositories", "self"],
    &["spec", "service_template", "repositories", "self"],
    &["spec", "tosca", "repositories", "self"],
];

/// Returns the text of the manifest without what belongs to the old ensemble alone. Everything else stays.
pub(super) fn forked(manifest: &Path) -> Result<String, Failure> {
    let refused = |reason: String| {
        let message = format!(
            "`{}` cannot be the source of a new ensemble: {reason}",
            manifest.display()
        );
        let help = "correct it; `unfurl validate` lists its problems".to_owned();
        Failure::new(FailureKind::Refused, message, Some(help))
    };
    let text = fs::read_to_string(manifest)?;
    let root = yaml::parse_text(Schema::Core, &text).map_err(refused)?;
    let routes = OWN_PARTS
        .iter()
        .map(|keys| Route::keys(keys.iter().copied()));
    let present = routes.filter(|route| route.find(&root).is_some());
    let patches: Vec<Patch> = present.map(Patch::remove).collect();
    yaml::apply(&text, &root, &patches).map_err(|error| refused(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_ensemble_has_neither_the_identity_nor_the_record_of_the_old_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ensemble.yaml");
        let text = "# mine\napiVersion: unfurl/v1.0.0\nkind: Ensemble\nmetadata: # m\n  uri: u\n  title: t\nspec:\n  \
                    service_template: # s\n    repositories: {self: {url: x}, lib: {url: y}}\nstatus: {a: 1}\nlastJob:\n  \
                    changeId: A\nlock: {}\n";
        fs::write_plain(&path, text.as_bytes(), None).unwrap();
        insta::assert_snapshot!(forked(&path).unwrap(), @"
        # mine
        apiVersion: unfurl/v1.0.0
        kind: Ensemble
        metadata: # m
          title: t
        spec:
          service_template: # s
            repositories: {lib: {url: y}}
        ");
    }
}
