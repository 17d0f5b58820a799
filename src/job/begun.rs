//! Finds instances whose creation began and did not come to its end: they may exist, although no
//! record says that somebody created them.

use super::engine::History;
use crate::name::{ChangeId, Status};
use crate::topology::{Entity, Topology};

/// The operations that bring an instance into being.
const MAKES: [&str; 3] = ["create", "configure", "start"];

/// The operations that find what is there already.
const FINDS: [&str; 2] = ["check", "discover"];

/// Marks the instances that earlier jobs began to create.
pub fn mark_begun(topology: &mut Topology, history: &dyn History) {
    for handle in topology.nodes() {
        let entity = topology.entity(handle);
        let first = entity.last_config_change;
        if may_be_half_made(entity) && was_begun(first, &topology.whole_key(handle), history) {
            topology.record(handle, |entity| entity.begun = true);
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
    entity.created.is_none() && entity.local.is_some_and(|status| unsure.contains(&status))
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
    use crate::job::LastOperation;

    struct Told(&'static [(&'static str, &'static str)]);

    impl History for Told {
        fn last(&self, _: &str, operation: &str) -> Option<LastOperation> {
            let (_, id) = self.0.iter().find(|(name, _)| *name == operation)?;
            Some(LastOperation {
                id: ChangeId::parse(id).ok(),
                ..LastOperation::default()
            })
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
