//! The key tables of `tasks.yaml`: the reader checks files with them, and the JSON schema is
//! generated from them.

use crate::yaml::{Shape, tables};

use Shape::{Any, Flag, Imports, List, Map, MapOfTextOr, Names, Of, Scalar, Steps, Text, TextOr};

tables! {
    pub TASKS_KEYS closed "tasks" "Tasks that run over hosts" {
        "env" Of(&ENV_KEYS), "Settings that say where and how tasks run";
        "include" Imports(&INCLUDE_KEYS),
            "Other files with tasks; a name before a file becomes the namespace of its tasks";
        "executors" Any,
            "The executors around each action on a host: names, or a map of options with the names in `chain`";
        "tasks" MapOfTextOr(&TASK_KEYS), "The tasks by name; a string is a command";
    }
    pub(super) ENV_KEYS closed "env" "Settings that say where and how tasks run" {
        "hosts" Names, "Hosts: `[user@]host[:port]`";
        "roles" Names, "Roles whose hosts are used";
        "exclude_hosts" Names, "Hosts to leave out";
        "extend" Of(&EXTEND_KEYS), "Hosts, roles and exclusions that are added to the existing ones";
        "roledefs" Map,
            "The hosts of each role: a list, a map with `hosts`, or a map with a `command`";
        "vars" Map, "Variables for templates";
        "user" Text, "The user to log in as";
        "password" Text, "The password to log in with, where no key lets in; also tried for `sudo`";
        "passwords" Map, "The passwords of single hosts, by host string";
        "sudo_password" Text, "The password for `sudo`";
        "sudo_passwords" Map, "The passwords of single hosts for `sudo`, by host string";
        "shell" Text, "The shell that runs commands";
        "command_timeout" Scalar, "Time limit of each command: seconds, or `10s`, `5m`, `1h`";
        "port" Scalar, "The port of hosts that name none";
        "key_files" Names, "Files with private keys, which are tried first";
        "timeout" Scalar, "Time limit of an attempt to connect and log in: seconds, or `10s`, `1m`";
        "connection_attempts" Scalar, "Number of attempts to connect";
        "keepalive" Scalar, "Interval of keepalive messages to each host: seconds, or `10s`, `1m`";
        "forward_agent" Flag, "Whether the SSH agent is forwarded to the hosts";
        "prompts" Map, "Answers to the prompts of commands: the end of the output, and the line to type";
        "vars_files" Names, "YAML files with variables, relative to this file; `vars` come after them";
        "parallel" Flag, "Whether all hosts of a task run at the same time";
        "pool_size" Scalar, "Maximum number of hosts at the same time";
        "warn_only" Flag, "Whether failures only cause warnings";
        "skip_bad_hosts" Flag, "Whether unreachable hosts are skipped";
        "skip_unknown_tasks" Flag, "Whether calls of tasks that do not exist are skipped";
        "abort_on_prompts" Flag, "Whether the run fails instead of asking questions";
        "dedupe_hosts" Flag,
            "Whether a host that is named twice runs once; true by default";
    }
    pub(super) SETTINGS_KEYS closed "settings"
        "Settings that apply only to the task, the block or the step that has them" {
        "vars" Map, "Variables for templates";
        "vars_files" Names, "YAML files with variables, relative to this file; `vars` come after them";
        "user" Text, "The user to log in as";
        "port" Scalar, "The port of hosts that name none";
        "key_files" Names, "Files with private keys, which are tried first";
        "timeout" Scalar, "Time limit of an attempt to connect and log in: seconds, or `10s`, `1m`";
        "connection_attempts" Scalar, "Number of attempts to connect";
        "keepalive" Scalar, "Interval of keepalive messages to each host: seconds, or `10s`, `1m`";
        "forward_agent" Flag, "Whether the SSH agent is forwarded to the hosts";
        "shell" Text, "The shell that runs commands";
        "command_timeout" Scalar, "Time limit of each command: seconds, or `10s`, `5m`, `1h`";
        "prompts" Map, "Answers to the prompts of commands: the end of the output, and the line to type";
        "warn_only" Flag, "Whether failures only cause warnings";
        "skip_bad_hosts" Flag, "Whether unreachable hosts are skipped";
        "skip_unknown_tasks" Flag, "Whether calls of tasks that do not exist are skipped";
        "abort_on_prompts" Flag, "Whether the run fails instead of asking questions";
    }
    pub(super) EXTEND_KEYS closed "extend"
        "Hosts, roles and exclusions that are added to the existing ones" {
        "hosts" Names, "Hosts";
        "roles" Names, "Roles";
        "exclude_hosts" Names, "Hosts to leave out";
    }
    pub(super) INCLUDE_KEYS closed "include" "Another file with tasks" needs ["file"] {
        "file" Text, "The path of the file, relative to this file";
        "as" Text, "The namespace for the tasks of the file";
    }
    pub(super) TASK_KEYS closed "task" "A task: its steps, and the hosts that it runs on" {
        "description" Text, "The purpose of the task";
        "hosts" Names, "Hosts that the task runs on";
        "roles" Names, "Roles whose hosts the task runs on";
        "exclude_hosts" Names, "Hosts to leave out";
        "parallel" Flag, "Whether the task runs on all of its hosts at the same time";
        "serial" Flag, "Whether the hosts of the task run one after the other";
        "pool_size" Scalar, "Maximum number of hosts at the same time";
        "runs_once" Flag, "Whether the task runs on its first host only, once per run";
        "default" Flag, "Whether the task runs if no task is named";
        "args" Map, "The arguments of the task with their defaults; null for a required argument";
        "extra_args" Flag, "Whether arguments that are not in `args` are accepted";
        "steps" Steps(&STEP_KEYS), "The steps of the task, in order";
        "when" Scalar, "A condition";
        "warn_only" Flag, "Whether failures in the task only cause warnings";
        "skip_bad_hosts" Flag, "Whether unreachable hosts are skipped";
        "returns" Any, "The result for the task that executes this task";
        "run" Text, "A command for the shell of the host";
        "sudo" Text, "A command to run as another user";
        "user" Text, "The user that `sudo` runs the command as; root by default";
        "local" Text, "A command for this machine";
        "put" Of(&PUT_KEYS), "Copies a file or folder to the host";
        "get" TextOr(&GET_KEYS), "Copies a file or folder from the host";
        "template" Of(&PUT_KEYS), "Renders a template file and copies the result to the host";
        "execute" TextOr(&EXECUTE_KEYS), "Another task to run";
        "set" Of(&ENV_KEYS), "Changes where and how the following tasks run";
        "abort" Text, "Ends the run with this message, even with `warn_only`";
        "echo" Text, "A message to show";
        "cd" Text, "The folder that commands run in";
        "env" Map, "Environment variables of the commands";
        "shell" Text, "The shell of the commands";
        "stdin" Text, "The standard input of the commands";
        "pty" Flag, "Whether the commands get a terminal";
        "raw" Flag, "Whether the SSH server gets the commands as they are, for hosts without a POSIX shell";
        "time_limit" Scalar, "Time limit of each command: seconds, or `10s`, `5m`, `1h`";
        "capture" Scalar, "Size up to which the outputs of each command are kept whole: bytes, or `64K`, `10M`, `2G`";
        "ok_codes" List, "Exit codes that count as success";
        "prefix" Names, "Commands that run before each command, in its shell; if one fails, the command does not run";
        "path" TextOr(&PATH_KEYS), "A folder that is added to the end of `PATH` of the commands";
        "lcd" Text, "The folder of this machine that local commands run in and local paths start at";
        "hide" Names, "Kinds of output that are hidden: `running`, `stdout`, `stderr`, `warnings`, `user`, or `output`, `commands`, `everything`";
        "show" Names, "Kinds of output that are shown although a block or task around hides them";
        "settings" Of(&SETTINGS_KEYS), "Settings that apply only here";
        "secret" Flag, "Whether the commands are hidden in the output";
        "quiet" Flag, "Whether the output of the commands is hidden";
    }
}

