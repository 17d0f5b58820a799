//! Transfers of files and folders to and from hosts.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use unfurl::testing::host::{
    Action, Content, Destination, Exit, Get, GetSettings, Put, PutSettings,
};

use super::sshd::{Sshd, pooled, transfer};
use crate::support::wait_for_async;

fn put(source: Content, target: &Path, mode: Option<u32>) -> Action {
    Action::Put(Put {
        source,
        target: target.to_string_lossy().into_owned(),
        mode,
        settings: PutSettings::default(),
        time_limit: None,
    })
}

fn get(source: &Path, target: &Path) -> Action {
    Action::Get(Get {
        source: source.to_string_lossy().into_owned(),
        target: target.to_owned(),
        max_bytes: None,
        settings: GetSettings::default(),
        time_limit: None,
    })
}

fn digest(path: &Path) -> String {
    format!("{:?}", Sha256::digest(fs::read(path).unwrap()))
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

/// A server with SFTP, a server without, and a server whose SFTP fails.
fn servers() -> [Sshd; 3] {
    let lines = ["Subsystem other /bin/false", "Subsystem sftp /bin/false"];
    let [without, broken] = lines.map(|line| Sshd::with(1, &[line]));
    [Sshd::start(), without, broken]
}

/// Writes a file of this size whose bytes do not repeat soon.
fn large(path: &Path, size: usize) {
    let mut state = 1_u64;
    let bytes: Vec<u8> = std::iter::repeat_with(|| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        state.to_be_bytes()
    })
    .flatten()
    .take(size)
    .collect();
    fs::write(path, bytes).unwrap();
}

async fn there_and_back(sshd: &Sshd, host: &Destination, size: usize) {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    large(&path("from"), size);
    fs::set_permissions(path("from"), fs::Permissions::from_mode(0o750)).unwrap();
    let pool =
        unfurl::testing::host::ConnectionPool::new(unfurl::testing::host::PoolLimits::default());
    let output = transfer(
        &pool,
        host,
        put(Content::Path(path("from")), &path("there"), None),
    )
    .await;
    assert!(output.exit.is_ok(), "{output:?}\n{}", sshd.log());
    assert_eq!((output.files, output.bytes), (1, size as u64));
    let output = transfer(&pool, host, get(&path("there"), &path("back"))).await;
    assert!(output.exit.is_ok(), "{output:?}");
    assert_eq!(digest(&path("from")), digest(&path("back")));
    assert_eq!((mode(&path("there")), mode(&path("back"))), (0o750, 0o750));
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        3,
        "something is left"
    );
    pool.close().await;
}

#[test]
fn a_large_file_goes_there_and_comes_back_whole() {
    requires!("sshd");
    let sshd = Sshd::start();
    pooled(async |_| Box::pin(there_and_back(&sshd, &sshd.host(), 100_000_000)).await);
}

#[test]
fn a_host_without_sftp_takes_and_gives_files_as_well() {
    requires!("sshd");
    let [_, without, _] = servers();
    pooled(async |_| {
        Box::pin(there_and_back(&without, &without.host(), 3_000_001)).await;
        Box::pin(there_and_back(&without, &without.host(), 0)).await;
    });
}

#[test]
fn a_folder_goes_there_and_comes_back_with_all_that_is_in_it() {
    requires!("sshd");
    for sshd in servers() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir_all(path("from/deep/er")).unwrap();
        fs::create_dir(path("from/empty")).unwrap();
        for number in 0..30 {
            fs::write(
                path(&format!("from/deep/er/it's {number}")),
                number.to_string(),
            )
            .unwrap();
        }
        fs::write(path("from/.hidden"), "x").unwrap();
        pooled(async |pool| {
            let host = sshd.host();
            let there = put(Content::Path(path("from")), &path("there"), None);
            for _ in 0..2 {
                let output = transfer(&pool, &host, there.clone()).await;
                assert_eq!((output.exit, output.files), (Exit::Code(0), 31));
            }
            let output = transfer(&pool, &host, get(&path("there"), &path("back"))).await;
            assert_eq!((output.exit, output.files), (Exit::Code(0), 31));
        });
        assert_eq!(fs::read(path("back/deep/er/it's 29")).unwrap(), b"29");
        assert!(path("back/empty").is_dir() && path("back/.hidden").is_file());
        assert_eq!(fs::read_dir(path("there")).unwrap().count(), 3);
    }
}

