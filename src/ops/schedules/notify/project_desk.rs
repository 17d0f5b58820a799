//! The desk of a loaded project.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::project_schedules::ProjectSchedules;
use super::desk::{NoticeDesk, ScheduleNotices};
use super::secret_access::SecretAccess;
use crate::schedule::{NoticeTarget, NotifyRule, ScheduleSpec, SecretSource};
use crate::session::{self, SessionOptions};
use crate::system::env::Env;

/// Returns the desk for the schedules of a project.
pub(in crate::ops::schedules) fn desk_of(loaded: &ProjectSchedules) -> NoticeDesk {
    let env = Env::of_this_process();
    let notices: BTreeMap<Arc<str>, ScheduleNotices> = loaded
        .schedules
        .specs
        .iter()
        .map(|spec| {
            let notices = ScheduleNotices {
                rules: spec.notify.clone(),
                secrets: secrets_of(spec, loaded, &env),
            };
            (Arc::clone(&spec.name), notices)
        })
        .collect();
    NoticeDesk::new(&loaded.project.root, loaded.state.path(), notices)
}

/// Returns the access to the keys of a schedule's webhooks. Secret backends are looked up only if a webhook names one.
fn secrets_of(spec: &ScheduleSpec, loaded: &ProjectSchedules, env: &Env) -> SecretAccess {
    let project = &loaded.project;
    let access = SecretAccess::new(&project.root, env);
    if !spec.notify.iter().any(uses_backend) {
        return access;
    }
    let environment = spec.environment.as_deref();
    let environment = environment.or(project.default_environment.as_deref());
    let options = SessionOptions {
        ensemble: project.root.display().to_string(),
        environment: environment.map(str::to_owned),
        home: loaded.home.clone(),
        allowed: loaded.allowed.clone(),
        ..SessionOptions::default()
    };
    match session::find(&options) {
        Ok(found) => {
            let located = &found.located;
            let environment = located.environments.resolve(environment, None);
            access.with_backends(&environment, &located.trust)
        }
        // The attempt to read the key then says that there is no such backend.
        Err(_) => access,
    }
}

fn uses_backend(rule: &NotifyRule) -> bool {
    match &rule.target {
        NoticeTarget::Webhook(webhook) => {
            matches!(webhook.secret, Some(SecretSource::Backend { .. }))
        }
        NoticeTarget::Command(_) | NoticeTarget::Mail(_) => false,
    }
}
