//! Service templates in Python, converted by a real Python with the real `tosca` package.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::requires::target;
use super::support::{TestEnv, wait_until_gone};

const ENSEMBLE: &str = "\
apiVersion: unfurl/v1alpha1
kind: Ensemble
spec:
  service_template:
    +?include: service_template.py
    topology_template:
      node_templates:
        hello:
          interfaces:
            Standard:
              configure:
                implementation: Shell
                inputs:
                  command: \"echo {{ SELF.greeting }}, {{ SELF.whom }}! > {{ SELF.path }}\"
              delete:
                implementation: Shell
                inputs: {command: 'rm {{ SELF.path }}'}
";

const SHAPES: &str = "\
import tosca


class Greeter(tosca.nodes.Root):
    whom: str = 'world'
    greeting: str = 'Hello'
";

const TEMPLATE: &str = "\
import tosca
from tosca import TopologyInputs
from .shapes import Greeter


class Inputs(TopologyInputs):
    whom: str = 'Ada'


class Writer(Greeter):
    'Writes a greeting.'
    path: str = 'greeting.txt'


print('this is no answer')
hello = Writer(whom=Inputs.whom)
";

/// A template that creates a file when it runs.
const MARKING: &str = "\
import pathlib
pathlib.Path(__file__).with_name('marker').write_text('ran')
";

/// The path of the Python that `tests/python.sh` installs.
fn python() -> PathBuf {
    target().join("py/bin/python3")
}

fn path_with(folder: &Path) -> String {
    format!("{}:{}", folder.display(), std::env::var("PATH").unwrap())
}

/// An environment whose `python3` has the package.
fn with_python(env: TestEnv) -> TestEnv {
    let path = path_with(python().parent().unwrap());
    env.variable("PATH", &path)
}

fn world(template: &str) -> TestEnv {
    let env = with_python(TestEnv::with_ensemble(ENSEMBLE));
    env.write("shapes.py", SHAPES);
    env.write("service_template.py", template);
    env
}

/// Writes a program named `python3` into a folder, and returns a `PATH` that begins with this folder.
fn python_that_runs(env: &TestEnv, folder: &str, command: &str) -> String {
    let file = env.work().join(folder).join("python3");
    env.write(
        &format!("{folder}/python3"),
        &format!("#!/bin/sh\n{command}\n"),
    );
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    path_with(file.parent().unwrap())
}

fn can_take_network_away() -> bool {
    ["--net", "--map-current-user --net", "--map-root-user --net"]
        .iter()
        .any(|options| {
            let mut command = Command::new("unshare");
            let status = command
                .args(options.split(' '))
                .args(["--", "true"])
                .output();
            status.is_ok_and(|output| output.status.success())
        })
}

/// Waits until the process whose id is in a file has ended.
fn assert_gone(file: &Path) {
    let pid = fs::read_to_string(file).unwrap();
    wait_until_gone(&[pid.trim().parse().unwrap()]);
}

#[test]
fn an_ensemble_described_in_python_deploys_and_stays_as_it_is() {
    requires!("tests/python.sh");
    let env = world(TEMPLATE);
    env.unfurl(["--allow", "python", "validate"]).succeeds();
    env.unfurl(["--allow", "python", "deploy", "--approve"])
        .succeeds();
    assert_eq!(env.read("greeting.txt"), "Hello, Ada!\n");
    let again = env
        .unfurl(["--allow", "python", "deploy", "--approve"])
        .succeeds();
    assert!(again.all().contains("Nothing to do"), "{again}");
    env.write("shapes.py", &SHAPES.replace("Hello", "Bye"));
    env.unfurl(["--allow", "python", "deploy", "--approve"])
        .succeeds();
    assert_eq!(env.read("greeting.txt"), "Bye, Ada!\n");
    env.unfurl(["--allow", "python", "teardown", "--approve"])
        .succeeds();
    assert!(!env.work().join("greeting.txt").exists());
    assert!(!env.names().contains(&"__pycache__".to_owned()));
    assert!(!env.names().contains(&"shapes.yaml".to_owned()));
}

