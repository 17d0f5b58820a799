use super::*;
use crate::diagnostic::{Diagnostics, Severity, Sources};
use crate::host::resolver::TargetRoute;
use crate::secret::Keys;

fn parse(text: &str) -> Result<(Inventory, Diagnostics), Diagnostics> {
    let mut sources = Sources::default();
    let source = sources.add("hosts", text, None);
    Inventory::parse(source, InventoryFormat::Unknown, &sources, &Keys::default())
}

fn read(text: &str) -> Inventory {
    let (inventory, problems) = parse(text).unwrap();
    assert!(problems.is_empty(), "{problems:?}");
    inventory
}

/// Returns the errors or warnings that parsing a text reports.
fn problems(text: &str) -> String {
    let problems = match parse(text) {
        Ok((_, problems)) | Err(problems) => problems,
    };
    let shown = problems.iter().map(|problem| match problem.severity {
        Severity::Error => problem.message.clone(),
        _ => format!("warning: {}", problem.message),
    });
    shown.collect::<Vec<_>>().join("\n")
}

fn hosts(inventory: &Inventory, role: &str) -> Vec<String> {
    let lookup = inventory.hosts_of(role).unwrap();
    lookup
        .hosts()
        .unwrap()
        .iter()
        .map(ToString::to_string)
        .collect()
}

fn reach(inventory: &Inventory, host: &str) -> HostAccess {
    inventory.host_access(host).unwrap().unwrap()
}

