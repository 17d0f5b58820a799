//! The names that Salt has for actions.

use crate::host::Action;

/// Returns the name that Salt has for the function of an action.
pub(super) fn function_of(action: &Action) -> &str {
    match action {
        Action::Run(_) => "cmd.run",
        Action::Put(_) => "cp.get_file",
        Action::Get(_) => "cp.push",
        Action::Read(_) => "grains.items",
        Action::Change(_) => "state.apply",
        Action::Private(_) => "file.read",
        Action::Call(call) => &call.function,
    }
}
