//! Containers, entered through a container engine. Most test machines have none, so a script acts as the
//! engine: it runs the command in a folder of its own.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use unfurl::testing::host::{
    Action, ActionResult, Command, ConnectionPool, Container, Content, Exit, Get, GetSettings,
    Location, Put, PutSettings,
};

use super::sshd::{Sshd, call, pooled, sh};

/// Writes an engine that knows a container named `box`.
fn engine(folder: &Path) -> String {
    let file = folder.join("engine");
    let text = format!(
        "#!/bin/sh\n[ \"$1 $2 $3\" = 'exec -i box' ] || {{ echo \"no container $3\" >&2; exit 125; }}\n\
         shift 3\ncd '{}'\nINSIDE=yes exec \"$@\"\n",
        folder.display()
    );
    fs::write(&file, text).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    file.to_string_lossy().into_owned()
}

fn container(engine: &str, name: &str, on: Location) -> Location {
    Location::Container(Arc::new(Container {
        name: name.to_owned(),
        engine: engine.to_owned(),
        location: on,
    }))
}

async fn run(
    pool: &ConnectionPool,
    place: &Location,
    command: Command,
) -> unfurl::testing::host::RunOutput {
    let (_stop, call) = call();
    match pool.perform(place, &Action::Run(command), call).await {
        ActionResult::Run(output) => output,
        other => panic!("no command: {other:?}"),
    }
}

#[test]
fn commands_and_files_go_into_containers_here_and_on_hosts() {
    requires!("sshd");
    let sshd = Sshd::start();
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(folder.path());
    let places = [
        container(&engine, "box", Location::Local),
        container(&engine, "box", Location::Ssh(Arc::new(sshd.host()))),
    ];
    pooled(async |pool| {
        for place in &places {
            let mut command = sh("echo $INSIDE $A; cat; echo err >&2; exit 4");
            command.env.add("A", "it's");
            command.stdin = Some(b"in\n".to_vec());
            let output = run(&pool, place, command).await;
            assert_eq!(output.stdout.text(), "yes it's\nin\n", "{output:?}");
            assert_eq!(
                (output.exit, output.stderr.text().as_str()),
                (Exit::Code(4), "err\n")
            );
            let action = Action::Put(Put {
                source: Content::Bytes(b"text".to_vec()),
                target: "file".into(),
                mode: Some(0o600),
                settings: PutSettings::default(),
                time_limit: None,
            });
            let (_stop, first) = call();
            let result = pool.perform(place, &action, first).await;
            assert!(result.exit().is_ok(), "{result:?}");
            let action = Action::Get(Get {
                source: "file".into(),
                target: folder.path().join("back"),
                max_bytes: None,
                settings: GetSettings::default(),
                time_limit: None,
            });
            let (_stop, second) = call();
            let result = pool.perform(place, &action, second).await;
            assert!(result.exit().is_ok(), "{result:?}");
            assert_eq!(fs::read(folder.path().join("back")).unwrap(), b"text");
            let mut command = sh("sleep 300");
            command.time_limit = Some(Duration::from_millis(300));
            let output = run(&pool, place, command).await;
            assert_eq!(output.exit, Exit::TimedOut);
        }
    });
}

#[test]
fn a_missing_container_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(folder.path());
    pooled(async |pool| {
        let output = run(
            &pool,
            &container(&engine, "none", Location::Local),
            sh("true"),
        )
        .await;
        insta::assert_snapshot!(output.exit, @"`none` cannot be entered: no container none");
        let place = container("no-such-engine", "box", Location::Local);
        let output = run(&pool, &place, sh("true")).await;
        insta::assert_snapshot!(output.exit, @"`no-such-engine` was not found");
    });
}
