//! Services are masked and unmasked.

use super::way::{Service, Status, Way};
use crate::converge::module::command::{act, failure, old_new, one, unchanged};
use crate::converge::{Call, Facts, Halt, Outcome, Verdict};

/// Masks a service.
pub(super) fn masked(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    mask(call, facts, true)
}

/// Unmasks a service.
pub(super) fn unmasked(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    mask(call, facts, false)
}

fn mask(call: &Call<'_>, facts: &Facts, wanted: bool) -> Result<Verdict, Halt> {
    let service = Service::of(call)?;
    let runtime = call.flag("runtime", false);
    let status = service.status(facts)?;
    if status.way != Some(Way::Systemd) {
        return failure("Service masking not available on this minion");
    }
    let prefix = if runtime { "runtime " } else { "" };
    let is_masked = move |status: &Status| {
        if runtime {
            status.is_runtime_masked
        } else {
            status.is_masked
        }
    };
    let name = service.name.clone();
    let word = if wanted { "masked" } else { "unmasked" };
    if is_masked(&status) == wanted {
        let verb = if wanted { "is" } else { "was" };
        return unchanged(format!("Service {name} {verb} already {prefix}{word}"));
    }
    let changes = one(&format!("{prefix}masked"), old_new(!wanted, wanted));
    let predicted = Outcome::would(
        changes.clone(),
        format!("Service {name} would be {prefix}{word}"),
    );
    let verb = if wanted { "mask" } else { "unmask" };
    let steps = vec![service.mask(verb, runtime)];
    act(predicted, steps, move |complaint, facts| {
        let after = service.status(facts)?;
        if is_masked(&after) == wanted {
            let comment = format!("Service {name} was {prefix}{word}");
            return Ok(Outcome::changed(changes.clone(), comment));
        }
        let why = complaint.unwrap_or_default();
        let text = format!("Failed to {verb} service {name}\n{why}");
        Ok(Outcome::failed(text.trim_end().to_owned()))
    })
}
