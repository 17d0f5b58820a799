//! Arranges the help of the program and of its commands: groups of commands, headings, everyday options first.
//!
//! The texts themselves are the doc comments of `command_line`, `args` and `commands`. `-h` shows everyday options
//! only, `--help` shows all.

use clap::builder::{Resettable, Str, StyledStr};
use clap::{Arg, Command};

use super::command_words::subcommand;
use super::route::RUN_HOSTS;

/// The commands of the program in groups, as `unfurl --help` shows them.
const GROUPS: [(&str, &[&str]); 4] = [
    (
        "Everyday commands",
        &[
            "init", "add", "plan", "deploy", "status", "check", "drift", "explain", "history",
            "run", "teardown",
        ],
    ),
    (
        "Hosts and states",
        &[
            "task", "state", "op", "fact", "hosts", "put", "get", "shell", "forward", "reboot",
        ],
    ),
    (
        "Projects and git",
        &[
            "clone",
            "import",
            "validate",
            "doctor",
            "commit",
            "git",
            "git-status",
            "git-setup",
            "secret",
            "trust",
            "home",
            "lock",
            "schedule",
            "serve",
            "recover",
            "export",
        ],
    ),
    (
        "Other commands",
        &[
            "stop",
            "discover",
            "schema",
            "merge-driver",
            "completions",
            "man",
            "version",
            "help",
        ],
    ),
];

/// The heading of the options that all commands take.
const GLOBAL_HEADING: &str = "Global options";

/// The global options that `-h` shows.
const EVERYDAY_GLOBAL: [&str; 2] = ["verbose", "quiet"];

/// The commands that plan or run a job on an ensemble.
pub(super) const JOB_COMMANDS: [&str; 9] = [
    "deploy", "teardown", "stop", "check", "drift", "discover", "plan", "run", "explain",
];

/// The options of jobs that come first, in this order. `-h` shows them.
const EVERYDAY_JOB: [&str; 11] = [
    "approve",
    "dryrun",
    "operation",
    "workflow",
    "instance",
    "exclude",
    "var",
    "var_file",
    "output",
    "detail",
    "host",
];

/// The options of `drift` that come first, in this order. `-h` shows them.
const EVERYDAY_DRIFT: [&str; 11] = [
    "instance",
    "template",
    "exclude",
    "all",
    "detail",
    "output",
    "repair",
    "approve",
    "by_policy",
    "log",
    "limit",
];

/// All other options of jobs, below their headings.
const JOB_SECTIONS: [(&str, &[&str]); 5] = [
    (
        "Selection and comparison",
        &[
            "template",
            "force",
            "skip_new",
            "change_detection",
            "repair",
            "check",
            "upgrade",
            "prune",
            "destroyunmanaged",
        ],
    ),
    (
        "Environment and results",
        &[
            "use_environment",
            "locked",
            "query",
            "trace",
            "reveal",
            "format",
            "jobexitcode",
        ],
    ),
    (
        "Record of the job",
        &["save", "save_inputs", "commit", "push", "message", "dirty"],
    ),
    (
        "Locks, interruption and recovery",
        &["lock_timeout", "grace", "resume", "redo_in_doubt"],
    ),
    (
        "Execution",
        &[
            "parallel",
            "capture",
            "executors",
            "executor_opts",
            "starttime",
        ],
    ),
];

/// The options for hosts and states that only `--help` shows.
const RARE_HOST: [&str; 25] = [
    "abort_on_prompts",
    "accept_new_host_keys",
    "capture",
    "config",
    "connection_attempts",
    "executor_opts",
    "executors",
    "fail_percent",
    "forward_agent",
    "grains",
    "id",
    "keepalive",
    "known_hosts",
    "limit",
    "max_connecting",
    "max_fail",
    "no_agent",
    "no_keys",
    "no_ssh_config",
    "ordering",
    "pool_size",
    "skip_bad_hosts",
    "ssh_config_path",
    "stop_on_first_failure",
    "timeout",
];

/// The options of `run` over hosts that the help of `run` shows.
const MAIN_HOST: [&str; 9] = [
    "hosts",
    "roles",
    "exclude_hosts",
    "hosts_file",
    "parallel",
    "warn_only",
    "command_timeout",
    "sudo",
    "user",
];

/// The number of columns that own texts take at most.
const WIDTH: usize = 80;

/// Arranges the options of all commands, and the help of the program.
pub(super) fn arrange(cli: Command) -> Command {
    let template = template(&cli);
    let over_hosts = run_over_hosts(&cli);
    cli.mut_args(|arg| {
        let is_everyday = EVERYDAY_GLOBAL.contains(&arg.get_id().as_str());
        let is_rare = arg.is_global_set() && !is_everyday;
        arg.help_heading(GLOBAL_HEADING).hide_short_help(is_rare)
    })
    .mut_subcommands(arrange_command)
    .mut_subcommand("run", |run| run.after_help(over_hosts))
    .help_template(template)
}

