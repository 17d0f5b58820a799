//! The keys of `tasks.yaml`: what its reader checks, and what its schema is made from.

use crate::yaml::{Key, Rest, Shape, Table};

const fn key(name: &'static str, shape: Shape, about: &'static str) -> Key {
    Key { name, shape, about }
}

/// The keys of `tasks.yaml`.
pub static TASKS_KEYS: Table = Table {
    name: "tasks",
    about: "Tasks that run over hosts",
    keys: &[
        key("env", Shape::Of(&ENV_KEYS), "Where and how tasks run"),
        key(
            "include",
            Shape::Imports(&INCLUDE_KEYS),
            "Other files with tasks; a name before one becomes the namespace of its tasks",
        ),
        key(
            "tasks",
            Shape::MapOfTextOr(&TASK_KEYS),
            "The tasks by their names; a text is a command",
        ),
    ],
    required: &[],
    rest: Rest::Refused,
};

/// The keys of `env`, and of the step `set`.
pub(super) static ENV_KEYS: Table = Table {
    name: "env",
    about: "Where and how tasks run",
    keys: &[
        key("hosts", Shape::Names, "Hosts: `[user@]host[:port]`"),
        key("roles", Shape::Names, "Roles whose hosts are meant"),
        key("exclude_hosts", Shape::Names, "Hosts to leave out"),
        key(
            "extend",
            Shape::Of(&EXTEND_KEYS),
            "Hosts, roles and exclusions in addition to those there",
        ),
        key(
            "roledefs",
            Shape::Map,
            "The hosts of each role: a list, a map with `hosts`, or a map with a `command`",
        ),
        key("vars", Shape::Map, "Variables for templates"),
        key("user", Shape::Text, "The user to log in as"),
        key("shell", Shape::Text, "The shell that runs commands"),
        key(
            "command_timeout",
            Shape::Scalar,
            "How long a command may run: seconds, or `10s`, `5m`, `1h`",
        ),
        key(
            "parallel",
            Shape::Flag,
            "Whether all hosts of a task run at the same time",
        ),
        key(
            "pool_size",
            Shape::Scalar,
            "The most hosts at the same time",
        ),
        key(
            "warn_only",
            Shape::Flag,
            "Whether what fails is only warned of",
        ),
        key(
            "skip_bad_hosts",
            Shape::Flag,
            "Whether hosts that cannot be reached are passed over",
        ),
        key(
            "skip_unknown_tasks",
            Shape::Flag,
            "Whether tasks that are not there are passed over",
        ),
        key(
            "abort_on_prompts",
            Shape::Flag,
            "Whether a question fails the run",
        ),
        key(
            "dedupe_hosts",
            Shape::Flag,
            "Whether a host that is named twice runs once; true unless it is false",
        ),
    ],
    required: &[],
    rest: Rest::Refused,
};

/// The keys of `extend`.
pub(super) static EXTEND_KEYS: Table = Table {
    name: "extend",
    about: "Hosts, roles and exclusions in addition to those there",
    keys: &[
        key("hosts", Shape::Names, "Hosts"),
        key("roles", Shape::Names, "Roles"),
        key("exclude_hosts", Shape::Names, "Hosts to leave out"),
    ],
    required: &[],
    rest: Rest::Refused,
};

/// The keys of a file that is included.
pub(super) static INCLUDE_KEYS: Table = Table {
    name: "include",
    about: "Another file with tasks",
    keys: &[
        key("file", Shape::Text, "Its path from this file"),
        key("as", Shape::Text, "The namespace of its tasks"),
    ],
    required: &["file"],
    rest: Rest::Refused,
};

/// The keys of a task; those of a step say the only thing that it does.
pub(super) static TASK_KEYS: Table = Table {
    name: "task",
    about: "A task: what it does, and where",
    keys: &[
        key("description", Shape::Text, "What it is for"),
        key("hosts", Shape::Names, "Hosts that it runs on"),
        key("roles", Shape::Names, "Roles whose hosts it runs on"),
        key("exclude_hosts", Shape::Names, "Those to leave out"),
        key(
            "parallel",
            Shape::Flag,
            "Whether it runs on all of its hosts at the same time",
        ),
        key("serial", Shape::Flag, "Whether its hosts take turns"),
        key("pool_size", Shape::Scalar, "The most at the same time"),
        key(
            "runs_once",
            Shape::Flag,
            "Whether it runs on its first host only, once in all",
        ),
        key(
            "default",
            Shape::Flag,
            "Whether it runs if no task is named",
        ),
        key(
            "args",
            Shape::Map,
            "What it may be given, each with its default; null if it must be given",
        ),
        key(
            "extra_args",
            Shape::Flag,
            "Whether it may be given more than that",
        ),
        key("steps", Shape::Steps(&STEP_KEYS), "What it does, in order"),
        key("when", Shape::Scalar, "A condition"),
        key(
            "warn_only",
            Shape::Flag,
            "Whether what fails in it is only warned of",
        ),
        key(
            "skip_bad_hosts",
            Shape::Flag,
            "Whether hosts that cannot be reached are passed over",
        ),
        key(
            "returns",
            Shape::Any,
            "What it gives to the task that executes it",
        ),
        key("run", Shape::Text, "A command for the shell of the host"),
        key("sudo", Shape::Text, "A command to run as another user"),
        key("user", Shape::Text, "That user; root if none"),
        key("local", Shape::Text, "A command for this machine"),
        key("put", Shape::Of(&PUT_KEYS), "What is taken to the host"),
        key("get", Shape::TextOr(&GET_KEYS), "What is brought from it"),
        key(
            "template",
            Shape::Of(&PUT_KEYS),
            "A file that is rendered and taken to the host",
        ),
        key("execute", Shape::TextOr(&EXECUTE_KEYS), "Another task"),
        key(
            "set",
            Shape::Of(&ENV_KEYS),
            "Changes where and how the tasks after this one run",
        ),
        key(
            "abort",
            Shape::Text,
            "Ends the run with this message, `warn_only` or not",
        ),
        key("echo", Shape::Text, "A message"),
        key("cd", Shape::Text, "The folder that commands run in"),
        key("env", Shape::Map, "Variables of their environment"),
        key("shell", Shape::Text, "Their shell"),
        key("stdin", Shape::Text, "What they read"),
        key("pty", Shape::Flag, "Whether they get a terminal"),
        key("time_limit", Shape::Scalar, "How long they may run"),
        key("ok_codes", Shape::List, "The exit codes of success"),
        key("secret", Shape::Flag, "Whether they are not shown"),
        key("quiet", Shape::Flag, "Whether their output is not shown"),
    ],
    required: &[],
    rest: Rest::Refused,
};

