//! The folders of tools: those that artifacts of the project have installed, and those that asdf or mise has installed,
//! in the versions that files of the project name.
//!
//! The files are only read, and nothing is installed: a version that is missing is left out.

use std::path::{Path, PathBuf};

use crate::system::env::Env;
use crate::system::fs;

/// The maximum size of a file with versions, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// A tool with a version.
type ToolVersion = (String, String);

/// The folders with the programs that artifacts install, in the folder of the project. The types of these artifacts are in
/// `schemas/unfurl/tosca_plugins/artifacts.yaml`.
const ARTIFACT_FOLDERS: [&str; 2] = ["local/tools/bin", "local/tools/python/bin"];

/// Returns the folders with the programs that artifacts of a project install. They may not exist yet.
pub(super) fn artifact_tool_paths(project: &Path) -> Vec<PathBuf> {
    let folders = ARTIFACT_FOLDERS.iter();
    folders.map(|folder| project.join(folder)).collect()
}

/// Returns the folders with the programs of the tools that a project names. The first file that names a tool counts.
pub(super) fn tool_paths(project: &Path, env: &Env) -> Vec<PathBuf> {
    let read = |name: &str| {
        let bytes = fs::read_within(&project.join(name), MAX_FILE_BYTES).ok()?;
        String::from_utf8(bytes).ok()
    };
    let own = env.non_empty("ASDF_DEFAULT_TOOL_VERSIONS_FILENAME");
    let asdf_file = own.unwrap_or(".tool-versions");
    let mut wanted: Vec<ToolVersion> = Vec::new();
    for name in ["mise.toml", ".mise.toml"] {
        wanted.extend(read(name).map(|text| mise_tools(&text)).unwrap_or_default());
    }
    wanted.extend(
        read(asdf_file)
            .map(|text| asdf_tools(&text))
            .unwrap_or_default(),
    );
    let roots = installation_folders(env);
    let mut folders: Vec<PathBuf> = Vec::new();
    for (index, (tool, version)) in wanted.iter().enumerate() {
        let is_first = !wanted[..index].iter().any(|(other, _)| other == tool);
        let is_plain = |text: &str| !text.starts_with('.') && !text.contains('/');
        if !is_first || !is_plain(tool) || !is_plain(version) {
            continue;
        }
        let installed = roots.iter().map(|root| root.join(tool).join(version));
        let with_programs = installed.flat_map(|folder| [folder.join("bin"), folder]);
        folders.extend(with_programs.into_iter().find(|folder| fs::is_dir(folder)));
    }
    folders
}

/// Returns the folders in which asdf and mise keep tools.
fn installation_folders(env: &Env) -> Vec<PathBuf> {
    let home = env.non_empty("HOME").map(PathBuf::from);
    let below_home = |path: &str| home.as_ref().map(|home| home.join(path));
    let named = |name: &str| env.non_empty(name).map(PathBuf::from);
    let mise = named("MISE_DATA_DIR").or_else(|| below_home(".local/share/mise"));
    let asdf = named("ASDF_DATA_DIR").or_else(|| below_home(".asdf"));
    let folders = [mise, asdf].into_iter().flatten();
    folders.map(|folder| folder.join("installs")).collect()
}

/// Returns the tools of a `.tool-versions`: a tool and its versions on each line.
fn asdf_tools(text: &str) -> Vec<ToolVersion> {
    let lines = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default());
    let tools = lines.flat_map(|line| {
        let mut words = line.split_whitespace();
        let tool = words.next().unwrap_or_default().to_owned();
        words.map(move |version| (tool.clone(), version.to_owned()))
    });
    tools.collect()
}

/// Returns the tools of a `mise.toml` whose versions are texts: `tool = "1.2"` in the section `[tools]`.
fn mise_tools(text: &str) -> Vec<ToolVersion> {
    let mut is_within = false;
    let mut tools = Vec::new();
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            is_within = line == "[tools]";
        } else if is_within && let Some((tool, version)) = line.split_once('=') {
            let version = version.trim().strip_prefix(['"', '\'']);
            let version = version.and_then(|text| text.split(['"', '\'']).next());
            let tool = tool.trim().trim_matches(['"', '\'']);
            tools.extend(version.map(|version| (tool.to_owned(), version.to_owned())));
        }
    }
    tools
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_both_programs_name_tools_with_versions() {
        let pair = |tool: &str, version: &str| (tool.to_owned(), version.to_owned());
        let asdf = asdf_tools("# tools\nterraform 1.5.7 1.4.0 # two\n\nhelm\n");
        assert_eq!(
            asdf,
            [pair("terraform", "1.5.7"), pair("terraform", "1.4.0")]
        );
        let mise = mise_tools(
            "[env]\na = \"1\"\n[tools]\nterraform = \"1.6\" # c\n'go' = '1.22'\nnode = [\"1\"]\n",
        );
        assert_eq!(mise, [pair("terraform", "1.6"), pair("go", "1.22")]);
    }
}
