//! The preloaded library of `tests/shim/shim.c`: compiles it, and sets it up for a call of the program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The size of the memory that the processes of a call share.
const CONTROL_SIZE: usize = 64 << 10;

/// The disturbance of a call of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Disturbance {
    /// None: the calls are only traced.
    Count,
    /// All processes die before this call.
    Kill(usize),
    /// All processes die after this call. If the call is a write, half is written.
    Half(usize),
    /// This call fails with this number of an error.
    Fail(usize, i32),
}

impl Disturbance {
    fn words(self) -> String {
        match self {
            Self::Count => "count".to_owned(),
            Self::Kill(at) => format!("kill:{at}"),
            Self::Half(at) => format!("half:{at}"),
            Self::Fail(at, errno) => format!("fail:{at}:{errno}"),
        }
    }
}

/// Variables for a call of the program.
pub(super) type Variables = Vec<(String, String)>;

/// Returns the compiled library. Panics with the compiler's reason if it cannot be compiled.
pub(super) fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/shim/shim.c");
        let library = folder.join("unfurl-shim.so");
        // Tests run at the same time, so each compiles its own file and renames it.
        let own = folder.join(format!("unfurl-shim.so.{}", std::process::id()));
        let output = Command::new("cc")
            .args([
                "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-o",
            ])
            .arg(&own)
            .arg(&source)
            .args(["-ldl", "-lpthread"])
            .output()
            .unwrap_or_else(|error| {
                panic!("a C compiler is needed, but `cc` did not start: {error}")
            });
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "`cc` refused {}:\n{said}",
            source.display()
        );
        fs::rename(&own, &library).unwrap();
        library
    })
}

/// The variables that preload the library, with the files that show the identity of the machine.
pub(super) fn preloaded(boot_id: &Path, machine_id: &Path) -> Variables {
    vec![
        ("LD_PRELOAD".to_owned(), text(library())),
        ("UNFURL_SHIM_BOOT".to_owned(), text(boot_id)),
        ("UNFURL_SHIM_MACHINE".to_owned(), text(machine_id)),
    ]
}

/// The variables that disturb a call, count the calls below `root` and trace them into `folder`.
pub(super) fn disturbed(what: Disturbance, root: &Path, folder: &Path) -> Variables {
    let (control, trace) = (folder.join("control"), folder.join("trace"));
    fs::write(&control, vec![0; CONTROL_SIZE]).unwrap();
    fs::write(&trace, "").unwrap();
    vec![
        ("UNFURL_SHIM_CONTROL".to_owned(), text(&control)),
        ("UNFURL_SHIM_ROOT".to_owned(), text(root)),
        ("UNFURL_SHIM_TRACE".to_owned(), text(&trace)),
        ("UNFURL_SHIM_DATA".to_owned(), "1".to_owned()),
        ("UNFURL_SHIM_EVERYONE".to_owned(), "1".to_owned()),
        ("UNFURL_SHIM_MODE".to_owned(), what.words()),
    ]
}

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}
