//! The state module `kmod`: kernel modules, loaded now and with `persist` after a reboot.

use std::collections::BTreeSet;

use super::decision::{
    act_or_fail, failure, require_facts, run_change, run_probe, runs_systemd, stdout_text,
    unchanged,
};
use super::file_change;
use crate::host::change::{Change, ModeAndOwner};
use crate::host::fact::{Domain, Fact};
use crate::states::{
    FactCache, Halt, StateCall, StateDecision, StateFunction, StateModule, StateOutcome, refuse,
};
use crate::text::quote_word;
use crate::value::Map;

pub(super) static MODULE: StateModule = StateModule {
    name: "kmod",
    functions: &[
        StateFunction::new("present", present)
            .about("Loads kernel modules.")
            .options("persist mods")
            .reversed_by("absent"),
        StateFunction::new("absent", absent)
            .about("Unloads kernel modules.")
            .options("persist comment mods")
            .irreversible("the options of the removed module are not recorded"),
    ],
    watch: None,
    aggregate: None,
};

/// The file that names the modules to load at boot, on a machine with systemd and on another one.
const FILES: [&str; 2] = ["/etc/modules-load.d/salt_managed.conf", "/etc/modules"];

/// The kernel modules of a state and those of the machine.
struct Modules {
    desired: Vec<String>,
    loaded: BTreeSet<String>,
    /// The modules that the kernel of the machine has.
    available: BTreeSet<String>,
    persist: Option<PersistFile>,
}

/// The file of modules that are loaded at boot.
struct PersistFile {
    path: &'static str,
    text: String,
}

impl PersistFile {
    fn read(facts: &FactCache) -> Result<Self, Halt> {
        require_facts(facts, FILES.map(|path| Fact::Content(path.to_owned())))?;
        let path = FILES[usize::from(!runs_systemd(facts)?)];
        let bytes = facts.content(path)?.unwrap_or_default();
        let text = String::from_utf8_lossy(bytes).into_owned();
        Ok(Self { path, text })
    }

    fn has(&self, module: &str) -> bool {
        self.text
            .lines()
            .any(|line| first_word(line) == Some(module))
    }

    /// Returns the text with a module: its commented line without the sign, else a new line.
    fn with(&self, module: &str) -> String {
        let is_commented = |line: &str| {
            let bare = line.trim_start().trim_start_matches('#');
            bare.len() < line.trim_start().len() && bare.trim() == module
        };
        if self.text.lines().any(is_commented) {
            let lines = self.text.split_inclusive('\n').map(|line| {
                if is_commented(line) {
                    format!("{module}\n")
                } else {
                    line.to_owned()
                }
            });
            return lines.collect();
        }
        let gap = if self.text.is_empty() || self.text.ends_with('\n') {
            ""
        } else {
            "\n"
        };
        format!("{}{gap}{module}\n", self.text)
    }

    /// Returns the text without a module: its line is commented out, or removed.
    fn without(&self, module: &str, comments: bool) -> String {
        let lines = self.text.split_inclusive('\n').map(|line| {
            match (first_word(line) == Some(module), comments) {
                (false, _) => line.to_owned(),
                (true, true) => format!("#{line}"),
                (true, false) => String::new(),
            }
        });
        lines.collect()
    }

    fn write(&self) -> Change {
        file_change::write(self.path, self.text.clone(), ModeAndOwner::default())
    }
}

/// Returns the module that a line names; None for a comment or an empty line.
fn first_word(line: &str) -> Option<&str> {
    let word = line.split_whitespace().next()?;
    (!word.starts_with('#')).then_some(word)
}

/// Returns a name as the kernel lists it, with underscores.
fn kernel_name(name: &str) -> String {
    name.replace('-', "_")
}

impl Modules {
    fn read(call: &StateCall<'_>, facts: &FactCache) -> Result<Self, Halt> {
        let mut desired = call.texts("mods")?;
        if desired.is_empty() {
            desired.push(call.name.to_owned());
        }
        let is_valid = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
        if let Some(bad) = desired
            .iter()
            .find(|name| name.is_empty() || name.starts_with('-') || !name.chars().all(is_valid))
        {
            return refuse(format!("`{bad}` is not the name of a kernel module"));
        }
        let persist = if call.flag("persist", false) {
            Some(PersistFile::read(facts)?)
        } else {
            None
        };
        let script = "cut -d' ' -f1 /proc/modules; echo; d=/lib/modules/$(uname -r); \
            cat \"$d/modules.builtin\" 2>/dev/null; find \"$d\" -name '*.ko*' 2>/dev/null || :";
        let probed = run_probe(facts, script, Domain::Path("/proc/modules".to_owned()))?;
        let text = stdout_text(probed);
        let (loaded, available) = text.split_once("\n\n").unwrap_or((&text, ""));
        let file_name = |path: &str| {
            let name = path.rsplit('/').next().unwrap_or(path);
            kernel_name(name.split(".ko").next().unwrap_or(name))
        };
        Ok(Self {
            desired,
            loaded: loaded.lines().map(str::to_owned).collect(),
            available: available.lines().map(file_name).collect(),
            persist,
        })
    }

    fn is_loaded(&self, name: &str) -> bool {
        self.loaded.contains(&kernel_name(name))
    }

    fn is_persistent(&self, name: &str) -> bool {
        self.persist.as_ref().is_some_and(|file| file.has(name))
    }