fn arrange_command(command: Command) -> Command {
    let is_job = JOB_COMMANDS.contains(&command.get_name());
    let everyday: &[&str] = match command.get_name() {
        "drift" => &EVERYDAY_DRIFT,
        _ => &EVERYDAY_JOB,
    };
    let is_host = |command: &Command| {
        command
            .get_arguments()
            .any(|arg| arg.get_id() == "identity")
    };
    let is_host = is_host(&command);
    let command = command.mut_args(|arg| {
        let arg = without_empty_default(arg);
        if is_job {
            place_job_option(arg, everyday)
        } else if is_host {
            let is_rare = RARE_HOST.contains(&arg.get_id().as_str());
            let arg = arg.hide_short_help(is_rare);
            if arg.is_positional() {
                // Groups of options that come before it pass their heading on.
                arg.help_heading(Resettable::<Str>::Reset)
            } else {
                arg
            }
        } else {
            arg
        }
    });
    command.mut_subcommands(arrange_command)
}

/// An empty default is no news: the description of the argument says what it means.
fn without_empty_default(arg: Arg) -> Arg {
    let defaults = arg.get_default_values();
    if !defaults.is_empty() && defaults.iter().all(|text| text.is_empty()) {
        arg.hide_default_value(true)
    } else {
        arg
    }
}

fn place_job_option(arg: Arg, everyday: &[&str]) -> Arg {
    let id = arg.get_id().as_str().to_owned();
    if arg.is_positional() {
        return arg;
    }
    if let Some(order) = everyday.iter().position(|known| *known == id) {
        return arg.display_order(order);
    }
    let section = JOB_SECTIONS
        .iter()
        .find_map(|(heading, ids)| Some((heading, ids.iter().position(|known| *known == id)?)));
    match section {
        Some((heading, order)) => arg
            .help_heading(*heading)
            .display_order(order)
            .hide_short_help(true),
        None => arg.display_order(everyday.len()),
    }
}

/// Returns the template of the help of the program, with the commands in their groups.
fn template(cli: &Command) -> StyledStr {
    let header = cli.get_styles().get_header();
    let literal = cli.get_styles().get_literal();
    let mut text = "{about-with-newline}\n{usage-heading} {usage}\n\n".to_owned();
    let column = names().map(str::len).max().unwrap_or(0) + 4;
    for (heading, commands) in GROUPS {
        text.push_str(&format!("{header}{heading}:{header:#}\n"));
        for name in commands {
            let about = about(cli, name);
            let lines = wrap(&about, WIDTH - column);
            let indented = lines.join(&format!("\n{:column$}", ""));
            let space = column - 2 - name.len();
            text.push_str(&format!(
                "  {literal}{name}{literal:#}{:space$}{indented}\n",
                ""
            ));
        }
        text.push('\n');
    }
    text.push_str(&format!(
        "{header}{GLOBAL_HEADING}:{header:#}\n{{options}}\n\n"
    ));
    text.push_str(
        "`unfurl COMMAND -h` shows the everyday options of a command, `--help` all of them.\n\
         `--output json` prints the result of a command for programs.\n",
    );
    text.into()
}

/// Returns the names of all commands that the help shows.
fn names() -> impl Iterator<Item = &'static str> {
    GROUPS
        .iter()
        .flat_map(|(_, commands)| commands.iter().copied())
}

fn about(cli: &Command, name: &str) -> String {
    let about = subcommand(cli, name).and_then(Command::get_about);
    // clap itself adds the command `help`.
    about.map_or_else(
        || "Print the help of a command".to_owned(),
        ToString::to_string,
    )
}

/// Returns the part of the help of `run` about hosts.
fn run_over_hosts(cli: &Command) -> StyledStr {
    let header = cli.get_styles().get_header();
    let literal = cli.get_styles().get_literal();
    let mut text = format!(
        "{header}On hosts:{header:#} {literal}unfurl run -H HOSTS [OPTIONS] -- COMMAND...{literal:#}\n\
         Needs no ensemble. `unfurl run -H --help` and `unfurl man run-hosts` show all\n\
         options of this form. The main ones are:\n"
    );
    let options = subcommand(cli, RUN_HOSTS).into_iter();
    let options = options.flat_map(Command::get_arguments);
    let options = options.filter(|arg| MAIN_HOST.contains(&arg.get_id().as_str()));
    for option in options {
        let shown = option_words(option);
        let help = option.get_help().map(ToString::to_string);
        let lines = wrap(&help.unwrap_or_default(), WIDTH - 36);
        let indented = lines.join(&format!("\n{:36}", ""));
        text.push_str(&format!("  {literal}{shown:<34}{literal:#}{indented}\n"));
    }
    text.into()
}

