//! Runs programs that print inventories, as Ansible does: `--list`, and `--host NAME` if the list lacks `_meta`.

use std::path::Path;
use std::time::Duration;

use crate::diagnostic::{Diagnostic, Diagnostics, SourceId, Sources};
use crate::secret::FileKeys;
use crate::system::fs;
use crate::system::process::{self, Helper};
use crate::text::escape_controls;
use crate::yaml::{self, Limits};

use super::ansible_yaml::YamlReader;
use super::error::InventoryProblem;
use super::model::Inventory;
use super::program_output;

/// The name for `--allow` that lets programs list hosts.
pub const PERMISSION: &str = "inventory";

/// The maximum time that a program may take: it may ask servers of a cloud.
const TIME_LIMIT: Duration = Duration::from_mins(5);
/// The maximum size of an output in bytes.
const MAX_OUTPUT: usize = 256 << 20;
/// The first bytes of compiled programs.
const ELF: &[u8] = b"\x7fELF";

/// Returns true if a file is a program: it may be executed, and is a script or compiled.
pub(super) fn is_program(path: &Path, content: &[u8]) -> bool {
    (content.starts_with(b"#!") || content.starts_with(ELF)) && fs::is_program(path)
}

/// Runs a program and reads the inventory that it prints.
pub(super) fn read(
    path: &Path,
    sources: &mut Sources,
    keys: &FileKeys<'_>,
) -> Result<(Inventory, Diagnostics), Diagnostics> {
    let source = run(path, &["--list"], sources)?;
    let root = yaml::parse(sources, source, &Limits::default())?;
    let mut context = YamlReader::new(sources, keys);
    let Some(map) = root.as_map() else {
        let problem = InventoryProblem::Kind {
            name: format!("{} --list", path.display()),
            found: root.kind_name(),
            expected: "a map of groups",
        };
        return Err(Diagnostic::error(problem).label(root.span(), "").into());
    };
    let mut inventory = program_output::read(map, &mut context);
    let mut problems = context.finish()?;
    if !program_output::has_host_variables(map) {
        problems.append(ask_for_hosts(path, &mut inventory, sources, keys)?);
    }
    Ok((inventory, problems))
}

/// Runs the program once for each host and adds the variables that it prints.
fn ask_for_hosts(
    path: &Path,
    inventory: &mut Inventory,
    sources: &mut Sources,
    keys: &FileKeys<'_>,
) -> Result<Diagnostics, Diagnostics> {
    let mut warnings = Diagnostics::default();
    let names: Vec<_> = inventory.hosts().cloned().collect();
    for name in names {
        let source = run(path, &["--host", &name], sources)?;
        let is_empty = sources
            .get(source)
            .is_none_or(|it| it.text.trim().is_empty());
        if is_empty {
            continue;
        }
        let root = yaml::parse(sources, source, &Limits::default())?;
        let mut context = YamlReader::new(sources, keys);
        let data = context.values(&root, &name);
        warnings.append(context.finish()?);
        let added = inventory.add_host(name, data);
        added.map_err(|problem| Diagnostics::from(Diagnostic::error(problem)))?;
    }
    Ok(warnings)
}

/// Runs the program with arguments and adds what it prints to the sources.
fn run(path: &Path, arguments: &[&str], sources: &mut Sources) -> Result<SourceId, Diagnostics> {
    // A path without a slash would be looked up in the folders of programs.
    let program = fs::canonicalize(path).map_err(Diagnostic::error)?;
    let mut words = vec![program.display().to_string()];
    words.extend(arguments.iter().map(ToString::to_string));
    let shown = format!("{} {}", path.display(), arguments.join(" "));
    let failed =
        |reason: String| Diagnostics::from(Diagnostic::error(format!("`{shown}`: {reason}")));
    let output = process::run(&Helper {
        time_limit: TIME_LIMIT,
        is_remote: true,
        max_output: MAX_OUTPUT,
        ..Helper::new(words)
    });
    let output = output.map_err(|error| failed(error.to_string()))?;
    if !output.is_ok() {
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.lines().map(str::trim).rfind(|line| !line.is_empty());
        let said = last.map_or(String::new(), |line| format!(": {}", escape_controls(line)));
        return Err(failed(format!("exit code {}{said}", output.code)));
    }
    if output.truncated {
        return Err(failed(format!(
            "the output has more than {MAX_OUTPUT} bytes"
        )));
    }
    let text = String::from_utf8(output.stdout);
    let text = text.map_err(|_| failed("the output is not UTF-8 text".to_owned()))?;
    Ok(sources.add(Path::new(&shown), text, None))
}
