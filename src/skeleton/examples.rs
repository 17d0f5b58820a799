//! The examples in the program, which `unfurl init --template` copies.

use super::project_files::git_files;
use super::{Error, NewFile, Skeleton};

/// A complete ensemble in the program.
#[derive(Debug, Clone, Copy)]
pub struct Example {
    pub name: &'static str,
    /// The content of the example, as a phrase for the user.
    pub about: &'static str,
    /// The command that runs the example in its folder.
    pub command: &'static str,
    /// Path, purpose and text of each file.
    files: &'static [(&'static str, &'static str, &'static str)],
}

/// The examples, the simplest one first.
static EXAMPLES: &[Example] = &[
    Example {
        name: "hello",
        about: "the smallest complete ensemble: a greeting in a file",
        command: "unfurl deploy",
        files: &[
            (
                "ensemble.yaml",
                "the ensemble: what should exist, and what exists",
                include_str!("../../ensembles/hello/ensemble.yaml"),
            ),
            (
                "README.md",
                "the commands to try",
                include_str!("../../ensembles/hello/README.md"),
            ),
        ],
    },
    Example {
        name: "states",
        about: "a site whose files are described by state files",
        command: "unfurl deploy",
        files: &[
            (
                "ensemble.yaml",
                "the ensemble: what should exist, and what exists",
                include_str!("../../ensembles/states/ensemble.yaml"),
            ),
            (
                "states/site/init.sls",
                "the states of the site",
                include_str!("../../ensembles/states/states/site/init.sls"),
            ),
            (
                "states/site/index.html",
                "the template of the page",
                include_str!("../../ensembles/states/states/site/index.html"),
            ),
            (
                "README.md",
                "the commands to try",
                include_str!("../../ensembles/states/README.md"),
            ),
        ],
    },
    Example {
        name: "tasks",
        about: "named tasks over hosts, without an ensemble",
        command: "unfurl task",
        files: &[
            (
                "tasks.yaml",
                "the tasks and their hosts",
                include_str!("../../ensembles/tasks/tasks.yaml"),
            ),
            (
                "README.md",
                "the commands to try",
                include_str!("../../ensembles/tasks/README.md"),
            ),
        ],
    },
    Example {
        name: "terraform",
        about: "a module of Terraform with an output and a secret; needs terraform or tofu",
        command: "unfurl deploy",
        files: &[
            (
                "ensemble.yaml",
                "the ensemble: what should exist, and what exists",
                include_str!("../../ensembles/terraform/ensemble.yaml"),
            ),
            (
                "README.md",
                "the commands to try",
                include_str!("../../ensembles/terraform/README.md"),
            ),
        ],
    },
    Example {
        name: "ansible",
        about: "a page that a playbook with a role writes; needs ansible-playbook",
        command: "unfurl deploy",
        files: &[
            (
                "ensemble.yaml",
                "the ensemble: what should exist, and what exists",
                include_str!("../../ensembles/ansible/ensemble.yaml"),
            ),
            (
                "playbooks/site.yml",
                "the playbook",
                include_str!("../../ensembles/ansible/playbooks/site.yml"),
            ),
            (
                "playbooks/roles/page/tasks/main.yml",
                "the tasks of the role",
                include_str!("../../ensembles/ansible/playbooks/roles/page/tasks/main.yml"),
            ),
            (
                "playbooks/roles/page/templates/index.html.j2",
                "the template of the page",
                include_str!(
                    "../../ensembles/ansible/playbooks/roles/page/templates/index.html.j2"
                ),
            ),
            (
                "README.md",
                "the commands to try",
                include_str!("../../ensembles/ansible/README.md"),
            ),
        ],
    },
    Example {
        name: "webapp",
        about: "two services on this computer with their whole life cycle; needs python3",
        command: "unfurl deploy",
        files: &[
            (
                "ensemble.yaml",
                "the ensemble: what should exist, and what exists",
                include_str!("../../ensembles/webapp/ensemble.yaml"),
            ),
            (
                "app.py",
                "the app",
                include_str!("../../ensembles/webapp/app.py"),
            ),
            (
                "page.py",
                "writes the page of the site",
                include_str!("../../ensembles/webapp/page.py"),
            ),
            (
                "service.py",
                "starts, checks and stops a service",
                include_str!("../../ensembles/webapp/service.py"),
            ),
            (
                "README.md",
                "the commands to try",
                include_str!("../../ensembles/webapp/README.md"),
            ),
        ],
    },
];

