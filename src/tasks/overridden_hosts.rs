//! Notes that the hosts of the command line are not used, because a file names others.

use super::TaskEngine;
use super::run_state::PlannedTask;

impl TaskEngine {
    /// Adds a note if `-H` or `-R` name hosts, and a task runs on those that `tasks.yaml` names (F13).
    pub(super) fn note_overridden_hosts(&mut self, planned: &PlannedTask, env: usize) {
        let typed = &self.options.scope;
        let is_called_alone = planned.parent.is_none() && planned.scope.is_unspecified();
        if typed.is_unspecified() || !is_called_alone {
            return;
        }
        let name = &planned.task.name;
        let used = &self.envs[env].scope;
        let has_all = |used: &[String], typed: &[String]| typed.iter().all(|it| used.contains(it));
        if !planned.task.scope.is_unspecified() {
            self.warn(format!(
                "task `{name}` runs on the hosts that its definition names, not on those of `-H` or `-R`; to choose \
                 them, write `{name}:hosts=\"…\"`"
            ));
        } else if !(has_all(&used.hosts, &typed.hosts) && has_all(&used.roles, &typed.roles)) {
            self.warn(format!(
                "task `{name}` runs on the hosts that `env` of `tasks.yaml` or an earlier `set` names, not on those of \
                 `-H` or `-R`; `extend` in the file would join them"
            ));
        }
    }
}