    /// Returns the desired modules for which a test is true.
    fn select(&self, test: impl Fn(&str) -> bool) -> Vec<String> {
        self.desired
            .iter()
            .filter(|name| test(name))
            .cloned()
            .collect()
    }
}

/// A comment for one module and for several; `{}` stands for the names.
type Comment = (&'static str, &'static str);

const PRESENT: Comment = (
    "Kernel module {} is already present",
    "Kernel modules {} are already present",
);
const UNAVAILABLE: Comment = (
    "Kernel module {} is unavailable",
    "Kernel modules {} are unavailable",
);
const REMOVED: Comment = (
    "Kernel module {} is already removed",
    "Kernel modules {} are already removed",
);
/// The comments of a dry run, of a success and of a failure.
const LOAD: [Comment; 3] = [
    (
        "Kernel module {} is set to be loaded",
        "Kernel modules {} are set to be loaded",
    ),
    ("Loaded kernel module {}", "Loaded kernel modules {}"),
    (
        "Failed to load kernel module {}",
        "Failed to load kernel modules {}",
    ),
];
const REMOVE: [Comment; 3] = [
    (
        "Kernel module {} is set to be removed",
        "Kernel modules {} are set to be removed",
    ),
    ("Removed kernel module {}", "Removed kernel modules {}"),
    (
        "Failed to remove kernel module {}",
        "Failed to remove kernel modules {}",
    ),
];

fn comment(modules: &[String], (one, many): Comment) -> String {
    match modules {
        [module] => one.replace("{}", module),
        modules => many.replace("{}", &modules.join(", ")),
    }
}

fn run_on(program: &str, module: &str) -> Change {
    let text = format!("{program} {}", quote_word(module));
    run_change(text, [Domain::Path("/proc/modules".to_owned())])
}

/// Returns the decision whose changes are a word for each module.
fn decide(
    modules: &[String],
    word: &str,
    comments: [String; 3],
    steps: Vec<Change>,
) -> Result<StateDecision, Halt> {
    let [planned, success, complaint] = comments;
    let changes: Map = modules
        .iter()
        .map(|module| (module.as_str().into(), word.into()))
        .collect();
    act_or_fail(
        StateOutcome::planned(planned),
        steps,
        StateOutcome::changed(changes, success),
        format!("{complaint}: "),
    )
}

/// Decides `kmod.present`: loads kernel modules.
fn present(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let mut modules = Modules::read(call, facts)?;
    let keeps = modules.persist.is_some();
    let is_right = |name: &str| modules.is_loaded(name) && (!keeps || modules.is_persistent(name));
    let right = modules.select(is_right);
    let missing = modules.select(|name| !is_right(name));
    if missing.is_empty() {
        return unchanged(comment(&right, PRESENT));
    }
    let with_right = |text: String| {
        if right.is_empty() {
            text
        } else {
            format!("{}\n{text}", comment(&right, PRESENT))
        }
    };
    let mut unknown = missing.clone();
    unknown
        .retain(|name| !modules.is_loaded(name) && !modules.available.contains(&kernel_name(name)));
    if !unknown.is_empty() {
        return failure(with_right(comment(&unknown, UNAVAILABLE)));
    }
    let unloaded = missing.iter().filter(|name| !modules.is_loaded(name));
    let mut steps: Vec<Change> = unloaded.map(|name| run_on("modprobe", name)).collect();
    if let Some(file) = &mut modules.persist {
        for module in &missing {
            if !file.has(module) {
                file.text = file.with(module);
            }
        }
        steps.push(file.write());
    }
    let comments = LOAD.map(|text| with_right(comment(&missing, text)));
    decide(&missing, "loaded", comments, steps)
}

/// Decides `kmod.absent`: removes kernel modules.
fn absent(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let mut modules = Modules::read(call, facts)?;
    let present = modules.select(|name| modules.is_loaded(name) || modules.is_persistent(name));
    if present.is_empty() {
        return unchanged(comment(&modules.desired, REMOVED));
    }
    let loaded = present.iter().filter(|name| modules.is_loaded(name));
    let mut steps: Vec<Change> = loaded.map(|name| run_on("rmmod", name)).collect();
    if let Some(file) = &mut modules.persist {
        for module in &present {
            file.text = file.without(module, call.flag("comment", true));
        }
        steps.push(file.write());
    }
    let comments = REMOVE.map(|text| comment(&present, text));
    decide(&present, "removed", comments, steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> PersistFile {
        PersistFile {
            path: FILES[0],
            text: text.to_owned(),
        }
    }

    #[test]
    fn a_module_is_kept_for_the_next_boot_once() {
        let own = file("# own\n#loop\nfuse max=1\n");
        assert!(own.has("fuse") && !own.has("loop"));
        assert_eq!(own.with("loop"), "# own\nloop\nfuse max=1\n");
        assert_eq!(file("fuse").with("loop"), "fuse\nloop\n");
        assert_eq!(own.without("fuse", true), "# own\n#loop\n#fuse max=1\n");
        assert_eq!(own.without("fuse", false), "# own\n#loop\n");
    }

    #[test]
    fn comments_name_one_module_or_several() {
        let names = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(
            comment(&names("a"), PRESENT),
            "Kernel module a is already present"
        );
        assert_eq!(
            comment(&names("a b"), LOAD[1]),
            "Loaded kernel modules a, b"
        );
    }
}
