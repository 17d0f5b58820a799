//! The command `op`: applies one Salt state without a state file, or calls a function of an executor of the user's.

use crate::cli::args::state::{OpArgs, TreeOptions};
use crate::cli::commands::function_call::call;
use crate::cli::commands::op_words::OpWords;
use crate::cli::commands::state::run;
use crate::cli::output::Context;
use crate::cli::request::states::{request, require_target};
use crate::ops::{Failure, FailureKind};
use crate::states::{MODULES, find, similar_function};

/// Applies the state on the chosen hosts and returns the exit code.
pub(in crate::cli) fn op(args: &OpArgs, cx: &Context) -> Result<u8, Failure> {
    let words = OpWords::parse(&args.function, &args.arguments)?;
    if let Err(unknown) = ensure_known(&args.function) {
        return call(args, &words, unknown, cx);
    }
    let selection = words.state(&args.function)?;
    let options = TreeOptions {
        sls: Vec::new(),
        tree: args.tree.clone(),
    };
    let mut request = request(&options, &args.run, &args.hosts, cx)?;
    request.source.selection = selection;
    if !request.test {
        require_target("op", &args.tree, &args.hosts)?;
    }
    run("op", &request, &args.run, cx)
}

/// Checks that a state function exists.
fn ensure_known(function: &str) -> Result<(), Failure> {
    let (state, fun) = function.split_once('.').unwrap_or((function, ""));
    if find(state, fun).1.is_some() {
        return Ok(());
    }
    let message = format!("the state function `{function}` does not exist");
    let hint = similar_function(MODULES, state, fun);
    Err(Failure::new(FailureKind::Usage, message, hint))
}