#[test]
fn nothing_runs_that_is_not_allowed() {
    requires!("tests/python.sh");
    let env = world(MARKING);
    for command in [&["validate"][..], &["deploy", "--approve"], &["status"]] {
        let run = env.unfurl(command);
        assert_ne!(run.code, 0, "{run}");
        run.says(&["not allowed to run", "--allow python", "`trusted`"]);
    }
    env.unfurl(["--allow", "pipe", "validate", "service_template.py"])
        .exits(1)
        .says(&["not allowed to run"]);
    assert!(!env.work().join("marker").exists());
    env.unfurl(["--allow", "python", "validate", "service_template.py"])
        .succeeds();
    assert_eq!(env.read("marker"), "ran");
}

#[test]
fn a_project_that_the_home_project_trusts_may_use_python() {
    requires!("tests/python.sh");
    let env = world(TEMPLATE);
    let home = env.work().join("../home");
    let project = "apiVersion: unfurl/v1alpha1\nkind: Project\ntrusted: [../work]\n";
    fs::write(home.join("unfurl.yaml"), project).unwrap();
    let env = env.variable("UNFURL_HOME", home.to_str().unwrap());
    env.unfurl(["validate"]).succeeds();
    env.unfurl(["validate", "service_template.py"]).succeeds();
    fs::write(home.join("unfurl.yaml"), project.replace("work", "other")).unwrap();
    env.unfurl(["validate"]).exits(1);
    env.unfurl(["validate", "service_template.py"]).exits(1);
}

#[test]
fn comments_alone_need_no_permission() {
    let env = TestEnv::with_ensemble("apiVersion: unfurl/v1alpha1\nkind: Ensemble\nspec:\n  service_template:\n    +?include: service_template.py\n    topology_template: {}\n")
        .variable("PATH", "");
    env.write("service_template.py", "# import tosca\n\n# class A:\n");
    let run = env.unfurl(["validate"]).succeeds();
    assert!(!run.stderr.contains("Python"), "{run}");
}

#[test]
fn a_mistake_is_shown_with_file_and_line() {
    requires!("tests/python.sh");
    for (text, messages) in [
        (
            "import tosca\n\nx = [\n",
            &[
                "SyntaxError: '[' was never closed",
                "service_template.py:3:5",
            ][..],
        ),
        (
            "import tosca\n\nw = tosca.nodes.Root(hosts=1)\n",
            &["TypeError", "'hosts'", "service_template.py:3:1"],
        ),
        (
            "import tosca\nexec('1')\nexec('2')\n",
            &["service_template.py:2:1", "service_template.py:3:1"],
        ),
        (
            "from .shapes import Gone\n",
            &["ImportError", "Gone", "service_template.py:1:1"],
        ),
        (
            "import sys\nsys.exit(3)\n",
            &["SystemExit: 3", "service_template.py:2:1"],
        ),
    ] {
        let env = world(text);
        env.unfurl(["--allow", "python", "validate"])
            .exits(1)
            .says(messages);
    }
}

#[test]
fn a_mistake_in_an_imported_file_is_shown_in_that_file() {
    requires!("tests/python.sh");
    let env = world(TEMPLATE);
    env.write("shapes.py", "import tosca\n\n\nx = 1 / 0\n");
    env.unfurl(["--allow", "python", "validate"])
        .exits(1)
        .says(&["ZeroDivisionError", "shapes.py:4:1"]);
}

#[test]
fn a_problem_of_the_converted_text_says_what_it_was_converted_from() {
    requires!("tests/python.sh");
    let text = "\
import tosca
from tosca import Property, max_length


class Named(tosca.nodes.Root):
    called: str = Property(constraints=[max_length(3)])


hello = Named(called='too long')
";
    let env = world(text);
    env.unfurl(["--allow", "python", "validate"])
        .exits(1)
        .says(&[
            "service_template.py (converted from Python):",
            "called: too long",
            "included from",
        ]);
}

#[test]
fn a_program_that_loops_is_ended_in_time() {
    requires!("tests/python.sh");
    let text =
        "import os, pathlib\npathlib.Path('pid').write_text(str(os.getpid()))\nwhile True: pass\n";
    let env = world(text).variable("UNFURL_PYTHON_TIMEOUT", "8");
    let run = env.unfurl(["--allow", "python", "validate"]).exits(1);
    run.says(&["was not converted within 8 s", "UNFURL_PYTHON_TIMEOUT"]);
    assert_gone(&env.work().join("pid"));
    let env = env.variable("UNFURL_PYTHON_TIMEOUT", "soon");
    env.unfurl(["--allow", "python", "validate"])
        .exits(1)
        .says(&["`UNFURL_PYTHON_TIMEOUT` has the invalid value `soon`"]);
}

