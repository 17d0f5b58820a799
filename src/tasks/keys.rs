//! The key tables of `tasks.yaml`: the reader checks files with them, and the JSON schema is
//! generated from them.

use crate::yaml::{Shape, tables};

use Shape::{Any, Flag, Imports, List, Map, MapOfTextOr, Names, Of, Scalar, Steps, Text, TextOr};

tables! {
    pub TASKS_KEYS closed "tasks" "Tasks that run over hosts" {
        "env" Of(&ENV_KEYS), "Where and how tasks run";
        "include" Imports(&INCLUDE_KEYS),
            "Other files with tasks; a name before one becomes the namespace of its tasks";
        "tasks" MapOfTextOr(&TASK_KEYS), "The tasks by their names; a text is a command";
    }
    pub(super) ENV_KEYS closed "env" "Where and how tasks run" {
        "hosts" Names, "Hosts: `[user@]host[:port]`";
        "roles" Names, "Roles whose hosts are meant";
        "exclude_hosts" Names, "Hosts to leave out";
        "extend" Of(&EXTEND_KEYS), "Hosts, roles and exclusions in addition to those there";
        "roledefs" Map,
            "The hosts of each role: a list, a map with `hosts`, or a map with a `command`";
        "vars" Map, "Variables for templates";
        "user" Text, "The user to log in as";
        "shell" Text, "The shell that runs commands";
        "command_timeout" Scalar, "How long a command may run: seconds, or `10s`, `5m`, `1h`";
        "parallel" Flag, "Whether all hosts of a task run at the same time";
        "pool_size" Scalar, "The most hosts at the same time";
        "warn_only" Flag, "Whether what fails is only warned of";
        "skip_bad_hosts" Flag, "Whether hosts that cannot be reached are passed over";
        "skip_unknown_tasks" Flag, "Whether tasks that are not there are passed over";
        "abort_on_prompts" Flag, "Whether a question fails the run";
        "dedupe_hosts" Flag,
            "Whether a host that is named twice runs once; true unless it is false";
    }
    pub(super) EXTEND_KEYS closed "extend"
        "Hosts, roles and exclusions in addition to those there" {
        "hosts" Names, "Hosts";
        "roles" Names, "Roles";
        "exclude_hosts" Names, "Hosts to leave out";
    }
    pub(super) INCLUDE_KEYS closed "include" "Another file with tasks" needs ["file"] {
        "file" Text, "Its path from this file";
        "as" Text, "The namespace of its tasks";
    }
    pub(super) TASK_KEYS closed "task" "A task: what it does, and where" {
        "description" Text, "What it is for";
        "hosts" Names, "Hosts that it runs on";
        "roles" Names, "Roles whose hosts it runs on";
        "exclude_hosts" Names, "Those to leave out";
        "parallel" Flag, "Whether it runs on all of its hosts at the same time";
        "serial" Flag, "Whether its hosts take turns";
        "pool_size" Scalar, "The most at the same time";
        "runs_once" Flag, "Whether it runs on its first host only, once in all";
        "default" Flag, "Whether it runs if no task is named";
        "args" Map, "What it may be given, each with its default; null if it must be given";
        "extra_args" Flag, "Whether it may be given more than that";
        "steps" Steps(&STEP_KEYS), "What it does, in order";
        "when" Scalar, "A condition";
        "warn_only" Flag, "Whether what fails in it is only warned of";
        "skip_bad_hosts" Flag, "Whether hosts that cannot be reached are passed over";
        "returns" Any, "What it gives to the task that executes it";
        "run" Text, "A command for the shell of the host";
        "sudo" Text, "A command to run as another user";
        "user" Text, "That user; root if none";
        "local" Text, "A command for this machine";
        "put" Of(&PUT_KEYS), "What is taken to the host";
        "get" TextOr(&GET_KEYS), "What is brought from it";
        "template" Of(&PUT_KEYS), "A file that is rendered and taken to the host";
        "execute" TextOr(&EXECUTE_KEYS), "Another task";
        "set" Of(&ENV_KEYS), "Changes where and how the tasks after this one run";
        "abort" Text, "Ends the run with this message, `warn_only` or not";
        "echo" Text, "A message";
        "cd" Text, "The folder that commands run in";
        "env" Map, "Variables of their environment";
        "shell" Text, "Their shell";
        "stdin" Text, "What they read";
        "pty" Flag, "Whether they get a terminal";
        "time_limit" Scalar, "How long they may run";
        "ok_codes" List, "The exit codes of success";
        "secret" Flag, "Whether they are not shown";
        "quiet" Flag, "Whether their output is not shown";
    }
}

/// The keys that determine the action of a step.
pub(super) const ACTION_KEYS: &[&str] = &[
    "run", "sudo", "local", "put", "get", "template", "prompt", "set", "execute", "abort", "echo",
    "debug",
];

tables! {
    pub(super) STEP_KEYS closed "step" "One thing that a task does" {
        "run" Text, "A command for the shell of the host";
        "sudo" Text, "A command to run as another user";
        "user" Text, "That user; root if none";
        "local" Text, "A command for this machine";
        "put" Of(&PUT_KEYS), "What is taken to the host";
        "get" TextOr(&GET_KEYS), "What is brought from it";
        "template" Of(&PUT_KEYS), "A file that is rendered and taken to the host";
        "prompt" TextOr(&PROMPT_KEYS), "What a person is asked";
        "set" Of(&ENV_KEYS), "Changes where and how the tasks after this one run";
        "execute" TextOr(&EXECUTE_KEYS), "Another task";
        "abort" Text, "Ends the run with this message, `warn_only` or not";
        "echo" Text, "A message";
        "debug" Text, "The same as `echo`";
        "when" Scalar, "A condition";
        "register" Text, "The name by which later steps know its result";
        "cd" Text, "The folder that the command runs in";
        "env" Map, "Variables of its environment";
        "shell" Text, "Its shell";
        "stdin" Text, "What it reads";
        "pty" Flag, "Whether it gets a terminal";
        "time_limit" Scalar, "How long it may run: seconds, or `10s`, `5m`, `1h`";
        "ok_codes" List, "The exit codes of success";
        "warn_only" Flag, "Whether its failure is no failure of the task";
        "secret" Flag, "Whether it is not shown";
        "quiet" Flag, "Whether its output is not shown";
    }
    pub(super) PUT_KEYS closed "put" "What is taken to a host" needs ["src", "dest"] {
        "src" Text, "The file or folder here";
        "dest" Text, "Where it goes";
        "mode" Scalar, "The permission bits, as in `\"0644\"`";
    }
    pub(super) GET_KEYS closed "get" "What is brought from a host" needs ["src"] {
        "src" Text, "The file or folder there";
        "dest" Text, "Where it goes; below a folder with the name of the host if not said";
    }
    pub(super) PROMPT_KEYS closed "prompt" "What a person is asked" needs ["text"] {
        "text" Text, "The question";
        "default" Scalar, "What an empty answer means";
        "validate" Text, "A regular expression for the whole answer";
    }
    pub(super) EXECUTE_KEYS closed "execute" "Another task, on hosts of its own" needs ["task"] {
        "task" Text, "Its name";
        "args" Any, "Arguments: a list, or a map by name";
        "kwargs" Map, "Arguments by name, besides a list";
        "host" Text, "A host";
        "hosts" Names, "Hosts";
        "role" Text, "A role";
        "roles" Names, "Roles";
        "exclude_hosts" Names, "Hosts to leave out";
    }
}
