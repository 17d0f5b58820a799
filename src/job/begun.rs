//! Finds instances that earlier jobs have left undone: those whose creation began and did not come
//! to its end may exist, although no record says that somebody created them.

use super::history::History;
use crate::name::{ChangeId, OperationName, Status};
use crate::topology::{Entity, Topology};

/// The operations that bring an instance into being.
const MAKES: [&str; 3] = ["create", "configure", "start"];

/// The operations that find what is there already.
const FINDS: [&str; 2] = ["check", "discover"];

/// Marks the instances that earlier jobs began to create, and those of which nobody knows what has
/// become of the last operation.
pub fn mark_left(topology: &mut Topology, history: &dyn History) {
    for handle in topology.nodes() {
        let entity = topology.entity(handle);
        if !may_be_half_made(entity) {
            continue;
        }
        let (first, unknown) = (
            entity.last_config_change,
            entity.local == Some(Status::Unknown),
        );
        let is_new = entity.created.is_none();
        let key = topology.whole_key(handle);
        let doubt = history.cut_off(&key).and_then(|it| it.in_doubt.as_ref());
        let doubt = doubt.filter(|_| unknown).map(|(name, _)| name.as_str());
        let begun = is_new && was_begun(first, &key, history);
        if begun || doubt.is_some() {
            let begun = begun || is_new && doubt.is_some_and(|name| MAKES.contains(&name));
            let doubt = doubt.map(OperationName::from);
            topology.record(handle, |entity| {
                entity.begun = begun;
                entity.in_doubt = doubt;
            });
        }
    }
}

fn may_be_half_made(entity: &Entity) -> bool {
    let unsure = [
        Status::Unknown,
        Status::Error,
        Status::Degraded,
        Status::Pending,
    ];
    entity.local.is_some_and(|status| unsure.contains(&status))
}

/// Whether an operation that makes things ran after the last one that removed them. What was found
/// before anything was done to it is not ours.
fn was_begun(first_change: Option<ChangeId>, key: &str, history: &dyn History) -> bool {
    let last = |operation: &str| history.last(key, operation)?.id;
    let found = first_change.is_some() && FINDS.iter().any(|it| last(it) == first_change);
    let made = MAKES.iter().filter_map(|it| last(it)).max();
    !found && made.is_some() && made > last("delete")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{CutOff, LastOperation, PortError, Recorded};

    struct Told(&'static [(&'static str, &'static str)]);

    impl History for Told {
        fn last(&self, _: &str, operation: &str) -> Option<LastOperation> {
            let (_, id) = self.0.iter().find(|(name, _)| *name == operation)?;
            Some(LastOperation {
                id: ChangeId::parse(id).ok(),
                ..LastOperation::default()
            })
        }

        fn has_cut_off(&self) -> bool {
            false
        }

        fn cut_off(&self, _: &str) -> Option<&CutOff> {
            None
        }

        fn recorded(&self, _: ChangeId) -> Result<Option<Recorded>, PortError> {
            Ok(None)
        }
    }

    fn begun(first_change: Option<&str>, history: &'static [(&str, &str)]) -> bool {
        let first_change = first_change.and_then(|id| ChangeId::parse(id).ok());
        was_begun(first_change, "::a", &Told(history))
    }

    const FIRST: &str = "A01110000001";
    const SECOND: &str = "A01120000001";

    #[test]
    fn what_a_failed_create_left_may_exist() {
        assert!(begun(Some(FIRST), &[("create", FIRST)]));
        assert!(begun(None, &[("configure", FIRST)]));
        assert!(begun(None, &[("create", FIRST)]));
    }

    #[test]
    fn what_no_operation_came_to_does_not_exist() {
        assert!(!begun(None, &[]));
        assert!(!begun(Some(FIRST), &[("check", FIRST)]));
    }

    #[test]
    fn what_a_check_found_first_is_not_ours() {
        let history = &[("check", FIRST), ("configure", SECOND)];
        assert!(!begun(Some(FIRST), history));
    }

    #[test]
    fn what_was_deleted_after_it_was_made_is_gone() {
        let history = &[("create", FIRST), ("delete", SECOND)];
        assert!(!begun(Some(FIRST), history));
    }
}