#[test]
fn nothing_of_a_program_outlives_the_one_who_asked() {
    requires!("tests/python.sh");
    let text = "\
import os, pathlib, subprocess, time
child = subprocess.Popen(['sleep', '300'])
pathlib.Path('child').write_text(str(child.pid))
pathlib.Path('pid').write_text(str(os.getpid()))
while True: time.sleep(1)
";
    let env = world(text);
    let script = "\
\"$0\" \"$@\" & asked=$!
until [ -s pid ]; do sleep 0.1; done
kill -9 $asked
exit 9";
    env.unfurl_after(script, &["--allow", "python", "validate"])
        .exits(9);
    assert_gone(&env.work().join("pid"));
    assert_gone(&env.work().join("child"));
}

#[test]
fn a_program_has_no_network() {
    requires!("tests/python.sh");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let text = format!(
        "import socket, tosca\nsocket.create_connection(('127.0.0.1', {port}), 5)\nw = tosca.nodes.Root()\n"
    );
    let env = with_python(TestEnv::new());
    env.write("x.py", &text);
    let run = env.unfurl(["--allow", "python", "validate", "x.py"]);
    if can_take_network_away() {
        run.exits(1).says(&["OSError", "x.py:2:1"]);
        listener.set_nonblocking(true).unwrap();
        assert!(listener.accept().is_err());
    } else {
        run.succeeds().says(&["had access to the network"]);
    }
}

#[test]
fn a_run_that_keeps_its_network_access_is_reported() {
    requires!("tests/python.sh");
    let env = world(TEMPLATE);
    let path = python_that_runs(&env, "bin", &format!("exec {} \"$@\"", python().display()));
    env.write("bin/unshare", "#!/bin/sh\nexit 1\n");
    let unshare = env.work().join("bin/unshare");
    fs::set_permissions(unshare, fs::Permissions::from_mode(0o755)).unwrap();
    let env = env.variable("PATH", &path);
    env.unfurl(["--allow", "python", "validate"])
        .succeeds()
        .says(&["the conversion had access to the network"]);
}

#[test]
fn a_program_sees_no_secret_of_the_environment() {
    requires!("tests/python.sh");
    let text = "import os, tosca\nassert 'SECRET' not in os.environ, 'seen'\nassert os.environ['HOME'] and os.read(0, 1) == b''\n";
    let env = world(text).variable("SECRET", "x");
    env.unfurl(["--allow", "python", "validate", "service_template.py"])
        .succeeds();
}

#[test]
fn an_unchanged_file_runs_once() {
    requires!("tests/python.sh");
    let env = world(TEMPLATE);
    env.unfurl(["--allow", "python", "validate"]).succeeds();
    let env = env.variable("PATH", "/nowhere");
    env.unfurl(["--allow", "python", "validate"]).succeeds();
    // The cached result is not used if the caller does not allow Python.
    env.unfurl(["validate"]).exits(1).says(&["not allowed"]);
    env.write(
        "shapes.py",
        &format!("{SHAPES}\n\nclass Other(Greeter): pass\n"),
    );
    env.unfurl(["--allow", "python", "validate"])
        .exits(1)
        .says(&["`python3` was not found"]);
    let env = with_python(env);
    env.unfurl(["--allow", "python", "validate"]).succeeds();
}

#[test]
fn what_is_kept_counts_only_if_it_is_whole() {
    requires!("tests/python.sh");
    let env = world(TEMPLATE);
    env.unfurl(["--allow", "python", "validate"]).succeeds();
    let folder = env.work().join("../home/.cache/unfurl/python");
    let entries = || {
        fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
    };
    assert_eq!(entries().count(), 2);
    for entry in entries() {
        let bytes = fs::read(&entry).unwrap();
        fs::write(&entry, &bytes[..bytes.len() - 9]).unwrap();
    }
    env.unfurl(["--allow", "python", "validate"]).succeeds();
    for entry in entries() {
        fs::remove_file(&entry).unwrap();
        fs::create_dir(&entry).unwrap();
    }
    env.unfurl(["--allow", "python", "validate"]).succeeds();
}

