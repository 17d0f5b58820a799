//! Services on a machine: which service manager runs them, their status, and the commands that change
//! them.
//!
//! Supports systemd, init scripts, and plain processes with a pid file for machines without an init
//! system (containers). The states are in `states`.

use crate::host::change::{Change, CommandRun};
use crate::host::fact::Domain;
use crate::states::modules::decision::{line_value, run_probe, stdout_text};
use crate::states::{FactCache, Halt, StateCall, StateOutcome, refuse};
use crate::text::quote_word;

/// The program that manages a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServiceManager {
    Systemd,
    /// A System V init script in `/etc/init.d`.
    InitScript,
    /// None: the service is a process that Unfurl starts itself and tracks with a pid file.
    PlainProcess,
}

impl ServiceManager {
    /// Returns the name of the manager in results.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Systemd => "systemd",
            Self::InitScript => "init script",
            Self::PlainProcess => "plain process",
        }
    }
}

/// An action on a service, mapped to a command per service manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServiceAction {
    Start,
    Stop,
    Restart,
    Reload,
    ForceReload,
    Enable,
    Disable,
}

/// The status of a service, as one probe reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each flag is an independent fact about the machine"
)]
pub(super) struct ServiceStatus {
    /// The manager of the service; None if the service is unknown.
    pub(super) manager: Option<ServiceManager>,
    pub(super) is_running: bool,
    pub(super) is_enabled: bool,
    /// Whether the unit is masked permanently.
    pub(super) is_masked: bool,
    /// Whether the unit is masked until the next boot.
    pub(super) is_runtime_masked: bool,
    /// Whether the unit file changed after systemd loaded it, so that `daemon-reload` is needed.
    needs_reload: bool,
}

/// A service as described by a state's arguments.
#[derive(Debug, Clone)]
pub(super) struct Service {
    pub(super) name: String,
    /// A regular expression that matches the command line of the service's processes.
    sig: Option<String>,
    /// The command that starts the service as a plain process, if no init system knows it.
    cmd: Option<String>,
}

impl Service {
    pub(super) fn from_call(call: &StateCall<'_>) -> Result<Self, Halt> {
        let name = call.name.trim().to_owned();
        let is_invalid = |sign: char| sign == '/' || sign.is_control() || sign.is_whitespace();
        if name.is_empty() || name.starts_with('-') || name.contains(is_invalid) {
            return refuse(format!("`{name}` is not a valid service name"));
        }
        Ok(Self {
            name,
            sig: call.text("sig")?,
            cmd: call.text("cmd")?,
        })
    }

    /// Reads the status of the service.
    pub(super) fn status(&self, facts: &FactCache) -> Result<ServiceStatus, Halt> {
        let probed = run_probe(facts, self.status_script(), Domain::Services)?;
        let text = stdout_text(probed);
        let manager = match line_value(&text, "way") {
            Some("systemd") => Some(ServiceManager::Systemd),
            Some("script") => Some(ServiceManager::InitScript),
            Some("process") => Some(ServiceManager::PlainProcess),
            _ => None,
        };
        let unit_file = line_value(&text, "UnitFileState").unwrap_or_default();
        let has = |key| line_value(&text, key).is_some();
        Ok(ServiceStatus {
            manager,
            is_running: has("running"),
            is_enabled: has("enabled"),
            is_masked: unit_file == "masked",
            is_runtime_masked: unit_file == "masked-runtime",
            needs_reload: line_value(&text, "NeedDaemonReload") == Some("yes"),
        })
    }

    fn unit(&self) -> String {
        const SUFFIXES: [&str; 8] = [
            ".service", ".socket", ".timer", ".mount", ".target", ".path", ".slice", ".device",
        ];
        let has_suffix = SUFFIXES.iter().any(|suffix| self.name.ends_with(suffix));
        let suffix = if has_suffix { "" } else { ".service" };
        quote_word(&format!("{}{suffix}", self.name))
    }

    fn script_name(&self) -> String {
        quote_word(self.name.strip_suffix(".service").unwrap_or(&self.name))
    }

    fn pid_file(&self) -> String {
        quote_word(&format!("/run/unfurl/{}.pid", self.name))
    }

    /// Returns the script that prints the lines `way`, `running` and `enabled`.
    fn status_script(&self) -> String {
        let Self { sig, cmd, .. } = self;
        let (unit, name) = (self.unit(), self.script_name());
        let has_sig = sig.as_deref().map(process_test);
        let is_active = "case $a in active|reloading) echo running;; esac";
        let systemd_runs = has_sig.as_deref().unwrap_or(is_active);
        let script_status =
            format!("service {name} status </dev/null >/dev/null 2>&1 && echo running");
        let script_runs = has_sig.as_deref().unwrap_or(&script_status);
        let process = if cmd.is_some() {
            let is_alive = format!("{}; alive && echo running", self.alive_function());
            let runs = has_sig.as_deref().unwrap_or(&is_alive);
            format!("else echo 'way process'; {runs};")
        } else {
            String::new()
        };
        format!(
            "l=; if [ -d /run/systemd/system ]; then \
             s=$(systemctl show -p LoadState -p ActiveState -p UnitFileState -p NeedDaemonReload {unit}) || exit 1; \
             l=$(echo \"$s\" | sed -n 's/^LoadState=//p'); a=$(echo \"$s\" | sed -n 's/^ActiveState=//p'); fi; \
             if [ -n \"$l\" ] && [ \"$l\" != not-found ]; then echo 'way systemd'; \
             echo \"$s\" | sed 's/=/ /'; {systemd_runs}; \
             systemctl is-enabled {unit} >/dev/null 2>&1 && echo enabled; \
             elif [ -x /etc/init.d/{name} ]; then echo 'way script'; {script_runs}; \
             ls /etc/rc[S2345].d/S[0-9][0-9]{name} >/dev/null 2>&1 && echo enabled; {process} \
             fi; exit 0"
        )
    }

