//! A loop over the calls of a command: a fault at each, then the check of what is left.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::after::{After, check};
use super::library::Disturbance;
use super::power::{Disk, Loss, differences, lay};
use super::trace::Record;
use super::world::{Checked, World};

/// The number of faults that a loop tries at the same time.
const THREADS: usize = 2;

/// A command whose calls a loop disturbs.
pub(super) struct Case {
    pub(super) name: &'static str,
    /// The state before the command.
    pub(super) base: World,
    pub(super) words: &'static [&'static str],
    pub(super) after: After,
    /// The variants of the fault.
    pub(super) faults: &'static [Fault],
    /// Short loops try each n-th of the calls that touch `.git`.
    pub(super) each: usize,
}

/// A way to disturb a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// All processes die before the call.
    Kill,
    /// All processes die in the middle of the call.
    Half,
    /// The machine loses power before the call, and starts again.
    Cut(Loss),
    /// The call fails.
    Fail(i32),
}

impl Fault {
    fn text(self) -> String {
        format!("{self:?}")
            .to_lowercase()
            .replace(['(', ')'], "-")
            .trim_end_matches('-')
            .to_owned()
    }

    /// Whether the fault leaves another state after a call than before the call.
    fn differs_after(self, call: &Record) -> bool {
        match self {
            Self::Kill => call.result >= 0 && !["open", "sync", "chmod"].contains(&&*call.kind),
            Self::Cut(_) => call.result >= 0 && !["open", "chmod"].contains(&&*call.kind),
            Self::Half | Self::Fail(_) => true,
        }
    }

    fn disturbance(self, at: usize) -> Disturbance {
        match self {
            Self::Kill | Self::Cut(_) => Disturbance::Kill(at),
            Self::Half => Disturbance::Half(at),
            Self::Fail(errno) => Disturbance::Fail(at, errno),
        }
    }
}

/// Runs a loop and panics with all bad states.
#[expect(clippy::print_stderr, reason = "a loop tells its figures")]
pub(super) fn run(case: &Case) {
    let (run, calls) = case.base.copied().disturbed(Disturbance::Count, case.words);
    let run = run.succeeds();
    let faults = wanted(case, &calls);
    let next = AtomicUsize::new(0);
    let bad = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Some((at, fault)) = faults.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(reason) = survives(case, *at, *fault) {
                        bad.lock().unwrap().push((*at, *fault, reason));
                    }
                }
            });
        }
    });
    let mut bad = bad.into_inner().unwrap();
    bad.sort_by_key(|(at, fault, _)| (*at, fault.text()));
    let mut figures: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for (_, fault) in &faults {
        figures.entry(fault.text()).or_default().1 += 1;
    }
    for (_, fault, _) in &bad {
        figures.entry(fault.text()).or_default().0 += 1;
    }
    let figures: Vec<String> = figures
        .iter()
        .map(|(fault, (bad, all))| format!("{fault}: {bad} of {all} bad"))
        .collect();
    let title = format!(
        "{} with {} calls: {}",
        case.name,
        calls.len(),
        figures.join(", ")
    );
    eprintln!("{title}");
    let lines: Vec<String> = bad
        .iter()
        .map(|(at, fault, reason)| {
            let call = calls.get(at - 1).map(Record::text).unwrap_or_default();
            let fault = fault.text();
            format!(
                "again with: UNFURL_LOOPS='shim:{}:{at}:{fault}' cargo test --test it shim::\ncall {at}: \
                 {call}\n{reason}",
                case.name
            )
        })
        .collect();
    assert!(lines.is_empty(), "{title}\n{}\n{run}", lines.join("\n\n"));
}

/// The faults to try. Short loops try every 20th call, and each one that touches `.git`.
fn wanted(case: &Case, calls: &[Record]) -> Vec<(usize, Fault)> {
    let loops = std::env::var("UNFURL_LOOPS").unwrap_or_default();
    if let Some(one) = loops.strip_prefix("shim:") {
        return one_fault(case, one).into_iter().collect();
    }
    let step = loops
        .strip_prefix("every:")
        .map_or(20.min(calls.len() / 16), |step| step.parse().unwrap());
    // The last place is after all calls.
    let mut of_git = 0;
    let places = (1..=calls.len() + 1).filter(|at| {
        let in_git = calls.get(at - 1).is_some_and(Record::is_in_git);
        of_git += usize::from(in_git);
        let in_git = in_git && of_git % case.each == 0;
        loops == "full" || at.is_multiple_of(step) || in_git || *at > calls.len()
    });
    let mut faults = Vec::new();
    for (turn, at) in places.enumerate() {
        if loops == "full" {
            faults.extend(case.faults.iter().map(|fault| (at, *fault)));
        } else {
            // A short loop takes turns through the variants.
            let fault = case.faults[turn % case.faults.len()];
            let before = at.checked_sub(2).and_then(|place| calls.get(place));
            if before.is_none_or(|call| fault.differs_after(call)) {
                faults.push((at, fault));
            }
        }
    }
    faults
}

fn one_fault(case: &Case, text: &str) -> Option<(usize, Fault)> {
    let mut words = text.split(':');
    if words.next() != Some(case.name) {
        return None;
    }
    let at = words.next()?.parse().ok()?;
    let name = words.next()?;
    let mut all = case.faults.iter();
    all.find(|fault| fault.text() == name)
        .map(|fault| (at, *fault))
}

/// Disturbs the command at a call and checks the state that is left.
fn survives(case: &Case, at: usize, fault: Fault) -> Checked {
    let world = case.base.copied();
    let user = world.user_work()?;
    let mut disk = Disk::of(&world.clone_folder());
    let (run, records) = world.disturbed(fault.disturbance(at), case.words);
    let ended = matches!(fault, Fault::Fail(_)) || run.code == 0;
    if !ended && run.code >= 0 {
        return Err(format!("the command ended by itself: {run}"));
    }
    disk.replay(&records);
    let unseen = differences(&disk.now(), &world.tree());
    if !unseen.is_empty() {
        return Err(format!("changes that the library does not see: {unseen:?}"));
    }
    if let Fault::Cut(loss) = fault {
        lay(
            &disk.cut(loss, u64::try_from(at).unwrap()),
            &world.clone_folder(),
        );
        world.set_boot("second");
    }
    let mut after = case.after;
    after.with_clone |= at.is_multiple_of(8);
    check(&world, &user, after).map_err(|reason| format!("{reason}\nthe command before: {run}"))
}