#[test]
fn a_missing_package_is_named_with_the_command_that_installs_it() {
    requires!("tests/python.sh");
    let env = world(TEMPLATE);
    let command = format!("exec {} -S \"$@\"", python().display());
    let path = python_that_runs(&env, "bin", &command);
    let env = env.variable("PATH", &path);
    env.unfurl(["--allow", "python", "validate"])
        .exits(1)
        .says(&["the Python package `tosca` is missing", "pip install tosca"]);
}

#[test]
fn the_python_beside_unfurl_is_used_where_the_other_has_no_package() {
    requires!("tests/python.sh");
    let env = world(TEMPLATE);
    let command = format!("exec {} -S \"$@\"", python().display());
    let without = python_that_runs(&env, "a", &command);
    let command = format!("exec {} \"$@\"", python().display());
    python_that_runs(&env, "b", &command);
    env.write("b/unfurl", "#!/bin/sh\n");
    let unfurl = env.work().join("b/unfurl");
    fs::set_permissions(&unfurl, fs::Permissions::from_mode(0o755)).unwrap();
    let (first, rest) = without.split_once(':').unwrap();
    let path = format!("{first}:{}:{rest}", unfurl.parent().unwrap().display());
    let env = env.variable("PATH", &path);
    env.unfurl(["--allow", "python", "validate"]).succeeds();
}

#[test]
fn a_program_that_ends_without_an_answer_is_reported() {
    requires!("tests/python.sh");
    let env = world("import os\nos.write(2, b'so long\\n')\nos._exit(7)\n");
    env.unfurl(["--allow", "python", "validate"])
        .exits(1)
        .says(&["ended with exit code 7 and without a result", "so long"]);
}

#[test]
fn imports_of_a_program_start_from_its_folder() {
    requires!("tests/python.sh");
    let env = world(TEMPLATE);
    for file in ["shapes.py", "service_template.py"] {
        let text = env.read(file);
        fs::remove_file(env.work().join(file)).unwrap();
        env.write(&format!("sub/{file}"), &text);
    }
    let ensemble = ENSEMBLE.replace("+?include: ", "+include: sub/");
    env.write("ensemble.yaml", &ensemble);
    env.unfurl(["--allow", "python", "validate"]).succeeds();
    let imports = "imports: [{file: sub/shapes.py}, {file: sub/service_template.yaml}]";
    let head = "    tosca_definitions_version: tosca_simple_unfurl_1_0_0\n";
    let ensemble = ENSEMBLE.replace("+?include: service_template.py", imports);
    let ensemble = ensemble.replace("    topology", &format!("{head}    topology"));
    let ensemble = ensemble.replace("hello:\n", "hello:\n          type: Writer\n");
    env.write("ensemble.yaml", &ensemble);
    env.unfurl(["--allow", "python", "deploy", "--approve"])
        .succeeds();
    assert_eq!(env.read("greeting.txt"), "Hello, world!\n");
}

#[test]
fn yaml_beside_an_imported_file_is_used_unless_it_was_generated() {
    requires!("tests/python.sh");
    let env = world(TEMPLATE);
    let types = "tosca_definitions_version: tosca_simple_unfurl_1_0_0\nnode_types:\n  Greeter:\n    derived_from: tosca.nodes.Root\n    properties:\n      whom: {type: string}\n      greeting: {type: string, default: Moin}\n";
    let deploy = ["--allow", "python", "deploy", "--approve"];
    env.write("shapes.yaml", types);
    env.unfurl(deploy).succeeds();
    assert_eq!(env.read("greeting.txt"), "Moin, Ada!\n");
    let head =
        "# Generated by tosca.python2yaml from shapes.py at 2026-01-01T00:00:00 overwrite ok\n";
    env.write("shapes.yaml", &format!("{head}{types}"));
    env.unfurl(deploy).succeeds();
    assert_eq!(env.read("greeting.txt"), "Hello, Ada!\n");
}

