//! Template functions and filters that run commands and read files and accounts of the machine, with the answers of
//! Salt 3008.3 and 3006.28.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value as Json, json};

use crate::support::TestEnv;

/// Compares the values of expressions, in which `FOLDER` is the working folder, with recorded answers.
fn check(env: &TestEnv, cases: &[(&str, Json)]) {
    let folder = env.work().display().to_string();
    let state = |(place, (expression, _)): (usize, &(&str, Json))| {
        let expression = expression.replace("FOLDER", &folder);
        format!(
            "state {place}:\n  test.nop:\n  - text: {{{{ ({expression}) | json | yaml_dquote }}}}\n"
        )
    };
    let text: String = cases.iter().enumerate().map(state).collect();
    env.write("states/main.sls", &text);
    let run = env
        .unfurl(["state", "show-low", "main", "--output", "json"])
        .succeeds();
    let shown = run.json();
    let states = shown.as_array().unwrap_or_else(|| panic!("{run}"));
    assert_eq!(states.len(), cases.len(), "{run}");
    for (state, (expression, answer)) in states.iter().zip(cases) {
        let text = state["text"].as_str().unwrap_or_else(|| panic!("{run}"));
        let given: Json = serde_json::from_str(&text.replace(&folder, "FOLDER")).unwrap();
        assert_eq!(given, *answer, "{expression}");
    }
}

/// Checks that an expression, which Salt refuses, is an error with this text.
fn refused(env: &TestEnv, expression: &str, message: &str) {
    env.write("states/main.sls", &format!("{{{{ {expression} }}}}"));
    env.unfurl(["state", "show-low", "main"])
        .exits(1)
        .says(&[message]);
}

#[test]
#[expect(clippy::too_many_lines, reason = "the table of answers is long")]
fn commands_run_with_the_outputs_and_arguments_of_salt() {
    let env = TestEnv::new();
    check(
        &env,
        &[
            (
                "salt['cmd.run']('echo a; echo  \"b  c\"')",
                json!("a; echo b  c"),
            ),
            (
                "salt['cmd.run']('sh -c \"echo a; echo b >&2; echo c\"')",
                json!("a\nb\nc"),
            ),
            ("salt['cmd.run']('printf \"  a  \"')", json!("  a")),
            (
                "salt['cmd.run']('printf \"a  \"', rstrip=False)",
                json!("a  "),
            ),
            ("salt['cmd.run']('false')", json!("")),
            ("salt['cmd.run']('cat', stdin='hello')", json!("hello")),
            (
                "salt['cmd.run']('printenv A', env=[{'A': 'y'}, {'B': 'z'}])",
                json!("y"),
            ),
            ("salt['cmd.run']('printenv A', env={'A': 'x'})", json!("x")),
            (
                "salt['cmd.run']('printenv A', env=\"[{'A':'y'}]\")",
                json!(""),
            ),
            ("salt['cmd.run']('printenv LC_TIME')", json!("C")),
            ("salt['cmd.run']('pwd', '/tmp')", json!("/tmp")),
            (
                "salt['cmd.run']('umask', python_shell=True, umask='077')",
                json!("0077"),
            ),
            (
                "salt['cmd.run']('printenv PATH', prepend_path='/x').split(':')[0]",
                json!("/x"),
            ),
            ("salt['cmd.run']('echo a', hide_output=True)", json!("")),
            ("salt['cmd.run'](['echo', 'a b', 'c'])", json!("a b c")),
            ("salt['cmd.shell']('echo a | cat; false')", json!("a")),
            ("salt['cmd.retcode']('sh -c \"exit 3\"')", json!(3)),
            (
                "salt['cmd.retcode']('sh -c \"exit 3\"', success_retcodes=[3])",
                json!(0),
            ),
            (
                "salt['cmd.retcode']('nosuchprog', python_shell=True)",
                json!(127),
            ),
            (
                "salt['cmd.run_stdout']('sh -c \"echo a; echo b >&2\"')",
                json!("a"),
            ),
            (
                "salt['cmd.run_stderr']('sh -c \"echo a; echo b >&2\"')",
                json!("b"),
            ),
            ("salt['cmd.which']('cd')", Json::Null),
            ("salt['cmd.has_exec']('nosuchprog')", json!(false)),
            (
                "salt['cmd.which_bin'](['nosuchprog', 'sh']) == salt['cmd.which']('sh')",
                json!(true),
            ),
        ],
    );
}

