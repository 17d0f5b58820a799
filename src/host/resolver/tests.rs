use super::*;
use crate::host::ssh_config::{LocalUser, SshConfig, SshConfigFiles};
use crate::host::{Destination, Location, Route};
use crate::system::env::Env;
use crate::system::fs;
use std::path::{Path, PathBuf};

fn local(home: &Path) -> LocalUser {
    let env: Env = [("SSH_AUTH_SOCK".to_owned(), "/agent".to_owned())]
        .into_iter()
        .collect();
    LocalUser {
        user: "me".to_owned(),
        uid: 7,
        home: home.to_path_buf(),
        host: "here".to_owned(),
        env,
    }
}

fn book(text: &str, login: LoginOptions) -> LocationResolver {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config");
    fs::write_plain(&path, text.as_bytes(), None).unwrap();
    let local = local(Path::new("/home/me"));
    let config = SshConfig::read(&SshConfigFiles::Only(path), &local).unwrap();
    LocationResolver::new(config, login, local)
}

fn ssh(book: &LocationResolver, text: &str) -> Destination {
    match book.locate(text) {
        Ok(Location::Ssh(destination)) => destination.as_ref().clone(),
        other => panic!("{text}: {other:?}"),
    }
}

/// Returns the address and, with it, the addresses of the jump hosts.
fn route_text(book: &LocationResolver, text: &str) -> String {
    let destination = match book.locate(text) {
        Ok(Location::Ssh(destination)) => destination,
        Ok(other) => return other.to_string(),
        Err(error) => return format!("error: {error}"),
    };
    let shown = |destination: &Destination| match &destination.route {
        Route::Direct => destination.address.to_string(),
        Route::Command(command) => format!("({command}) {}", destination.address),
        Route::Jumps(_) => format!("… {}", destination.address),
    };
    match &destination.route {
        Route::Jumps(hops) => {
            let hops: Vec<String> = hops.iter().map(|hop| shown(hop)).collect();
            format!("{} > {}", hops.join(" > "), destination.address)
        }
        _ => shown(&destination),
    }
}

#[test]
fn the_host_string_goes_before_options_and_these_before_the_configuration() {
    let text = "Host foo\nHostName Real.example\nUser conf\nPort 2022\n";
    let plain = book(text, LoginOptions::default());
    assert_eq!(route_text(&plain, "foo"), "conf@real.example:2022");
    assert_eq!(route_text(&plain, " u@foo:1 "), "u@real.example:1");
    assert_eq!(ssh(&plain, "foo").name, "foo");
    assert_eq!(route_text(&plain, "bar"), "me@bar:22");
    let login = LoginOptions {
        user: Some("opt".to_owned()),
        port: Some(4444),
        ..LoginOptions::default()
    };
    let with_options = book(text, login);
    assert_eq!(route_text(&with_options, "foo"), "opt@real.example:4444");
    assert_eq!(route_text(&with_options, "u@foo:1"), "u@real.example:1");
}