#[test]
fn an_operation_that_is_a_function_is_refused_when_it_is_to_run() {
    requires!("tests/python.sh");
    let text = "\
import tosca


class Worker(tosca.nodes.Root):
    def configure(self):
        def work(task):
            return True

        return work


worker = Worker()
";
    let env = with_python(TestEnv::with_ensemble(
        "apiVersion: unfurl/v1alpha1\nkind: Ensemble\nspec:\n  service_template:\n    +include: x.py\n",
    ));
    env.write("x.py", text);
    env.unfurl(["--allow", "python", "validate"])
        .exits(1)
        .says(&["cannot be run"]);
    env.unfurl(["--allow", "python", "deploy", "--approve"])
        .exits(64)
        .says(&["cannot be run"]);
}

#[test]
fn a_program_in_a_csar_runs_from_its_folder_and_not_from_an_archive() {
    requires!("tests/python.sh");
    let env = with_python(TestEnv::new());
    env.write("csar/TOSCA-Metadata/TOSCA.meta", "TOSCA-Meta-File-Version: 1.0\nCSAR-Version: 1.1\nCreated-By: me\nEntry-Definitions: main.yaml\n");
    env.write("csar/main.yaml", "tosca_definitions_version: tosca_simple_unfurl_1_0_0\nimports: [{file: shapes.py}]\ntopology_template:\n  node_templates:\n    hello: {type: Greeter}\n");
    env.write("csar/shapes.py", SHAPES);
    env.unfurl(["validate", "csar"])
        .exits(1)
        .says(&["not allowed to run"]);
    env.unfurl(["--allow", "python", "validate", "csar"])
        .succeeds();
    let script = "import shutil; shutil.make_archive('packed', 'zip', 'csar')";
    let status = Command::new(python())
        .args(["-c", script])
        .current_dir(env.work())
        .status();
    assert!(status.unwrap().success());
    env.unfurl(["--allow", "python", "validate", "packed.zip"])
        .exits(1)
        .says(&["does not run inside an archive", "unpack"]);
}

#[test]
fn a_program_may_import_from_the_folder_above_within_the_project() {
    requires!("tests/python.sh");
    let env = world("");
    env.write("sub/x.py", &TEMPLATE.replace(".shapes", "..shapes"));
    let ensemble = ENSEMBLE.replace("service_template.py", "sub/x.py");
    env.write("ensemble.yaml", &ensemble);
    env.unfurl(["--allow", "python", "deploy", "--approve"])
        .succeeds();
    assert_eq!(env.read("greeting.txt"), "Hello, Ada!\n");
}

#[test]
fn what_a_program_leaves_running_ends_with_it() {
    requires!("tests/python.sh");
    let text = "\
import pathlib, subprocess, tosca
child = subprocess.Popen(['sleep', '300'])
pathlib.Path('child').write_text(str(child.pid))
w = tosca.nodes.Root()
";
    let env = with_python(TestEnv::new());
    env.write("x.py", text);
    env.unfurl(["--allow", "python", "validate", "x.py"])
        .succeeds();
    assert_gone(&env.work().join("child"));
}

#[test]
fn the_same_comes_of_a_program_every_time() {
    requires!("tests/python.sh");
    let text = "\
import tosca

class A(tosca.nodes.Root):
    names: str = ''

a = A(names=' '.join({'b', 'c', 'd', 'e', 'f', 'é'}))
";
    let env = with_python(TestEnv::new());
    env.write("x.py", text);
    let kept = || {
        env.unfurl(["--allow", "python", "validate", "x.py"])
            .succeeds();
        let folder = env.work().join("../home/.cache/unfurl/python");
        let entry = fs::read_dir(folder).unwrap().next().unwrap().unwrap();
        let text = fs::read_to_string(entry.path()).unwrap();
        fs::remove_file(entry.path()).unwrap();
        text
    };
    let first = kept();
    assert!(first.contains('é'), "{first}");
    assert_eq!(first, kept());
}

#[test]
fn a_service_template_in_python_is_no_ensemble() {
    requires!("tests/python.sh");
    let env = world(MARKING);
    let run = env.unfurl(["--allow", "python", "deploy", "service_template.py"]);
    run.exits(64)
        .says(&["is a service template, not an ensemble"]);
    assert!(!env.work().join("marker").exists());
}