#[test]
fn commands_that_salt_cannot_start_are_errors() {
    let env = TestEnv::new();
    let cases = [
        (
            "salt['cmd.run']('nosuchprog x')",
            "there is no such program",
        ),
        (
            "salt['cmd.retcode']('nosuchprog')",
            "there is no such program",
        ),
        (
            "salt['cmd.run_all']('/etc/passwd')",
            "it may not be executed",
        ),
        ("salt['cmd.run']('')", "the command is empty"),
        (
            "salt['cmd.run']('echo', runas='nosuchuser')",
            "User 'nosuchuser' is not available",
        ),
        (
            "salt['cmd.run']('echo', shell='/no/shell')",
            "The shell /no/shell is not available",
        ),
        (
            "salt['cmd.run']('pwd', cwd='/no/dir')",
            "Specified cwd '/no/dir' either not absolute or does not exist",
        ),
        (
            "salt['cmd.run']('sh -c \"exit 4\"', raise_err=True)",
            "failed with exit code 4",
        ),
        (
            "salt['cmd.run']('echo', template='jinja')",
            "the argument `template` is not supported",
        ),
    ];
    for (expression, message) in cases {
        refused(&env, expression, message);
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "the table of answers is long")]
fn files_are_read_with_the_answers_of_salt() {
    let env = TestEnv::new();
    let folder = env.work();
    fs::write(folder.join("text"), "#root\nb\n").unwrap();
    fs::write(folder.join("empty"), "").unwrap();
    fs::write(folder.join("binary"), [0, 1, 2]).unwrap();
    fs::create_dir_all(folder.join("d/e")).unwrap();
    symlink("text", folder.join("link")).unwrap();
    check(
        &env,
        &[
            ("salt['file.contains']('FOLDER/text', 'root')", json!(true)),
            ("salt['file.contains']('FOLDER/no', 'root')", json!(false)),
            (
                "salt['file.contains_glob']('FOLDER/text', '*root*')",
                json!(true),
            ),
            (
                "salt['file.contains_regex']('FOLDER/text', '^root')",
                json!(false),
            ),
            (
                "salt['file.contains_regex']('FOLDER/text', '^root', lchar='#')",
                json!(true),
            ),
            ("salt['file.access']('FOLDER/text', 'r')", json!(true)),
            ("salt['file.access']('FOLDER/text', 'x')", json!(false)),
            ("salt['file.access']('FOLDER/no', 'f')", json!(false)),
            ("salt['file.readlink']('FOLDER/link')", json!("text")),
            (
                "salt['file.readlink']('FOLDER/link', canonicalize=True)",
                json!("FOLDER/text"),
            ),
            ("salt['file.directory_exists']('~')", json!(true)),
            ("salt['file.path_exists_glob']('FOLDER/te*')", json!(true)),
            ("salt['file.path_exists_glob']('FOLDER/no*')", json!(false)),
            ("salt['file.get_uid']('/etc/passwd')", json!(0)),
            ("salt['file.get_gid']('/etc/passwd')", json!(0)),
            ("salt['file.user_to_uid']('root')", json!(0)),
            ("salt['file.user_to_uid']('nosuchuser')", json!("")),
            ("salt['file.uid_to_user'](0)", json!("root")),
            ("salt['file.gid_to_group'](0)", json!("root")),
            (
                "salt['file.get_hash']('FOLDER/text', 'md5')",
                json!("6b1b341eb244e0fdff61308bc7e4168d"),
            ),
            ("salt['file.get_sum']('FOLDER/no')", json!("File not found")),
            ("'FOLDER/empty' | is_empty", json!(true)),
            ("'FOLDER/no' | is_empty", json!(false)),
            ("'FOLDER/text' | is_text_file", json!(true)),
            ("'FOLDER/binary' | is_text_file", json!(false)),
            ("'FOLDER/binary' | is_bin_file", json!(true)),
            ("'FOLDER/no' | is_bin_file", json!(false)),
            (
                "'FOLDER/d' | list_files | sort",
                json!(["FOLDER/d", "FOLDER/d/e"]),
            ),
            ("'FOLDER/no' | list_files", json!(["FOLDER/no"])),
            (
                "'FOLDER/empty' | file_hashsum('sha1')",
                json!("da39a3ee5e6b4b0d3255bfef95601890afd80709"),
            ),
            ("'root' | get_uid", json!(0)),
            ("'nosuchuser' | get_uid", Json::Null),
            ("1040814000 | strftime('%Y')", json!("2002")),
            ("'Dec 25 2002' | date_format", json!("2002-12-25")),
            ("'aa:bb:cc' | gen_mac | length", json!(17)),
            ("16 | random_str | length", json!(16)),
            ("99 | random_hash('sha1') | length", json!(40)),
            ("[1, 2, 3] | random_shuffle | sort", json!([1, 2, 3])),
            ("salt['environ.item']('NOSUCH')", json!({"NOSUCH": ""})),
            ("salt['environ.has_value']('PATH')", json!(true)),
            ("salt['environ.has_value']('PATH', 'x')", json!(false)),
            ("salt['network.ip_addrs']('lo')", json!([])),
            (
                "salt['network.ip_addrs']('lo', include_loopback=True)",
                json!(["127.0.0.1"]),
            ),
            ("salt['network.ip_addrs'](cidr='127.0.0.0/8')", json!([])),
        ],
    );
    refused(
        &env,
        "salt['file.readlink']('/etc')",
        "A valid link was not specified: /etc",
    );
    refused(
        &env,
        "'/no/such' | file_hashsum",
        "does not exist on the host",
    );
}