#[test]
fn this_machine_and_containers_have_names_of_their_own() {
    let book = book("", LoginOptions::default());
    assert_eq!(book.locate("@local"), Ok(Location::Local));
    assert_eq!(route_text(&book, "local"), "me@local:22");
    let Ok(Location::Container(container)) = book.locate("@podman/web") else {
        panic!("no container");
    };
    assert_eq!(
        (container.engine.as_str(), container.name.as_str()),
        ("podman", "web")
    );
    for text in ["@docker/", "@docker/-x", "@rocket/web"] {
        assert!(
            route_text(&book, text).contains("is not a container: write"),
            "{text}"
        );
    }
    insta::assert_snapshot!(route_text(&book, "user@"), @r#"error: "user@" has no host name: write `[user@]host[:port]`"#);
    insta::assert_snapshot!(route_text(&book, "h:x"), @r#"error: the port of "h:x" is `x`, which is not a number from 1 to 65535"#);
}

#[test]
fn jumps_are_looked_up_too_and_each_is_reached_from_the_one_before() {
    let text = "Host end\nProxyJump a@one:5,two\n\
        Host one\nHostName One.example\nUser x\nProxyJump zero\n\
        Host two\nUser y\nProxyJump ignored\n\
        Host zero\nProxyCommand nc %h %p\n\
        Host plain\nProxyJump none\n";
    let plain = book(text, LoginOptions::default());
    assert_eq!(
        route_text(&plain, "end"),
        "(nc zero 22) me@zero:22 > a@one.example:5 > y@two:22 > me@end:22"
    );
    assert_eq!(route_text(&plain, "zero"), "(nc zero 22) me@zero:22");
    assert_eq!(route_text(&plain, "plain"), "me@plain:22");
    let login = LoginOptions {
        gateway: Some("gate:7".to_owned()),
        user: Some("u".to_owned()),
        ..LoginOptions::default()
    };
    let gated = book(text, login);
    assert_eq!(route_text(&gated, "plain"), "u@gate:7 > u@plain:22");
    assert_eq!(route_text(&gated, "zero"), "u@gate:7 > u@zero:22");
    assert_eq!(route_text(&gated, "gate:7"), "u@gate:7");
    assert_eq!(
        route_text(&gated, "end"),
        "u@gate:7 > me@zero:22 > a@one.example:5 > y@two:22 > u@end:22"
    );
}

#[test]
fn a_way_in_a_circle_is_an_error() {
    let everywhere = book("Host *\nProxyJump bastion\n", LoginOptions::default());
    let error = everywhere.locate("web").unwrap_err();
    insta::assert_snapshot!(error, @"the jump hosts of `me@web:22` form a cycle: me@web:22 → me@bastion:22 → me@bastion:22");
    assert!(error.hint().is_some());
    let endless = book("Host *\nProxyJump a%h\n", LoginOptions::default());
    insta::assert_snapshot!(endless.locate("web").unwrap_err(), @"the route to `me@web:22` has more than 16 jump hosts");
}

#[test]
fn keys_of_options_go_before_those_of_the_configuration() {
    let text = "Host foo\nIdentityFile ~/.ssh/foo\nIdentityAgent none\nCertificateFile ~/c\nHost none\nIdentityFile none\n\
        Host *\nIdentityFile ~/.ssh/%r\n";
    let login = LoginOptions {
        identity_files: vec!["/k/mine".into()],
        ..LoginOptions::default()
    };
    let foo = ssh(&book(text, login), "foo").identities;
    let files = ["/k/mine", "/home/me/.ssh/foo", "/home/me/.ssh/me"].map(PathBuf::from);
    assert_eq!(foo.files, files);
    assert_eq!(
        (foo.agent, foo.certificates),
        (None, vec!["/home/me/c".into()])
    );
    let none = ssh(
        &book("Host none\nIdentityFile none", LoginOptions::default()),
        "none",
    );
    assert!(none.identities.files.is_empty());
    assert_eq!(none.identities.agent, Some("/agent".into()));
    let usual = ssh(&book("", LoginOptions::default()), "a");
    assert_eq!(usual.identities.files.len(), 5);
    assert_eq!(usual.known_hosts[0], Path::new("/home/me/.ssh/known_hosts"));
    let bare = LoginOptions {
        default_keys: DefaultKeys::Skip,
        agent: AgentUse::Ignore,
        ..LoginOptions::default()
    };
    let bare = ssh(&book("UserKnownHostsFile none", bare), "a");
    assert_eq!(
        (bare.identities.files.len(), bare.identities.agent),
        (0, None)
    );
    assert_eq!(bare.known_hosts[0], Path::new("/dev/null"));
}

#[test]
fn ten_thousand_hosts_are_looked_up_in_one_book() {
    let text = "Host web*\nUser w\nHost *.example\nProxyJump bastion\nHost bastion\nPort 9\n";
    let book = book(text, LoginOptions::default());
    for number in 0..10_000 {
        let shown = route_text(&book, &format!("web{number}.example"));
        assert_eq!(shown, format!("me@bastion:9 > w@web{number}.example:22"));
    }
}
