//! A user who runs `git add` and `git commit` while jobs commit their records (D3).

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

use super::world::World;
use crate::support::is_full;

/// What the user's loop has done.
#[derive(Debug, Default)]
struct Acknowledged {
    /// The content that git has accepted, by file.
    added: BTreeMap<String, String>,
    adds: usize,
    commits: usize,
}

#[test]
fn jobs_beside_a_user_who_adds_and_commits_lose_nothing() {
    let (jobs, files) = if is_full() { (100, 20_000) } else { (6, 3000) };
    let world = World::new();
    for file in 0..files {
        world.env.write(&format!("a/files/{file}"), "first\n");
    }
    world.git(&["add", "-A"]);
    world.git(&["commit", "-q", "-m", "files"]);
    let ended = AtomicBool::new(false);
    let mut problems = String::new();
    let user = std::thread::scope(|scope| {
        let user = scope.spawn(|| add_and_commit(&world, files, &ended));
        for job in 0..jobs {
            let words = [
                "deploy",
                "--approve",
                "--dirty",
                "ok",
                "--commit",
                "--force",
                "--instance",
                "n0",
            ];
            let run = world.unfurl(&words);
            if run.code != 0 || run.stderr.contains("git reset") {
                write!(problems, "job {job}: {run}\n\n").unwrap();
            }
        }
        ended.store(true, Ordering::Relaxed);
        user.join().unwrap()
    });
    let lost: Vec<&String> = user
        .added
        .iter()
        .filter(|(file, text)| world.git(&["show", &format!(":{file}")]) != text.trim_end())
        .map(|(file, _)| file)
        .collect();
    let staged = world.git(&["diff", "--cached", "--name-status", "--", "ens"]);
    let deleted = world.git(&["log", "--diff-filter=D", "--name-only", "--format=%s"]);
    let title = format!(
        "{} of {} acknowledged adds lost, {} commits",
        lost.len(),
        user.adds,
        user.commits
    );
    eprint_figures(&title);
    assert!(user.adds > jobs, "{title}");
    assert!(
        lost.is_empty() && staged.is_empty() && deleted.is_empty() && problems.is_empty(),
        "{title}\nstaged: {staged}\ndeleted by a commit: {deleted}\n{problems}"
    );
    assert_eq!(
        world.git(&["fsck", "--strict", "--no-progress", "--no-dangling"]),
        ""
    );
}

#[expect(clippy::print_stderr, reason = "a loop tells its figures")]
fn eprint_figures(title: &str) {
    eprintln!("{title}");
}

/// Changes and adds one file after the other, and commits after every tenth, until the jobs have ended.
fn add_and_commit(world: &World, files: usize, ended: &AtomicBool) -> Acknowledged {
    let mut done = Acknowledged::default();
    for turn in 0.. {
        if ended.load(Ordering::Relaxed) {
            break;
        }
        let (file, text) = (format!("files/{}", turn % files), format!("turn {turn}\n"));
        world.env.write(&format!("a/{file}"), &text);
        // Git refuses while another process holds a lock; then nothing was promised.
        if world.try_git(&["add", &file]).is_ok() {
            done.adds += 1;
            done.added.insert(file, text);
        }
        if turn % 10 == 9 && world.try_git(&["commit", "-q", "-m", "work"]).is_ok() {
            done.commits += 1;
        }
    }
    done
}
