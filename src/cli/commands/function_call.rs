//! Calls a function that only executors of the user's can perform, for the command `op` (X9).

use std::num::NonZeroUsize;

use serde_json::Value as Json;

use crate::cli::args::host::{HostOptions, HostOrder};
use crate::cli::args::state::OpArgs;
use crate::cli::commands::ad_hoc::{PreparedRun, named_step};
use crate::cli::commands::op_words::OpWords;
use crate::cli::commands::state::require_yes;
use crate::cli::output::Context;
use crate::cli::request::states::{MAX_PARALLEL, require_target};
use crate::host::FunctionCall;
use crate::ops::Failure;
use crate::tasks::{MaxFail, StepAction};
use crate::ui::states_question;
use crate::value::Value;

/// Calls a function on the chosen hosts and returns the exit code.
///
/// Fails with `unknown` if no executor takes functions that this program does not have.
pub(super) fn call(
    args: &OpArgs,
    words: &OpWords,
    unknown: Failure,
    cx: &Context,
) -> Result<u8, Failure> {
    let hosts = host_options(args);
    let call = FunctionCall {
        function: args.function.clone(),
        arguments: words.names.iter().map(json).collect(),
        keywords: words
            .keywords
            .iter()
            .map(|(key, value)| (key.to_string(), json(value)))
            .collect(),
    };
    let prepared = PreparedRun::new(named_step("op", StepAction::Call(call)), &hosts, cx)?;
    let mut chain = prepared.chain().into_iter();
    if !chain.any(|chain| chain.takes_missing_function(&args.function)) {
        return Err(unknown);
    }
    check_options(args)?;
    if !args.run.approve {
        let choice = &hosts.choice;
        let targets = choice.hosts.iter().chain(&choice.roles);
        let targets: Vec<&str> = targets.map(String::as_str).collect();
        let question = states_question(&format!("call {}", args.function), &targets);
        require_yes("op", question, prepared.interrupts(), cx)?;
    }
    prepared.perform(cx)
}

/// Refuses options that mean nothing for a function of an executor.
fn check_options(args: &OpArgs) -> Result<(), Failure> {
    let function = &args.function;
    if args.run.dryrun {
        return Err(Failure::usage(format!(
            "`--dryrun` cannot tell the changes of `{function}`, because an executor of yours performs it"
        )));
    }
    if !args.tree.limit.is_empty() {
        return Err(Failure::usage_with(
            format!(
                "`--limit` is not available for `{function}`, which an executor of yours performs"
            ),
            "choose the hosts with `-H`, `-R` and `-x`",
        ));
    }
    require_target("op", &args.tree, &args.hosts)
}

/// Returns the options of a run over hosts that correspond to those of `op`.
fn host_options(args: &OpArgs) -> HostOptions {
    let run = &args.run;
    let mut choice = args.hosts.choice.clone();
    choice.hosts.extend(args.tree.instance.iter().cloned());
    HostOptions {
        choice,
        order: HostOrder {
            parallel: !run.serial,
            pool_size: run.parallel.or(NonZeroUsize::new(MAX_PARALLEL)),
            // With states, one failure more is needed if the percentage is reached exactly.
            max_fail: run.fail_percent.map(|percent| match percent {
                0 => MaxFail::Count(1),
                percent => MaxFail::Percent(percent),
            }),
            sudo: run.sudo.clone(),
            executors: run.executors.clone(),
            executor_opts: run.executor_opts.clone(),
            ..HostOrder::default()
        },
        connection: args.hosts.connection.clone(),
        output: run.shown.output,
    }
}

fn json(value: &Value) -> Json {
    serde_json::to_value(value).unwrap_or_default()
}