const OWN: &str = "
data: {domain: example.com}
hosts:
  db1: {host: 10.0.0.5, user: ops, port: 2222, key: ~/.ssh/ops, jump: [a, b@c:1]}
  web[01:03]:
  here: {connection: local}
  box: {connection: podman, host: web-1, become: {user: app, password: hunter2}}
  far: {proxy_command: \"nc 'x' %h\", key: [k1, k2], password: 123}
groups:
  db: [db1, 'db[5:6]']
  web: {hosts: ['web[02:03]', extra], user: deploy, data: {http_port: 80}}
  site: {children: [db, web]}
  live: {command: ./live-hosts.sh}
  ready: {expression: '.::.instances'}
  nobody:
";

#[test]
fn our_own_form_has_hosts_groups_and_roles_that_are_asked_for_later() {
    let inventory = read(OWN);
    let names: Vec<&str> = inventory.hosts().map(AsRef::as_ref).collect();
    let expected = [
        "db1", "web01", "web02", "web03", "here", "box", "far", "db5", "db6", "extra",
    ];
    assert_eq!(names, expected);
    assert_eq!(
        hosts(&inventory, "site"),
        ["db1", "db5", "db6", "web02", "web03", "extra"]
    );
    assert!(hosts(&inventory, "nobody").is_empty());
    assert_eq!(
        hosts(&inventory, "ungrouped"),
        ["web01", "here", "box", "far"]
    );
    assert_eq!(
        inventory.hosts_of("live"),
        Ok(InventoryRole::Command("./live-hosts.sh".into()))
    );
    assert!(matches!(
        inventory.hosts_of("ready"),
        Ok(InventoryRole::Expression(_))
    ));
    let Ok(InventoryRole::Mapping { data, .. }) = inventory.hosts_of("web") else {
        panic!("no data");
    };
    assert_eq!(data["http_port"].as_int(), Some(80));
    assert_eq!(
        inventory.data("web02")["domain"].as_str(),
        Some("example.com")
    );
    let error = inventory.hosts_of("wbe").unwrap_err();
    insta::assert_snapshot!(error, @"unknown role `wbe`");
    assert_eq!(error.hint.as_deref(), Some("did you mean `web`?"));
}

#[test]
fn what_is_said_of_a_host_is_how_it_is_reached() {
    let inventory = read(OWN);
    let ConnectionMethod::Ssh(db1) = reach(&inventory, "db1").method else {
        panic!("not over SSH");
    };
    assert_eq!(
        (db1.name.as_str(), db1.host.as_str(), db1.port),
        ("db1", "10.0.0.5", Some(2222))
    );
    assert_eq!(
        (db1.user.as_deref(), db1.identity_files),
        (Some("ops"), vec!["~/.ssh/ops".into()])
    );
    assert_eq!(
        db1.route,
        Some(TargetRoute::Jumps(vec!["a".into(), "b@c:1".into()]))
    );
    let ConnectionMethod::Ssh(far) = reach(&inventory, "far").method else {
        panic!("not over SSH");
    };
    assert_eq!(far.route, Some(TargetRoute::Command("nc 'x' %h".into())));
    assert_eq!(far.identity_files, ["k1", "k2"]);
    assert_eq!(
        far.password.as_ref().map(crate::host::Secret::reveal),
        Some("123")
    );
    assert_eq!(reach(&inventory, "here").method, ConnectionMethod::Local);
    let boxed = reach(&inventory, "box");
    let name = "web-1".to_owned();
    assert_eq!(
        boxed.method,
        ConnectionMethod::Container {
            engine: "podman",
            name
        }
    );
    let escalation = boxed.escalation.unwrap();
    assert_eq!(
        (escalation.method.as_str(), escalation.user.as_str()),
        ("sudo", "app")
    );
    assert!(!format!("{inventory:?} {escalation:?} {far:?}").contains("hunter2"));
    assert!(inventory.host_access("nobody").is_none());
}

#[test]
fn arguments_of_ssh_are_understood_as_far_as_they_say_where_to_go() {
    let text = "a ansible_ssh_common_args='-o ProxyCommand=\"ssh -W %h:%p j\" -o ControlMaster=auto -X -oUser=u -p 7'\n\
        b ansible_ssh_common_args='-J j1,j2 -o StrictHostKeyChecking=no'\n\
        c ansible_connection=winrm\nd ansible_host='{{ x }}'\ne ansible_port=x\n";
    let inventory = read(text);
    let a = reach(&inventory, "a");
    assert_eq!(a.ignored, ["`-X` of `ansible_ssh_common_args`"]);
    let ConnectionMethod::Ssh(a) = a.method else {
        panic!("not over SSH")
    };
    assert_eq!(a.route, Some(TargetRoute::Command("ssh -W %h:%p j".into())));
    assert_eq!((a.user.as_deref(), a.port), (Some("u"), Some(7)));
    let b = reach(&inventory, "b");
    assert_eq!(
        b.ignored,
        ["`-o StrictHostKeyChecking=no` of `ansible_ssh_common_args`"]
    );
    let error = |host: &str| {
        inventory
            .host_access(host)
            .unwrap()
            .unwrap_err()
            .to_string()
    };
    insta::assert_snapshot!(error("c"), @"the host `c` is reached by `winrm`, which is not supported");
    insta::assert_snapshot!(error("d"), @"`ansible_host` of the host `d` is a template, which inventories do not evaluate");
    insta::assert_snapshot!(error("e"), @"`ansible_port` of the host `e` is not a number from 1 to 65535");
}

#[test]
fn what_is_wrong_with_a_file_is_said_with_its_place() {
    let shown = problems("[web:odd]\na b\n[x:vars]\nno\n[y:children]\nz\n");
    insta::assert_snapshot!(shown, @r"
    `[web:odd]` is not a valid section: write `[group]`, `[group:vars]` or `[group:children]`
    `b` is not a host variable: write `name=value`
    `no` is not a group variable: write `name=value`
    the group `x` is not declared
    the group `z` is not declared
    ");
    let shown = problems("[w]\nw[01:9]\nw[a:9]\nw[:]\nw:x\nw 'open\n");
    insta::assert_snapshot!(shown, @r"
    `w[01:9]` has an invalid host range: both ends must have the same number of digits if the first starts with `0`
    `w[a:9]` has an invalid host range: the ends are neither numbers nor letters
    `w[:]` has an invalid host range: the end is missing
    the port of `w:x` is not a number from 1 to 65535
    a quote is not closed
    ");
    insta::assert_snapshot!(problems("n[1:9999999]"), @"the inventory has more than 1000000 hosts");
    let circle = problems("[a:children]\nb\n[b:children]\na\n");
    insta::assert_snapshot!(circle, @"the group `a` is among its own children");
    insta::assert_snapshot!(problems("web: {hosts: a, odd: 1}"), @"warning: `odd` is not a key of a group; it is ignored");
    let vault = problems("all: {hosts: {a: {x: !vault abc}}}");
    insta::assert_snapshot!(vault, @"this `!vault` value cannot be decrypted: its first line is not `$ANSIBLE_VAULT;1.1;AES256` or `$ANSIBLE_VAULT;1.2;AES256;ID`");
    let own = problems("hosts: {a: {odd: 1}}\ngroups: {b: {children: [c]}}");
    insta::assert_snapshot!(own, @r"
    warning: `odd` is not a key of a host or a group; it is ignored
    the group `c` is not declared
    ");
}

#[test]
fn a_hundred_thousand_hosts_in_a_group_are_read_and_looked_up() {
    let inventory = read("[web]\nweb[1:100000] a=1\n[site:children]\nweb\n[site:vars]\nb=2\n");
    assert_eq!(hosts(&inventory, "site").len(), 100_000);
    for host in inventory.hosts() {
        assert_eq!(inventory.data(host).len(), 2);
    }
}

#[test]
fn what_is_added_later_goes_before_what_was_there() {
    let mut inventory = read("[web]\na ansible_user=x\n[web:vars]\ny=1\n");
    let other = read("hosts: {a: {user: z}, b: }\ngroups: {web: [b], new: {children: [web]}}\n");
    inventory.extend(&other).unwrap();
    assert_eq!(inventory.data("a")["ansible_user"].as_str(), Some("z"));
    assert_eq!(hosts(&inventory, "new"), ["a", "b"]);
    assert_eq!(inventory.data("b")["y"].as_int(), Some(1));
    assert_eq!(hosts(&inventory, "web"), ["a", "b"]);
}

#[test]
fn values_are_literals_of_python() {
    let inventory =
        read("[web]\na hex=0x10 long=1_000 mode=010 big=12345678901234567890 word=yes\n");
    let data = inventory.data("a");
    assert_eq!(data["hex"].as_int(), Some(16));
    assert_eq!(data["long"].as_int(), Some(1000));
    for (name, text) in [
        ("mode", "010"),
        ("big", "12345678901234567890"),
        ("word", "yes"),
    ] {
        assert_eq!(data[name].as_str(), Some(text));
    }
}