/// Breaks a text between words into lines of at most `width` columns. A longer word has a line of its own.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let Some(line) = lines.last_mut() else {
            break;
        };
        if !line.is_empty() && line.len() + 1 + word.len() > width {
            lines.push(word.to_owned());
            continue;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines
}

/// Returns the names of an option with its value, such as `-H, --hosts <HOSTS>`.
fn option_words(option: &Arg) -> String {
    let short = option
        .get_short()
        .map_or_else(|| "    ".to_owned(), |letter| format!("-{letter}, "));
    let long = option.get_long().unwrap_or_default();
    let value = option
        .get_value_names()
        .filter(|_| option.get_action().takes_values())
        .and_then(<[_]>::first);
    let value = value.map_or_else(String::new, |name| {
        if option.is_require_equals_set() {
            format!("[=<{name}>]")
        } else {
            format!(" <{name}>")
        }
    });
    format!("{short}--{long}{value}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::command_line::definition;

    fn help(line: &str) -> String {
        let words = line.split(' ');
        let error = definition().try_get_matches_from(words).unwrap_err();
        error.render().to_string()
    }

    #[test]
    fn each_command_stands_in_one_group() {
        let cli = definition();
        let visible = cli.get_subcommands().filter(|it| !it.is_hide_set());
        let mut visible: Vec<&str> = visible.map(Command::get_name).chain(["help"]).collect();
        let mut grouped: Vec<&str> = names().collect();
        visible.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(visible, grouped);
    }

    #[test]
    fn each_placed_option_exists() {
        let cli = definition();
        let commands = JOB_COMMANDS.iter().chain(&["task", "op", RUN_HOSTS]);
        let commands = commands.filter_map(|name| subcommand(&cli, name));
        let mut known: Vec<&str> = commands
            .flat_map(Command::get_arguments)
            .map(|arg| arg.get_id().as_str())
            .collect();
        known.extend(cli.get_arguments().map(|arg| arg.get_id().as_str()));
        let sections = JOB_SECTIONS.iter().flat_map(|(_, ids)| ids.iter());
        let all = sections
            .chain(&EVERYDAY_JOB)
            .chain(&RARE_HOST)
            .chain(&MAIN_HOST);
        for id in all.chain(&EVERYDAY_GLOBAL) {
            assert!(known.contains(id), "{id}");
        }
    }

    #[test]
    fn the_short_help_of_a_job_has_everyday_options_only() {
        let short = help("unfurl deploy -h");
        let long = help("unfurl deploy --help");
        for option in [
            "--approve",
            "--dryrun",
            "--instance",
            "--var",
            "--output",
            "--quiet",
        ] {
            assert!(short.contains(option), "{option}: {short}");
            assert!(long.contains(option), "{option}: {long}");
        }
        for option in [
            "--starttime",
            "--executors",
            "--max-text",
            "--lock-timeout",
            "--home",
        ] {
            assert!(!short.contains(option), "{option}: {short}");
            assert!(long.contains(option), "{option}: {long}");
        }
        assert!(short.contains("see more with '--help'"), "{short}");
        let first = short.find("--approve").unwrap();
        assert!(first < short.find("--instance").unwrap(), "{short}");
        let headings: Vec<&str> = long
            .lines()
            .filter(|line| line.ends_with(':') && !line.starts_with(' '))
            .collect();
        assert_eq!(headings.first(), Some(&"Arguments:"), "{long}");
        assert_eq!(headings.get(1), Some(&"Options:"), "{long}");
        assert_eq!(headings.last(), Some(&"Global options:"), "{long}");
    }

    #[test]
    fn no_help_shows_an_empty_default() {
        fn check(command: &Command, words: &[&str]) {
            let mut line = words.to_vec();
            line.push("--help");
            let text = help(&line.join(" "));
            assert!(!text.contains("[default: \"\"]"), "{text}");
            assert!(!text.contains("[default: ]"), "{text}");
            for below in command.get_subcommands() {
                let words: Vec<&str> = words.iter().copied().chain([below.get_name()]).collect();
                if below
                    .get_arguments()
                    .all(|arg| arg.get_id() != crate::cli::left_out::WORDS)
                {
                    check(below, &words);
                }
            }
        }
        check(&definition(), &["unfurl"]);
    }
}