    /// Returns the shell functions that tell whether the process of the pid file is alive.
    ///
    /// They also compare the start time, because the pid may be reused, and treat a zombie as dead.
    fn alive_function(&self) -> String {
        let file = self.pid_file();
        format!(
            "born() {{ sed -n 's/.*) //p' /proc/$1/stat 2>/dev/null | (read -r a b c d e f g h i j k l m n o p q r s t u; [ \"$a\" != Z ] && echo \"$t\"); }}; \
             alive() {{ [ -s {file} ] && read -r p b <{file} && [ -n \"$p\" ] && n=$(born \"$p\") && [ -n \"$n\" ] && [ \"${{b:-$n}}\" = \"$n\" ]; }}"
        )
    }

    /// Returns the command that performs an action on the service.
    pub(super) fn command(
        &self,
        verb: ServiceAction,
        status: &ServiceStatus,
        no_block: bool,
    ) -> String {
        match status.manager.unwrap_or(ServiceManager::InitScript) {
            ServiceManager::Systemd => {
                let reload = if status.needs_reload {
                    "systemctl daemon-reload && "
                } else {
                    ""
                };
                let word = match verb {
                    ServiceAction::Start => "start",
                    ServiceAction::Stop => "stop",
                    ServiceAction::Restart => "restart",
                    ServiceAction::Reload => "reload",
                    ServiceAction::ForceReload => "force-reload",
                    ServiceAction::Enable => "enable",
                    ServiceAction::Disable => "disable",
                };
                let no_block = if no_block { "--no-block " } else { "" };
                format!("{reload}systemctl {no_block}{word} {}", self.unit())
            }
            ServiceManager::InitScript => {
                let name = self.script_name();
                match verb {
                    ServiceAction::Start => format!("service {name} start"),
                    ServiceAction::Stop => format!("service {name} stop"),
                    ServiceAction::Restart => format!("service {name} restart"),
                    ServiceAction::Reload => format!("service {name} reload"),
                    ServiceAction::ForceReload => format!("service {name} force-reload"),
                    ServiceAction::Enable => {
                        format!("update-rc.d {name} defaults && update-rc.d {name} enable")
                    }
                    ServiceAction::Disable => format!("update-rc.d {name} disable"),
                }
            }
            ServiceManager::PlainProcess => self.process_command(verb),
        }
    }

    fn process_command(&self, verb: ServiceAction) -> String {
        let file = self.pid_file();
        let command = quote_word(self.cmd.as_deref().unwrap_or("true"));
        // Waiting a second detects a process that exits at once: it does not count as a running service.
        let start = format!(
            "alive || {{ mkdir -p /run/unfurl && setsid sh -c 'echo $$ >\"$0\" && exec sh -c \"exec $1\"' {file} {command} </dev/null >/dev/null 2>&1 & \
             sleep 1; read -r p b <{file} && n=$(born \"$p\") && [ -n \"$n\" ] && echo \"$p $n\" >{file}; }}"
        );
        let stop = format!(
            "if alive; then kill \"$p\"; i=0; while alive && [ $i -lt 100 ]; do sleep 0.1; i=$((i+1)); done; \
             alive && kill -9 \"$p\"; fi; rm -f {file}"
        );
        let functions = self.alive_function();
        match verb {
            ServiceAction::Start => format!("{functions}; {start}"),
            ServiceAction::Stop => format!("{functions}; {stop}"),
            ServiceAction::Restart => format!("{functions}; {stop}; {start}"),
            ServiceAction::Reload | ServiceAction::ForceReload => {
                format!("{functions}; alive && kill -HUP \"$p\"")
            }
            // Without an init system, no service starts at boot.
            ServiceAction::Enable | ServiceAction::Disable => "true".to_owned(),
        }
    }

    /// Returns the change that runs `systemctl mask` or `systemctl unmask`.
    pub(super) fn mask_change(&self, word: &str, is_runtime: bool) -> Change {
        let runtime = if is_runtime { "--runtime " } else { "" };
        service_change(format!("systemctl {word} {runtime}{}", self.unit()))
    }
}

/// Returns the change that runs a command for services. Background processes survive it.
pub(super) fn service_change(text: String) -> Change {
    let mut run = CommandRun::new(text).touching([Domain::Services]);
    run.keeps_background = true;
    Change::Run(run)
}

/// Returns a note for comments if the service is a plain process, which no init system supervises.
pub(super) fn process_note(status: &ServiceStatus) -> &'static str {
    match status.manager {
        Some(ServiceManager::PlainProcess) => {
            " (as a plain process, because no init system runs here)"
        }
        _ => "",
    }
}

/// Adds the service manager to an outcome if it is not systemd.
pub(super) fn with_manager(mut outcome: StateOutcome, status: &ServiceStatus) -> StateOutcome {
    if let Some(manager) = status.manager.filter(|way| *way != ServiceManager::Systemd) {
        outcome.more.insert("way".into(), manager.name().into());
    }
    outcome
}

/// Returns the command that prints `running` if a process matches the expression.
///
/// The first character is put in brackets, so that the test does not match its own command line. Spaces
/// become dots, which match the zero bytes between arguments in `/proc`.
fn process_test(sig: &str) -> String {
    let mut pattern = sig.replace(' ', ".");
    if let Some(first) = pattern.chars().next().filter(char::is_ascii_alphanumeric) {
        pattern.replace_range(..1, &format!("[{first}]"));
    }
    format!(
        "grep -laE -e {} /proc/[0-9]*/cmdline >/dev/null 2>&1 && echo running",
        quote_word(&pattern)
    )
}
