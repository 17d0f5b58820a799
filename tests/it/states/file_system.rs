//! Template functions that list the file system of the machine, with the answers of Salt 3008.3 and 3006.28 on the same
//! files.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use crate::support::TestEnv;

/// Makes the files that both programs have listed.
fn made() -> TestEnv {
    let env = TestEnv::new();
    for name in ["a/x.conf", "a/b/y.conf", "a/b/c/z.txt", "e/Q.CONF"] {
        env.write(&format!("t/{name}"), "");
    }
    let folder = env.work().join("t/e");
    for (to, name) in [
        ("../a/x.conf", "link"),
        ("../a", "dirlink"),
        ("nowhere", "broken"),
    ] {
        symlink(to, folder.join(name)).unwrap();
    }
    let fstab = "# c\nUUID=1 / ext4 defaults,noatime 0 1\n/dev/b /b xfs rw\nbad line\n/dev/c /b xfs ro 0 2\n";
    fs::write(env.work().join("t/fstab"), fstab).unwrap();
    env
}

/// Returns the value of an expression, in which `T` is the folder, with the folder taken out again.
fn given(env: &TestEnv, expression: &str) -> serde_json::Value {
    let folder = env.work().join("t").display().to_string();
    let expression = expression.replace('T', &folder);
    let text = format!("a:\n  test.nop:\n  - name: {{{{ {expression} | json | yaml_dquote }}}}\n");
    env.write("states/main.sls", &text);
    let run = env
        .unfurl(["state", "show-low", "main", "--output", "json"])
        .succeeds();
    let shown = run.json();
    let name = shown
        .pointer("/0/name")
        .or_else(|| shown.pointer("/states/0/name"));
    let name = name
        .and_then(|name| name.as_str())
        .unwrap_or_else(|| panic!("{run}"));
    serde_json::from_str(&name.replace(&folder, "T")).unwrap()
}

#[test]
fn paths_are_found_by_names_types_and_depths() {
    let env = made();
    let cases = [
        (
            "salt['file.find']('T', type='f')",
            json!([
                "T/a/b/c/z.txt",
                "T/a/b/y.conf",
                "T/a/x.conf",
                "T/e/Q.CONF",
                "T/e/link",
                "T/fstab"
            ]),
        ),
        (
            "salt['file.find']('T/*', name='*.conf')",
            json!(["T/a/b/y.conf", "T/a/x.conf"]),
        ),
        (
            "salt['file.find']('T', iname='*.conf', maxdepth=2)",
            json!(["T/a/x.conf", "T/e/Q.CONF"]),
        ),
        (
            "salt['file.find']('T/e/dirlink', maxdepth=1)",
            json!(["T/e/dirlink", "T/e/dirlink/b", "T/e/dirlink/x.conf"]),
        ),
        (
            "salt['file.find']('T', regex='[xyz]\\\\.', mindepth=3)",
            json!(["T/a/b/c/z.txt", "T/a/b/y.conf"]),
        ),
        (
            "salt['file.find']('T/e', type='ld')",
            json!(["T/e", "T/e/broken", "T/e/dirlink"]),
        ),
        ("salt['file.find']('T/none')", json!([])),
    ];
    for (expression, answer) in cases {
        assert_eq!(given(&env, expression), answer, "{expression}");
    }
    env.write(
        "states/main.sls",
        "{{ salt['file.find']('/', size='+1m') }}",
    );
    env.unfurl(["state", "show-low", "main"])
        .exits(1)
        .says(&["the option `size` is not supported"]);
}

#[test]
fn the_table_of_file_systems_is_a_map_by_mount_points() {
    let env = made();
    let answer = json!({
        "/": {"device": "UUID=1", "dump": "0", "fstype": "ext4", "opts": ["defaults", "noatime"], "pass": "1"},
        "/b": {"device": "/dev/b", "dump": "0", "fstype": "xfs", "opts": ["rw"], "pass": "0"},
        "/b_": {"device": "/dev/c", "dump": "0", "fstype": "xfs", "opts": ["ro"], "pass": "2"},
    });
    assert_eq!(given(&env, "salt['mount.fstab']('T/fstab')"), answer);
    assert_eq!(given(&env, "salt['mount.fstab']('T/no')"), json!({}));
}