#[test]
fn a_file_goes_into_a_folder_and_bytes_replace_a_file() {
    requires!("sshd");
    for sshd in servers() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir(path("there")).unwrap();
        fs::write(path("a"), "one").unwrap();
        pooled(async |pool| {
            let host = sshd.host();
            let output = transfer(
                &pool,
                &host,
                put(Content::Path(path("a")), &path("there"), None),
            )
            .await;
            assert!(output.exit.is_ok(), "{output:?}");
            let bytes = Content::Bytes(b"two".to_vec());
            let output = transfer(
                &pool,
                &host,
                put(bytes.clone(), &path("there/a"), Some(0o600)),
            )
            .await;
            assert!(output.exit.is_ok(), "{output:?}");
            assert_eq!(fs::read(path("there/a")).unwrap(), b"two");
            assert_eq!(mode(&path("there/a")), 0o600);
            let output = transfer(&pool, &host, put(bytes, &path("there"), None)).await;
            assert!(matches!(output.exit, Exit::Failed(_)), "{output:?}");
            let output = transfer(&pool, &host, get(&path("there/a"), &path("x/y/"))).await;
            assert!(output.exit.is_ok(), "{output:?}");
            assert_eq!(fs::read(path("x/y/a")).unwrap(), b"two");
        });
    }
}

#[test]
fn a_missing_source_or_destination_is_reported() {
    requires!("sshd");
    let sshd = Sshd::start();
    let folder = tempfile::tempdir().unwrap();
    pooled(async |pool| {
        let host = sshd.host();
        let shown = |exit: Exit| {
            exit.to_string()
                .replace(&*folder.path().to_string_lossy(), "DIR")
        };
        let output = transfer(&pool, &host, get(&folder.path().join("no"), folder.path())).await;
        insta::assert_snapshot!(shown(output.exit), @"could not read `DIR/no`: no such file or folder");
        let bytes = Content::Bytes(vec![1]);
        let target = folder.path().join("no/such");
        let output = transfer(&pool, &host, put(bytes, &target, None)).await;
        insta::assert_snapshot!(shown(output.exit), @"could not write `DIR/no/such`: no such file or folder");
        let missing = Content::Path(folder.path().join("from"));
        let output = transfer(&pool, &host, put(missing, folder.path(), None)).await;
        insta::assert_snapshot!(shown(output.exit), @"could not read `DIR/from`: no such file or directory");
    });
}

#[test]
fn a_transfer_that_takes_too_long_leaves_nothing_half_there() {
    requires!("sshd");
    let sshd = Sshd::start();
    let folder = tempfile::tempdir().unwrap();
    let from = tempfile::tempdir().unwrap();
    // A sparse file: larger than any machine can send in the time, and without use of disk space.
    let file = fs::File::create(from.path().join("from")).unwrap();
    file.set_len(1 << 40).unwrap();
    let has_begun = || fs::read_dir(folder.path()).unwrap().count() > 0;
    pooled(async |pool| {
        let host = sshd.host();
        // Connect first, because the time limit does not cover the connection.
        let before = put(
            Content::Bytes(vec![1]),
            &from.path().join("connected"),
            None,
        );
        assert!(transfer(&pool, &host, before).await.exit.is_ok());
        let action = Action::Put(Put {
            source: Content::Path(from.path().join("from")),
            target: folder.path().join("there").to_string_lossy().into_owned(),
            mode: None,
            settings: PutSettings::default(),
            time_limit: Some(Duration::from_millis(500)),
        });
        // A part of the file exists before the time is over.
        let seen = wait_for_async("half a file", || has_begun().then_some(()));
        let (output, ()) = tokio::join!(transfer(&pool, &host, action), seen);
        assert_eq!(output.exit, Exit::TimedOut);
    });
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_file_without_a_length_comes_whole() {
    requires!("sshd");
    let sshd = Sshd::start();
    let folder = tempfile::tempdir().unwrap();
    pooled(async |pool| {
        let action = get(Path::new("/proc/cpuinfo"), &folder.path().join("it"));
        let output = transfer(&pool, &sshd.host(), action).await;
        assert!(output.exit.is_ok() && output.bytes > 0, "{output:?}");
    });
}