#[test]
fn names_of_files_and_parameters_are_no_options_of_programs() {
    let env = TestEnv::new();
    env.write("home-file", "kept");
    let home = env.work().parent().unwrap().join("home");
    fs::write(home.join("kept"), "kept").unwrap();
    check(
        &env,
        &[
            ("'-delete' | list_files", json!(["-delete"])),
            ("salt['file.find']('-delete')", json!([])),
            (
                "'FOLDER/home-file' | list_files",
                json!(["FOLDER/home-file"]),
            ),
            (
                "'xxb' | check_whitelist_blacklist(whitelist=['a|b'])",
                json!(false),
            ),
        ],
    );
    assert_eq!(fs::read_to_string(home.join("kept")).unwrap(), "kept");
    refused(
        &env,
        "salt['sysctl.get']('kernel.hostname=changed')",
        "the name of the parameter has a `=`, which would set it",
    );
}

#[test]
fn a_secret_is_no_input_of_a_command_in_a_template() {
    let env = TestEnv::new();
    env.write(
        "states/main.sls",
        "{{ salt['cmd.run']('cat', stdin=pillar.key) }}",
    );
    let words = ["state", "show-low", "main", "--pillar"];
    let plain = ["{key: '{a: test.nop}'}"];
    let secret = ["{key: !sensitive '{a: test.nop}'}"];
    env.unfurl(words.iter().chain(&plain)).succeeds();
    env.unfurl(words.iter().chain(&secret))
        .exits(1)
        .says(&["`stdin` is a secret, which the list of processes would show"]);
}

#[test]
fn the_names_of_addresses_are_looked_up_for_templates_that_mention_them() {
    requires!("root", "ip", "unshare");
    let env = TestEnv::new();
    env.write("hosts", "10.9.8.7 web.example.com web www.example.com\n");
    // The program has its own network and its own file of names.
    let lines = format!(
        "exec unshare -m -n /bin/sh -c 'ip link set lo up && ip addr add 10.9.8.7/32 dev lo && \
         mount --bind {}/hosts /etc/hosts && exec \"$0\" \"$@\"' \"$0\" \"$@\"",
        env.work().display()
    );
    env.write("states/map.jinja", "{% set names = grains.fqdns %}");
    for template in [
        "{% set names = grains.fqdns %}",
        "{% set names = salt['grains.get']('fqdns') %}",
        "{% from 'map.jinja' import names with context %}",
    ] {
        let text = format!(
            "{template}\nnames:\n  test.nop:\n  - text: {{{{ names | json | yaml_dquote }}}}\n"
        );
        env.write("states/main.sls", &text);
        let words = ["state", "show-low", "main", "--output", "json"];
        let shown = env.unfurl_after(&lines, &words).succeeds().json();
        let names = r#"["web.example.com", "www.example.com"]"#;
        assert_eq!(shown[0]["text"], names, "{template}");
    }
    let words = ["fact", "fqdns", "--output", "json"];
    let fact = env.unfurl_after(&lines, &words).succeeds();
    fact.prints(&["web.example.com", "www.example.com"]);
}
