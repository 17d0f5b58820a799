//! Steps that both new users and changed ones need.

use super::desired::{self, Desired};
use super::hash::Password;
use crate::converge::module::accounts::{GECOS, User};
use crate::converge::module::command::run;
use crate::host::change::{Change, Run};
use crate::host::fact::Domain;
use crate::text::quoted;

/// A command that changes accounts.
pub(super) fn account_change(text: String) -> Change {
    run(text, [Domain::Accounts])
}

/// The long name with the parts that are wanted, and those that are there.
pub(super) fn long_name(desired: &Desired, user: Option<&User>) -> String {
    let part = |place: usize| {
        let is = || user.map(|user| user.gecos[place].clone());
        desired.gecos[place].clone().or_else(is).unwrap_or_default()
    };
    let parts: Vec<String> = (0..GECOS.len()).map(part).collect();
    parts.join(",").trim_end_matches(',').to_owned()
}

/// Sets the password. It goes through a pipe: a list of processes never shows it.
pub(super) fn password_step(desired: &Desired) -> Option<Change> {
    let (text, stdin) = match desired.password.as_ref()? {
        Password::Empty => {
            return Some(account_change(format!(
                "passwd -d {}",
                quoted(&desired.name)
            )));
        }
        Password::Hash(hash) => ("chpasswd -e", hash),
        Password::Plain(password) => ("chpasswd -c SHA512", password),
    };
    let mut run = Run::new(text).touching([Domain::Accounts]);
    run.stdin = Some(format!("{}:{stdin}\n", desired.name).into_bytes());
    Some(Change::Run(run))
}

/// Sets the days of the password that are wanted.
pub(super) fn days_step(desired: &Desired, is_wanted: impl Fn(&str) -> bool) -> Option<Change> {
    let mut text = String::from("chage");
    for (key, option, place) in desired::DAYS {
        if let Some(days) = desired.days[place].filter(|_| is_wanted(key)) {
            text = format!("{text} {option} {days}");
        }
    }
    (text != "chage").then(|| account_change(format!("{text} {}", quoted(&desired.name))))
}
