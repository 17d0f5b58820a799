//! Host strings and `ssh_config`, compared with recorded answers of the real Fabric.

use std::path::Path;

use serde_json::Value;
use unfurl::testing::host::resolver::{LocationResolver, LoginOptions};
use unfurl::testing::host::ssh_config::{LocalUser, SshConfig, SshConfigFiles};
use unfurl::testing::host::{Address, DEFAULT_PORT, HostParts, Location};

use crate::support::fabric_answers;

fn rows<'a>(corpus: &'a Value, name: &str) -> impl Iterator<Item = (&'a str, &'a Value)> {
    let rows = corpus[name].as_array().unwrap();
    assert!(!rows.is_empty());
    rows.iter().map(|row| (row[0].as_str().unwrap(), &row[1]))
}

#[test]
fn host_strings_are_taken_apart_as_fabric_does() {
    requires!("corpus/fabric");
    let corpus = fabric_answers();
    for (text, expected) in rows(&corpus, "parse_host_string") {
        let HostParts { user, host, port } = HostParts::parse(text);
        let own = serde_json::json!({"user": user, "host": host, "port": port});
        assert_eq!(&own, expected, "{text}");
    }
}

#[test]
fn host_strings_are_filled_in_as_fabric_does_and_none_without_a_host() {
    requires!("corpus/fabric");
    let corpus = fabric_answers();
    let parse = |text: &str| Address::parse(text, "me", DEFAULT_PORT);
    for (text, expected) in rows(&corpus, "normalize") {
        let has_host = expected[1].as_str().is_some_and(|host| !host.is_empty());
        match parse(text) {
            Ok(Address { user, host, port }) => {
                let own = serde_json::json!([user, host, port.to_string()]);
                assert_eq!(&own, expected, "{text}");
            }
            Err(error) => assert!(!has_host, "{text}: {error}"),
        }
    }
    for (text, expected) in rows(&corpus, "normalize_to_string") {
        match (parse(text), expected.as_str()) {
            (Ok(address), Some(expected)) => assert_eq!(address.to_string(), expected, "{text}"),
            (Err(_), None) => {}
            (own, expected) => panic!("{text}: {own:?}, Fabric says {expected:?}"),
        }
    }
}

/// Fabric leaves default values out when it shows an address.
#[test]
fn two_strings_that_fabric_shows_alike_are_one_address() {
    requires!("corpus/fabric");
    let corpus = fabric_answers();
    let parse = |text: &str| Address::parse(text, "me", DEFAULT_PORT).unwrap();
    for (text, expected) in rows(&corpus, "denormalize") {
        assert_eq!(parse(text), parse(expected.as_str().unwrap()), "{text}");
    }
}

/// A resolver with Fabric's settings (`env`) and its `ssh_config` file.
fn resolver_of(env: &Value, file: &Path, local: &LocalUser) -> LocationResolver {
    let is_used = env["use_ssh_config"] != false;
    let files = if is_used {
        SshConfigFiles::Only(file.to_owned())
    } else {
        SshConfigFiles::None
    };
    let login = LoginOptions {
        user: env["user"].as_str().map(str::to_owned),
        port: env["port"].as_str().map(|port| port.parse().unwrap()),
        identity_files: vec!["/k/mine".into()],
        ..LoginOptions::default()
    };
    LocationResolver::new(
        SshConfig::read(&files, local).unwrap(),
        login,
        local.clone(),
    )
}

/// The port option takes precedence over the configuration, as in the first version of Fabric. Later versions
/// have it the other way round.
#[test]
fn configurations_count_as_they_do_for_fabric_except_for_the_port_option() {
    requires!("corpus/fabric");
    let corpus = fabric_answers();
    let cases = &corpus["ssh_config"];
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config");
    std::fs::write(&file, cases["config"].as_str().unwrap()).unwrap();
    let local = LocalUser {
        user: "me".to_owned(),
        home: "~".into(),
        ..LocalUser::default()
    };
    let mut differences = Vec::new();
    for case in cases["cases"].as_array().unwrap() {
        let env = &case["env"];
        let book = resolver_of(env, &file, &local);
        let text = case["host_string"].as_str().unwrap();
        let Ok(Location::Ssh(own)) = book.locate(text) else {
            panic!("{case}");
        };
        let keys: Vec<String> = own
            .identities
            .files
            .iter()
            .map(|file| file.display().to_string())
            .collect();
        assert_eq!(serde_json::json!(keys), case["keys"], "{case}");
        let forwards = if own.forward_agent { "yes" } else { "no" };
        assert_eq!(forwards, case["forwardagent"], "{case}");
        let Address { user, host, port } = &own.address;
        let expected = case["user_host_port"].as_array().unwrap();
        assert_eq!(
            (user, host),
            (&string(&expected[0]), &string(&expected[1])),
            "{case}"
        );
        if string(&expected[2]) != port.to_string() {
            assert_eq!(
                (env["port"].as_str(), *port),
                (Some("4444"), 4444),
                "{case}"
            );
            assert!(!text.contains(':'), "{case}");
            differences.push(text);
        }
    }
    assert_eq!(
        differences,
        [
            "foo", "u@foo", "bar", "other", "foo", "u@foo", "bar", "other"
        ]
    );
}

fn string(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}