/// The keys that determine the action of a step.
pub(super) const ACTION_KEYS: &[&str] = &[
    "run", "sudo", "local", "put", "get", "template", "prompt", "set", "execute", "abort", "echo",
    "debug", "block",
];

tables! {
    pub(super) STEP_KEYS closed "step" "A step of a task: one action and its options" {
        "run" Text, "A command for the shell of the host";
        "sudo" Text, "A command to run as another user";
        "user" Text, "The user that `sudo` runs the command as; root by default";
        "local" Text, "A command for this machine";
        "put" Of(&PUT_KEYS), "Copies a file or folder to the host";
        "get" TextOr(&GET_KEYS), "Copies a file or folder from the host";
        "template" Of(&PUT_KEYS), "Renders a template file and copies the result to the host";
        "prompt" TextOr(&PROMPT_KEYS), "A question to the user";
        "set" Of(&ENV_KEYS), "Changes where and how the following tasks run";
        "execute" TextOr(&EXECUTE_KEYS), "Another task to run";
        "abort" Text, "Ends the run with this message, even with `warn_only`";
        "echo" Text, "A message to show";
        "debug" Text, "The same as `echo`";
        "block" Steps(&STEP_KEYS), "Steps that belong together";
        "rescue" Steps(&STEP_KEYS), "The steps that follow if a step of the block fails; the variable `failure` says why";
        "always" Steps(&STEP_KEYS), "The steps that follow the block in any case";
        "for_each" Any, "The items that the step runs for, one after the other: a list, a map, or a template";
        "as" Text, "The variable that holds the item of `for_each`; `item` by default";
        "until" Scalar, "A condition on `result`: the step is repeated until it is true";
        "retries" Scalar, "Number of repetitions of the step; 3 by default";
        "delay" Scalar, "Time between two repetitions: seconds, or `10s`, `5m`; 5 seconds by default";
        "when" Scalar, "A condition";
        "register" Text, "The variable that holds the result for later steps";
        "cd" Text, "The folder that the command runs in";
        "env" Map, "Environment variables of the command";
        "shell" Text, "The shell of the command";
        "stdin" Text, "The standard input of the command";
        "pty" Flag, "Whether the command gets a terminal";
        "raw" Flag, "Whether the SSH server gets the command as it is, for hosts without a POSIX shell";
        "time_limit" Scalar, "Time limit of the command: seconds, or `10s`, `5m`, `1h`";
        "capture" Scalar, "Size up to which the outputs of the command are kept whole: bytes, or `64K`, `10M`, `2G`";
        "ok_codes" List, "Exit codes that count as success";
        "prefix" Names, "Commands that run before each command, in its shell; if one fails, the command does not run";
        "path" TextOr(&PATH_KEYS), "A folder that is added to the end of `PATH` of the commands";
        "lcd" Text, "The folder of this machine that local commands run in and local paths start at";
        "hide" Names, "Kinds of output that are hidden: `running`, `stdout`, `stderr`, `warnings`, `user`, or `output`, `commands`, `everything`";
        "show" Names, "Kinds of output that are shown although a block or task around hides them";
        "settings" Of(&SETTINGS_KEYS), "Settings that apply only here";
        "warn_only" Flag, "Whether a failure of the step only causes a warning";
        "secret" Flag, "Whether the step is hidden in the output";
        "quiet" Flag, "Whether the output of the step is hidden";
    }
    pub(super) PATH_KEYS closed "path" "Folders for `PATH` of the commands" {
        "append" Names, "Folders that come after those of the host";
        "prepend" Names, "Folders that come before those of the host";
        "replace" Names, "Folders that replace those of the host";
    }
    pub(super) PUT_KEYS closed "put" "Copies a file or folder to a host" needs ["src", "dest"] {
        "src" Text, "The file or folder on this machine";
        "dest" Text, "The target on the host";
        "mode" Scalar, "The permission bits, as in `\"0644\"`";
        "owner" Text, "The owner: `user`, `user:group` or `:group`";
        "sudo" Scalar, "The user who writes on the host, by `sudo`; true is root";
        "verify" Flag, "Whether each file is compared by its digest before it gets its name";
        "resume" Flag, "Whether an interrupted copy of a file goes on where it stopped";
        "mirror" Scalar, "Whether files that only the folder on the host has are deleted; `dryrun` only names them";
    }
    pub(super) GET_KEYS closed "get" "Copies a file or folder from a host" needs ["src"] {
        "src" Text, "The file or folder on the host";
        "dest" Text, "The target on this machine; by default, a folder with the name of the host";
        "max_size" Scalar,
            "Maximum size of all files together: bytes, or `64K`, `10M`, `2G`; 10G by default";
        "sudo" Scalar, "The user who reads on the host, by `sudo`; true is root";
        "verify" Flag, "Whether each file is compared by its digest before it gets its name";
        "resume" Flag, "Whether an interrupted copy of a file goes on where it stopped";
    }
    pub(super) PROMPT_KEYS closed "prompt" "A question to the user" needs ["text"] {
        "text" Text, "The question";
        "default" Scalar, "The value for an empty answer";
        "validate" Text, "A regular expression that the whole answer must match";
    }
    pub(super) EXECUTE_KEYS closed "execute" "Runs another task, on its own hosts" needs ["task"] {
        "task" Text, "The name of the task";
        "args" Any, "Arguments: a list, or a map by name";
        "kwargs" Map, "Arguments by name, in addition to a list in `args`";
        "host" Text, "A host";
        "hosts" Names, "Hosts";
        "role" Text, "A role";
        "roles" Names, "Roles";
        "exclude_hosts" Names, "Hosts to leave out";
    }
}