impl Example {
    /// Returns the example with a name.
    pub fn named(name: &str) -> Result<&'static Self, Error> {
        let found = EXAMPLES.iter().find(|example| example.name == name);
        found.ok_or_else(|| {
            let names: Vec<String> = EXAMPLES
                .iter()
                .map(|example| format!("`{}` ({})", example.name, example.about))
                .collect();
            Error::UnknownExample {
                name: name.to_owned(),
                names: names.join(", "),
            }
        })
    }

    /// Returns the files of a copy.
    pub fn files(&self) -> Result<Vec<NewFile>, Error> {
        let own = self.files.iter();
        let own =
            own.map(|(path, purpose, text)| NewFile::new(path, without_outer_links(text), purpose));
        let mut files: Vec<NewFile> = own.collect();
        files.extend(git_files(&Skeleton::default())?);
        Ok(files)
    }

    /// Whether the example has an ensemble.
    pub fn has_ensemble(&self) -> bool {
        self.files.iter().any(|(path, ..)| *path == "ensemble.yaml")
    }
}

/// Returns the fewest files that deploy.
pub fn bare_files() -> Result<Vec<NewFile>, Error> {
    let text = include_str!("files/bare.yaml");
    let purpose = "the ensemble: what should exist, and what exists";
    let mut files = vec![NewFile::new("ensemble.yaml", text, purpose)];
    let git = git_files(&Skeleton::default())?;
    files.extend(
        git.into_iter()
            .filter(|file| file.path.ends_with(".gitignore")),
    );
    Ok(files)
}

/// Replaces Markdown links to files outside of the example by their texts.
fn without_outer_links(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(middle) = rest.find("](../") {
        let (before, link) = rest.split_at(middle);
        let (Some(start), Some(end)) = (before.rfind('['), link.find(')')) else {
            break;
        };
        plain.push_str(&before[..start]);
        plain.push_str(&before[start + 1..]);
        rest = &link[end + 1..];
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::fs;
    use std::path::Path;

    #[test]
    fn every_file_of_the_examples_is_in_the_program() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("ensembles");
        let mut there: Vec<String> = Vec::new();
        for entry in fs::walk(&folder, fs::WalkLimits::default()).unwrap() {
            let path = entry.path.strip_prefix(&folder).unwrap();
            if entry.kind == fs::EntryKind::File && path != Path::new("try.sh") {
                there.push(path.display().to_string());
            }
        }
        there.sort();
        let names = |example: &Example| {
            let files = example.files.iter();
            files
                .map(|(path, ..)| format!("{}/{path}", example.name))
                .collect::<Vec<_>>()
        };
        let mut known: Vec<String> = EXAMPLES.iter().flat_map(names).collect();
        known.sort();
        assert_eq!(known, there);
    }

    #[test]
    fn links_out_of_an_example_become_texts() {
        let text = "a [b](../../c.md), [d](e.md)\n[f](../g)";
        assert_eq!(without_outer_links(text), "a b, [d](e.md)\nf");
    }

    #[test]
    fn an_unknown_example_is_answered_with_the_known_ones() {
        let error = Example::named("helo").unwrap_err();
        insta::assert_snapshot!(error, @"there is no template `helo`");
        assert!(error.hint().unwrap().contains("`hello` (the smallest"));
    }
}
