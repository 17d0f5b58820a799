//! The library and the model see what they claim to see.

use super::library::Disturbance;
use super::power::{Disk, differences};
use super::world::World;

/// The model knows every file after a replay, so no change of the program, of libgit2 or of git bypasses the library.
#[test]
fn the_library_sees_each_change_of_the_program_and_of_git() {
    let world = World::new().with_user_work();
    for words in [
        &["deploy", "--approve", "--dirty", "ok", "--commit", "--push"][..],
        &["teardown", "--approve", "--dirty", "ok", "--commit"],
        &["commit", ".", "--no-edit", "--push"],
    ] {
        let mut disk = Disk::of(&world.clone_folder());
        let (run, records) = world.disturbed(Disturbance::Count, words);
        let run = run.succeeds();
        assert!(!records.is_empty(), "{run}");
        disk.replay(&records);
        assert_eq!(differences(&disk.now(), &world.tree()), [""; 0], "{run}");
    }
}
