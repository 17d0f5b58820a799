//! CSARs.

use std::process::Command;

use super::{SERVICE_TEMPLATE, last_line, shown};
use crate::packages::world;
use crate::support::TestEnv;

const META: &str = "TOSCA-Meta-File-Version: 1.0\nCSAR-Version: 1.1\nCreated-By: t\nEntry-Definitions: \
                    defs/main.yaml\n";

/// Packs files into `work/my.csar` with a script of Python, which also writes paths that lead out.
fn pack(env: &TestEnv, files: &[(&str, &str)]) {
    let mut script = "import zipfile\nz = zipfile.ZipFile('my.csar', 'w')\n".to_owned();
    for (path, text) in files {
        script += &format!("z.writestr({path:?}, {text:?})\n");
    }
    script += "z.close()\n";
    env.write("pack.py", &script);
    let output = Command::new("python3")
        .arg("pack.py")
        .current_dir(env.work())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn a_csar_becomes_a_project_with_an_ensemble() {
    let env = world();
    pack(
        &env,
        &[
            ("TOSCA-Metadata/TOSCA.meta", META),
            ("defs/main.yaml", SERVICE_TEMPLATE),
            ("files/data", "x"),
        ],
    );
    let run = env.unfurl(["clone", "my.csar", "mine"]).succeeds();
    assert_eq!(
        last_line(&run),
        format!(
            "Created new ensemble at \"{}\"",
            shown(&env, "mine/ensemble")
        )
    );
    env.unfurl(["deploy", "mine", "--approve"])
        .succeeds()
        .prints(&["Deployed: 1 created"]);
    assert_eq!(env.read("mine/files/data"), "x");
    env.unfurl(["clone", "my.csar", "proj/csar"]).succeeds();
    env.unfurl(["deploy", "proj/csar/ensemble", "--approve"])
        .succeeds();
}

#[test]
fn a_csar_that_leads_out_or_is_none_leaves_nothing() {
    let env = world();
    pack(
        &env,
        &[
            ("TOSCA-Metadata/TOSCA.meta", META),
            ("defs/main.yaml", SERVICE_TEMPLATE),
            ("../../evil", "x"),
        ],
    );
    let before = env.names();
    env.unfurl(["clone", "my.csar", "mine"])
        .exits(1)
        .says(&["leads outside"]);
    assert_eq!(env.names(), before);
    pack(
        &env,
        &[
            ("TOSCA-Metadata/TOSCA.meta", META),
            ("defs/main.yaml", SERVICE_TEMPLATE),
            ("unfurl.yaml", "x"),
        ],
    );
    env.unfurl(["clone", "my.csar", "mine"])
        .exits(1)
        .says(&["would replace"]);
    env.write("my.csar", "text");
    env.unfurl(["clone", "my.csar", "mine"]).exits(1);
    assert_eq!(env.names(), before);
}
