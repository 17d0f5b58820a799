//! The environment of a run of tasks. A task may change it for later tasks (rules F20 and F33).

use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexMap;

use super::template::TaskRenderer;
use super::{
    ConnectionSettings, EnvSettings, HostScope, RoleDef, ScopeText, Switches, TaskOptions,
    TemplateText,
};
use crate::expr::{Context, Error};
use crate::host::{Secret, StatedPasswords};
use crate::value::{Map, Value};

/// The environment of a task: hosts, variables, roles, connection settings and switches.
#[derive(Debug, Clone)]
pub(super) struct TaskEnv {
    pub(super) scope: HostScope,
    pub(super) vars: Map,
    pub(super) roledefs: Arc<IndexMap<String, RoleDef>>,
    pub(super) user: Option<String>,
    pub(super) shell: Option<String>,
    pub(super) command_timeout: Option<Duration>,
    pub(super) connection: ConnectionSettings,
    /// The answers to prompts of commands.
    pub(super) prompts: Map,
    pub(super) pool_size: Option<usize>,
    pub(super) switches: Switches<bool>,
    pub(super) passwords: Arc<StatedPasswords>,
}

impl TaskEnv {
    /// Creates the environment from the options of the run.
    pub(super) fn from_options(options: &TaskOptions) -> Self {
        Self {
            scope: options.scope.clone(),
            vars: options.vars.clone(),
            roledefs: Arc::default(),
            user: options.user.clone(),
            shell: None,
            command_timeout: options.command_timeout,
            connection: ConnectionSettings::default(),
            prompts: Map::new(),
            pool_size: options.pool_size,
            switches: options.switches,
            passwords: Arc::default(),
        }
    }

    /// Applies the options of the command line over the settings of files.
    ///
    /// Hosts and roles are not overridden here (F13).
    pub(super) fn override_with(&mut self, options: &TaskOptions) {
        self.vars.extend(options.vars.clone());
        if options.user.is_some() {
            self.user.clone_from(&options.user);
        }
        let typed = &options.connection;
        // The command line decides about those of its options that were typed; hosts have them already.
        let connection = &mut self.connection;
        connection.port = connection.port.filter(|_| typed.port.is_none());
        connection.timeout = connection.timeout.filter(|_| typed.timeout.is_none());
        connection.attempts = connection.attempts.filter(|_| typed.attempts.is_none());
        connection.keepalive = connection.keepalive.filter(|_| typed.keepalive.is_none());
        self.pool_size = options.pool_size.or(self.pool_size);
        self.command_timeout = options.command_timeout.or(self.command_timeout);
        let typed = &options.switches;
        let switches = &mut self.switches;
        switches.parallel |= typed.parallel;
        switches.warn_only |= typed.warn_only;
        switches.skip_bad_hosts |= typed.skip_bad_hosts;
        switches.skip_unknown_tasks |= typed.skip_unknown_tasks;
        switches.abort_on_prompts |= typed.abort_on_prompts;
        switches.keep_duplicate_hosts |= typed.keep_duplicate_hosts;
    }

    /// Applies the settings of an `env` section or a `set` step.
    pub(super) fn apply(
        &mut self,
        settings: &EnvSettings,
        renderer: &TaskRenderer,
        context: &Context,
    ) -> Result<(), Error> {
        let list = |texts: &[TemplateText]| render_names(texts, renderer, context);
        if let Some(hosts) = &settings.hosts {
            self.scope.hosts = list(hosts)?;
        }
        if let Some(roles) = &settings.roles {
            self.scope.roles = list(roles)?;
        }
        if let Some(hosts) = &settings.exclude_hosts {
            self.scope.exclude_hosts = list(hosts)?;
        }
        let more = render_scope(&settings.extend, renderer, context)?;
        self.scope.hosts.extend(more.hosts);
        self.scope.roles.extend(more.roles);
        self.scope.exclude_hosts.extend(more.exclude_hosts);
        for file in &settings.vars_files {
            let path = settings.folder.join(renderer.text(file, context)?.text);
            self.vars.extend(renderer.vars_file(&path)?);
        }
        for (name, raw) in &settings.vars {
            let value = renderer.value(raw, context)?;
            self.vars.insert(Arc::clone(name), value);
        }
        if !settings.roledefs.is_empty() {
            let roledefs = Arc::make_mut(&mut self.roledefs);
            roledefs.extend(settings.roledefs.clone());
        }
        if let Some(user) = &settings.user {
            self.user = Some(renderer.text(user, context)?.text);
        }
        if let Some(shell) = &settings.shell {
            self.shell = Some(renderer.text(shell, context)?.text);
        }
        for (prompt, raw) in &settings.prompts {
            let answer = renderer.value(raw, context)?;
            self.prompts.insert(Arc::clone(prompt), answer);
        }
        self.connection.apply(&settings.connection);
        self.command_timeout = settings.command_timeout.or(self.command_timeout);
        self.pool_size = settings.pool_size.or(self.pool_size);
        self.apply_switches(settings.switches);
        self.apply_passwords(settings, renderer, context)
    }

