//! Partial creation: finds instances whose creation an earlier job began and did not finish.
//!
//! Such an instance may exist although no record states that it was created.

use super::history::OperationHistory;
use crate::name::{ChangeId, OperationName, Status};
use crate::topology::{Entity, Topology};

/// The operations that create an instance.
const CREATING_OPERATIONS: [&str; 3] = ["create", "configure", "start"];

/// The operations that find existing instances.
const FINDING_OPERATIONS: [&str; 2] = ["check", "discover"];

/// Marks instances that earlier jobs began to create, and instances with an operation in doubt.
pub fn mark_unfinished_instances(topology: &mut Topology, history: &dyn OperationHistory) {
    for handle in topology.nodes() {
        let entity = topology.entity(handle);
        if !may_be_partially_created(entity) {
            continue;
        }
        let (first, unknown) = (
            entity.last_config_change,
            entity.local == Some(Status::Unknown),
        );
        let is_new = entity.created.is_none();
        let key = topology.unique_key(handle);
        let doubt = history
            .unfinished_work(&key)
            .and_then(|it| it.in_doubt.as_ref());
        let doubt = doubt.filter(|_| unknown).map(|(name, _)| name.as_str());
        let partially_created = is_new && is_partially_created(first, &key, history);
        if partially_created || doubt.is_some() {
            let partially_created = partially_created
                || is_new && doubt.is_some_and(|name| CREATING_OPERATIONS.contains(&name));
            let doubt = doubt.map(OperationName::from);
            topology.update_record(handle, |entity| {
                entity.partially_created = partially_created;
                entity.in_doubt = doubt;
            });
        }
    }
}

fn may_be_partially_created(entity: &Entity) -> bool {
    let unsure = [
        Status::Unknown,
        Status::Error,
        Status::Degraded,
        Status::Pending,
    ];
    entity.local.is_some_and(|status| unsure.contains(&status))
}

/// Whether a creating operation ran after the last `delete`. An instance that was found before any
/// operation ran was not created here.
fn is_partially_created(
    first_change: Option<ChangeId>,
    key: &str,
    history: &dyn OperationHistory,
) -> bool {
    let last = |operation: &str| history.last_operation(key, operation)?.id;
    let found =
        first_change.is_some() && FINDING_OPERATIONS.iter().any(|it| last(it) == first_change);
    let created_at = CREATING_OPERATIONS.iter().filter_map(|it| last(it)).max();
    !found && created_at.is_some() && created_at > last("delete")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{LastOperation, PortError, RecordedReads, UnfinishedWork};

    /// A history that knows only the id of each operation's last record.
    struct FakeHistory(&'static [(&'static str, &'static str)]);

    impl OperationHistory for FakeHistory {
        fn last_operation(&self, _: &str, operation: &str) -> Option<LastOperation> {
            let (_, id) = self.0.iter().find(|(name, _)| *name == operation)?;
            Some(LastOperation {
                id: ChangeId::parse(id).ok(),
                ..LastOperation::default()
            })
        }

        fn has_unfinished_work(&self) -> bool {
            false
        }

        fn unfinished_work(&self, _: &str) -> Option<&UnfinishedWork> {
            None
        }

        fn recorded_reads(&self, _: ChangeId) -> Result<Option<RecordedReads>, PortError> {
            Ok(None)
        }
    }

    fn partially_created(first_change: Option<&str>, history: &'static [(&str, &str)]) -> bool {
        let first_change = first_change.and_then(|id| ChangeId::parse(id).ok());
        is_partially_created(first_change, "::a", &FakeHistory(history))
    }

    const FIRST: &str = "A01110000001";
    const SECOND: &str = "A01120000001";

    #[test]
    fn what_a_failed_create_left_may_exist() {
        assert!(partially_created(Some(FIRST), &[("create", FIRST)]));
        assert!(partially_created(None, &[("configure", FIRST)]));
        assert!(partially_created(None, &[("create", FIRST)]));
    }

    #[test]
    fn what_no_operation_came_to_does_not_exist() {
        assert!(!partially_created(None, &[]));
        assert!(!partially_created(Some(FIRST), &[("check", FIRST)]));
    }

    #[test]
    fn what_a_check_found_first_is_not_ours() {
        let history = &[("check", FIRST), ("configure", SECOND)];
        assert!(!partially_created(Some(FIRST), history));
    }

    #[test]
    fn what_was_deleted_after_it_was_made_is_gone() {
        let history = &[("create", FIRST), ("delete", SECOND)];
        assert!(!partially_created(Some(FIRST), history));
    }
}