/// The keys that say what a step does.
pub(super) const DEEDS: &[&str] = &[
    "run", "sudo", "local", "put", "get", "template", "prompt", "set", "execute", "abort", "echo",
    "debug",
];

/// The keys of a step.
pub(super) static STEP_KEYS: Table = Table {
    name: "step",
    about: "One thing that a task does",
    keys: &[
        key("run", Shape::Text, "A command for the shell of the host"),
        key("sudo", Shape::Text, "A command to run as another user"),
        key("user", Shape::Text, "That user; root if none"),
        key("local", Shape::Text, "A command for this machine"),
        key("put", Shape::Of(&PUT_KEYS), "What is taken to the host"),
        key("get", Shape::TextOr(&GET_KEYS), "What is brought from it"),
        key(
            "template",
            Shape::Of(&PUT_KEYS),
            "A file that is rendered and taken to the host",
        ),
        key(
            "prompt",
            Shape::TextOr(&PROMPT_KEYS),
            "What a person is asked",
        ),
        key(
            "set",
            Shape::Of(&ENV_KEYS),
            "Changes where and how the tasks after this one run",
        ),
        key("execute", Shape::TextOr(&EXECUTE_KEYS), "Another task"),
        key(
            "abort",
            Shape::Text,
            "Ends the run with this message, `warn_only` or not",
        ),
        key("echo", Shape::Text, "A message"),
        key("debug", Shape::Text, "The same as `echo`"),
        key("when", Shape::Scalar, "A condition"),
        key(
            "register",
            Shape::Text,
            "The name by which later steps know its result",
        ),
        key("cd", Shape::Text, "The folder that the command runs in"),
        key("env", Shape::Map, "Variables of its environment"),
        key("shell", Shape::Text, "Its shell"),
        key("stdin", Shape::Text, "What it reads"),
        key("pty", Shape::Flag, "Whether it gets a terminal"),
        key(
            "time_limit",
            Shape::Scalar,
            "How long it may run: seconds, or `10s`, `5m`, `1h`",
        ),
        key("ok_codes", Shape::List, "The exit codes of success"),
        key(
            "warn_only",
            Shape::Flag,
            "Whether its failure is no failure of the task",
        ),
        key("secret", Shape::Flag, "Whether it is not shown"),
        key("quiet", Shape::Flag, "Whether its output is not shown"),
    ],
    required: &[],
    rest: Rest::Refused,
};

/// The keys of `put` and `template`.
pub(super) static PUT_KEYS: Table = Table {
    name: "put",
    about: "What is taken to a host",
    keys: &[
        key("src", Shape::Text, "The file or folder here"),
        key("dest", Shape::Text, "Where it goes"),
        key(
            "mode",
            Shape::Scalar,
            "The permission bits, as in `\"0644\"`",
        ),
    ],
    required: &["src", "dest"],
    rest: Rest::Refused,
};

/// The keys of `get`.
pub(super) static GET_KEYS: Table = Table {
    name: "get",
    about: "What is brought from a host",
    keys: &[
        key("src", Shape::Text, "The file or folder there"),
        key(
            "dest",
            Shape::Text,
            "Where it goes; below a folder with the name of the host if not said",
        ),
    ],
    required: &["src"],
    rest: Rest::Refused,
};

/// The keys of `prompt`.
pub(super) static PROMPT_KEYS: Table = Table {
    name: "prompt",
    about: "What a person is asked",
    keys: &[
        key("text", Shape::Text, "The question"),
        key("default", Shape::Scalar, "What an empty answer means"),
        key(
            "validate",
            Shape::Text,
            "A regular expression for the whole answer",
        ),
    ],
    required: &["text"],
    rest: Rest::Refused,
};

/// The keys of `execute`.
pub(super) static EXECUTE_KEYS: Table = Table {
    name: "execute",
    about: "Another task, on hosts of its own",
    keys: &[
        key("task", Shape::Text, "Its name"),
        key("args", Shape::Any, "Arguments: a list, or a map by name"),
        key("kwargs", Shape::Map, "Arguments by name, besides a list"),
        key("host", Shape::Text, "A host"),
        key("hosts", Shape::Names, "Hosts"),
        key("role", Shape::Text, "A role"),
        key("roles", Shape::Names, "Roles"),
        key("exclude_hosts", Shape::Names, "Hosts to leave out"),
    ],
    required: &["task"],
    rest: Rest::Refused,
};