    fn apply_passwords(
        &mut self,
        settings: &EnvSettings,
        renderer: &TaskRenderer,
        context: &Context,
    ) -> Result<(), Error> {
        let secret = |text: &TemplateText| -> Result<Secret, Error> {
            Ok(Secret::new(renderer.text(text, context)?.text))
        };
        for (stated, kind) in [
            (&settings.login_passwords, PasswordKind::Login),
            (&settings.sudo_passwords, PasswordKind::Sudo),
        ] {
            if stated.all.is_none() && stated.by_host.is_empty() {
                continue;
            }
            let known = Arc::make_mut(&mut self.passwords);
            let (all, by_host) = match kind {
                PasswordKind::Login => (&mut known.login, &mut known.login_by_host),
                PasswordKind::Sudo => (&mut known.sudo, &mut known.sudo_by_host),
            };
            if let Some(text) = &stated.all {
                *all = Some(secret(text)?);
            }
            for (host, text) in &stated.by_host {
                by_host.insert(host.clone(), secret(text)?);
            }
        }
        Ok(())
    }

    fn apply_switches(&mut self, overrides: Switches<Option<bool>>) {
        let switches = &mut self.switches;
        for (switch, overrides) in [
            (&mut switches.parallel, overrides.parallel),
            (&mut switches.warn_only, overrides.warn_only),
            (&mut switches.skip_bad_hosts, overrides.skip_bad_hosts),
            (
                &mut switches.skip_unknown_tasks,
                overrides.skip_unknown_tasks,
            ),
            (&mut switches.abort_on_prompts, overrides.abort_on_prompts),
            (
                &mut switches.keep_duplicate_hosts,
                overrides.keep_duplicate_hosts,
            ),
        ] {
            *switch = overrides.unwrap_or(*switch);
        }
    }

    /// Returns the environment as templates see it, under the name `env`.
    pub(super) fn to_value(&self) -> Value {
        let list = |names: &[String]| Value::list(names.iter().map(|name| name.as_str().into()));
        let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        let pool_size = self.pool_size.map_or(Value::Null, |it| number(it).into());
        let user = self.user.as_deref().map_or(Value::Null, Into::into);
        Value::map([
            ("hosts", list(&self.scope.hosts)),
            ("roles", list(&self.scope.roles)),
            ("exclude_hosts", list(&self.scope.exclude_hosts)),
            ("user", user),
            ("parallel", self.switches.parallel.into()),
            ("pool_size", pool_size),
            ("warn_only", self.switches.warn_only.into()),
            ("skip_bad_hosts", self.switches.skip_bad_hosts.into()),
            (
                "skip_unknown_tasks",
                self.switches.skip_unknown_tasks.into(),
            ),
        ])
    }
}

/// The purpose of a password.
#[derive(Clone, Copy)]
enum PasswordKind {
    Login,
    Sudo,
}

impl ConnectionSettings {
    /// Replaces the settings that others have.
    fn apply(&mut self, others: &Self) {
        self.port = others.port.or(self.port);
        if !others.key_files.is_empty() {
            self.key_files.clone_from(&others.key_files);
        }
        self.timeout = others.timeout.or(self.timeout);
        self.attempts = others.attempts.or(self.attempts);
        self.keepalive = others.keepalive.or(self.keepalive);
        self.forward_agent = others.forward_agent.or(self.forward_agent);
    }
}

/// Renders the templates in hosts, roles and exclusions.
pub(super) fn render_scope(
    texts: &ScopeText,
    renderer: &TaskRenderer,
    scene: &Context,
) -> Result<HostScope, Error> {
    Ok(HostScope {
        hosts: render_names(&texts.hosts, renderer, scene)?,
        roles: render_names(&texts.roles, renderer, scene)?,
        exclude_hosts: render_names(&texts.exclude_hosts, renderer, scene)?,
    })
}

/// Renders names. A template that gives a list contributes all of its items.
fn render_names(
    texts: &[TemplateText],
    renderer: &TaskRenderer,
    scene: &Context,
) -> Result<Vec<String>, Error> {
    let mut names = Vec::with_capacity(texts.len());
    for text in texts {
        if !text.is_template() {
            names.push(text.as_str().to_owned());
            continue;
        }
        match renderer.native(text, scene)?.as_list() {
            Some(items) => names.extend(items.iter().map(Value::to_string)),
            None => names.push(renderer.text(text, scene)?.text),
        }
    }
    Ok(names)
}
