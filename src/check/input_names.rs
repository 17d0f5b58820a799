//! The names of the inputs that the configurators take.

/// The inputs of a configurator.
#[derive(Debug, Clone, Copy)]
pub(super) struct InputNames {
    /// All inputs that the configurator takes. Operations may have further ones for their expressions.
    pub(super) known: &'static [&'static str],
    /// Inputs of which at least one must be given.
    pub(super) required: &'static [&'static str],
}

const SHELL: InputNames = InputNames {
    known: &[
        "command",
        "cmd",
        "arguments",
        "cwd",
        "dryrun",
        "shell",
        "echo",
        "input",
        "keeplines",
        "capture",
        "done",
        "outputsTemplate",
        "resultTemplate",
    ],
    required: &["command", "cmd"],
};

const TEMPLATE: InputNames = InputNames {
    known: &["run", "dryrun", "done", "resultTemplate"],
    required: &[],
};

const DELEGATE: InputNames = InputNames {
    known: &["operation", "target", "inputs", "when"],
    required: &[],
};

const TASK: InputNames = InputNames {
    known: &[
        "task",
        "file",
        "arguments",
        "hosts",
        "roles",
        "exclude_hosts",
        "dryrun",
        "resultTemplate",
    ],
    required: &["task"],
};

const STATES: InputNames = InputNames {
    known: &[
        "sls",
        "top",
        "file_root",
        "file_roots",
        "saltenv",
        "pillar",
        "grains",
        "ordering",
        "dryrun",
        "resultTemplate",
    ],
    required: &[],
};

const TERRAFORM: InputNames = InputNames {
    known: &[
        "main",
        "tfvars",
        "stateLocation",
        "workdir",
        "command",
        "stop_timeout",
        "dryrun_mode",
        "dryrun_outputs",
        "arguments",
        "keeplines",
        "echo",
        "done",
        "resultTemplate",
    ],
    required: &[],
};

const ANSIBLE: InputNames = InputNames {
    known: &[
        "playbook",
        "inventory",
        "arguments",
        "playbookArgs",
        "resultKeys",
        "command",
        "dryrun",
        "resultTemplate",
    ],
    required: &["playbook"],
};

/// Returns the inputs of a configurator by its short name. `None` if they are not known.
pub(super) fn input_names(configurator: &str) -> Option<InputNames> {
    Some(match configurator {
        "Shell" | "Cmd" => SHELL,
        "Template" => TEMPLATE,
        "Delegate" => DELEGATE,
        "Task" => TASK,
        "States" => STATES,
        "Terraform" => TERRAFORM,
        "Ansible" => ANSIBLE,
        _ => return None,
    })
}
