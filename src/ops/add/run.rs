//! Adds a node template: finds the ensemble, makes the text, checks the result, and writes it.

use std::path::{Path, PathBuf};

use super::ansible::{AnsibleNode, ansible_template};
use super::gitignore::IgnoreLines;
use super::insertion::{Insertion, NewTemplate, with_templates};
use super::request::{AddReport, AddRequest, AnsibleSource, NewNode};
use super::terraform::{TerraformNode, VariableValue, example_template, terraform_template};
use crate::ops::failure::{Failure, FailureKind};
use crate::ops::replaced_text::replace_text;
use crate::ops::terraform_module::TerraformModule;
use crate::project::OutsideError;
use crate::session::{self, EnsembleLocation, Session};
use crate::system::fs;
use crate::value::{Map, Value};
use crate::yaml::{self, Schema};

/// The comment at the top of a node template for a module.
const ABOUT: &str =
    "Terraform creates this node on `unfurl deploy` and destroys it on `unfurl teardown`.";

/// Adds a node template to an ensemble. A dry run writes nothing.
///
/// # Errors
///
/// There is no ensemble, it has errors, the name is taken, a file is missing, or the text cannot be edited in place.
/// Nothing was written then.
pub fn add(request: &AddRequest) -> Result<AddReport, Failure> {
    let location = session::find(&request.session)?;
    let session = session::load(location.clone(), &request.session)?;
    let draft = match &request.node {
        NewNode::Terraform { module } => terraform_draft(request, module.as_deref(), &session)?,
        NewNode::Ansible(source) => ansible_draft(request, source, &session)?,
    };
    let name = request.name.clone().unwrap_or(draft.default_name);
    check_name(&name)?;
    check_free_name(&session, &name)?;
    let template = NewTemplate {
        name: name.clone(),
        body: draft.body,
    };
    let file = session.manifest.path().to_owned();
    let inserted = with_templates(&file, session.manifest.text(), &[template])?;
    let mut notes = draft.notes;
    if let Some(ignored) = &draft.ignored {
        notes.push(ignored.note());
        if !request.dry_run {
            ignored.append()?;
        }
    }
    save(&location, &session, &inserted, request.dry_run)?;
    Ok(AddReport {
        name,
        configurator: draft.configurator,
        file,
        line: inserted.line,
        text: inserted.added,
        dry_run: request.dry_run,
        notes,
        next: draft.next,
    })
}

/// A node template without its name.
struct Draft {
    default_name: String,
    body: String,
    configurator: &'static str,
    /// The lines that `.gitignore` needs.
    ignored: Option<IgnoreLines>,
    notes: Vec<String>,
    next: Vec<String>,
}

fn terraform_draft(
    request: &AddRequest,
    folder: Option<&Path>,
    session: &Session,
) -> Result<Draft, Failure> {
    let next = vec!["unfurl plan".to_owned()];
    let Some(folder) = folder else {
        let text = match &request.variables[..] {
            [] => "hello".to_owned(),
            [(name, value)] if name == "text" => value.clone(),
            _ => {
                return Err(Failure::usage(
                    "the example has the variable `text` only; name a module with `--module`",
                ));
            }
        };
        return Ok(Draft {
            default_name: "terraform_example".to_owned(),
            body: example_template(&Value::from(text)),
            configurator: "Terraform",
            ignored: None,
            notes: Vec::new(),
            next,
        });
    };
    let base = session.manifest.base_dir();
    let folder = existing_folder(folder)?;
    check_readable(session, &folder)?;
    let module = TerraformModule::read(&folder)?;
    let (variables, secrets) = variable_values(&module, &request.variables)?;
    let mut notes: Vec<String> = secrets
        .iter()
        .map(|name| format!("the variable `{name}` is sensitive: its value is the secret `{name}`"))
        .collect();
    if let Some(backend) = &module.backend {
        notes.push(format!(
            "the backend `{backend}` of the module is not used, because another module calls it: Unfurl keeps the state; \
             `unfurl import terraform` takes over resources that exist already"
        ));
    }
    let set = secrets
        .iter()
        .map(|name| format!("unfurl secret set {name}"));
    Ok(Draft {
        default_name: name_of_path(&folder, "terraform"),
        body: terraform_template(&TerraformNode {
            folder: &relative_path(&folder, base),
            module: &module,
            variables: &variables,
            about: ABOUT,
        }),
        configurator: "Terraform",
        ignored: None,
        notes,
        next: set.chain(next).collect(),
    })
}

/// Returns the values of a module's variables, and the names of the secrets among them.
fn variable_values(
    module: &TerraformModule,
    given: &[(String, String)],
) -> Result<(Vec<VariableValue>, Vec<String>), Failure> {
    let mut values = Vec::new();
    let mut secrets = Vec::new();
    for (name, text) in given {
        let Some(variable) = module.variable(name) else {
            let names: Vec<_> = module
                .variables
                .iter()
                .map(|it| format!("`{}`", it.name))
                .collect();
            let message = format!("the module has no variable `{name}`");
            let help = format!("its variables are: {}", names.join(", "));
            return Err(Failure::usage_with(message, &help));
        };
        if variable.is_sensitive {
            let message = format!(
                "the variable `{name}` is sensitive, so its value must not stand in the ensemble"
            );
            let help = format!(
                "leave out `--var {name}`, and set the secret with `unfurl secret set {name}`"
            );
            return Err(Failure::usage_with(message, &help));
        }
        values.push(VariableValue {
            name: name.clone(),
            value: value_of_text(text),
        });
    }
    let is_given = |name: &str| given.iter().any(|(given, _)| given == name);
    let missing = module
        .variables
        .iter()
        .filter(|it| it.is_required && !is_given(&it.name));
    let (sensitive, missing): (Vec<_>, Vec<_>) = missing.partition(|it| it.is_sensitive);
    if !missing.is_empty() {
        let names: Vec<_> = missing.iter().map(|it| format!("`{}`", it.name)).collect();
        let message = format!("the module needs a value for {}", names.join(", "));
        let help = format!(
            "add `--var {} VALUE`; a value may be an expression",
            missing[0].name
        );
        return Err(Failure::usage_with(message, &help));
    }
    for variable in sensitive {
        let secret = Value::map([("secret", Value::from(variable.name.as_str()))]);
        values.push(VariableValue {
            name: variable.name.clone(),
            value: Value::map([("eval", secret)]),
        });
        secrets.push(variable.name.clone());
    }
    Ok((values, secrets))
}

/// Returns the value of a text from the command line: a list or a map if it is one, else the text.
///
/// Terraform and Ansible convert texts to numbers themselves, and a text such as `1.10` must stay as it is.
pub fn value_of_text(text: &str) -> Value {
    if text.starts_with(['[', '{']) && !text.starts_with("{{") && !text.starts_with("{%") {
        let parsed = yaml::parse_text(Schema::Core, text).map(|node| node.to_value());
        if let Ok(value @ (Value::List(_) | Value::Map(_))) = parsed {
            return value;
        }
    }
    Value::from(text)
}

fn ansible_draft(
    request: &AddRequest,
    source: &AnsibleSource,
    session: &Session,
) -> Result<Draft, Failure> {
    let playbook = source
        .playbook
        .as_deref()
        .map(existing_playbook)
        .transpose()?;
    let inventory = source
        .inventory
        .as_deref()
        .map(|path| existing(path, "the inventory"))
        .transpose()?;
    let base = session.manifest.base_dir();
    for path in playbook.iter().chain(&inventory) {
        check_readable(session, path)?;
    }
    let default_name = match &playbook {
        Some(path) => name_of_path(&path.with_extension(""), "ansible"),
        None => "ansible_example".to_owned(),
    };
    let ignored = IgnoreLines::needed(session, playbook.as_deref())?;
    let variables = request.variables.iter();
    let variables = variables.map(|(name, text)| (name.as_str().into(), value_of_text(text)));
    let node = AnsibleNode {
        playbook: playbook.map(|path| relative_path(&path, base)),
        inventory: inventory.map(|path| relative_path(&path, base)),
        variables: variables.collect::<Map>(),
    };
    Ok(Draft {
        default_name,
        body: ansible_template(&node),
        configurator: "Ansible",
        ignored,
        notes: Vec::new(),
        next: vec!["unfurl plan".to_owned()],
    })
}

fn existing(path: &Path, kind: &str) -> Result<PathBuf, Failure> {
    let cwd = session::current_dir()?;
    let full = fs::normalize(&fs::absolute(path, &cwd));
    if fs::exists(&full) {
        return Ok(full);
    }
    let message = format!("{kind} `{}` does not exist", path.display());
    let help = format!("the path counts from `{}`", cwd.display());
    Err(Failure::new(FailureKind::Refused, message, Some(help)))
}

fn existing_folder(path: &Path) -> Result<PathBuf, Failure> {
    let full = existing(path, "the folder of the module")?;
    if fs::is_dir(&full) {
        return Ok(full);
    }
    let message = format!("`{}` is a file, not the folder of a module", path.display());
    let help = "name the folder that contains the `.tf` files".to_owned();
    Err(Failure::new(FailureKind::Refused, message, Some(help)))
}

/// Returns the path of a playbook, which must be a list in YAML.
fn existing_playbook(path: &Path) -> Result<PathBuf, Failure> {
    let full = existing(path, "the playbook")?;
    let text = fs::read_to_string(&full)?;
    let problem = match yaml::parse_text(Schema::Core, &text) {
        Ok(node) if node.as_seq().is_some() => return Ok(full),
        Ok(_) => "it is no list of plays".to_owned(),
        Err(reason) => reason,
    };
    let message = format!("`{}` is not a playbook: {problem}", path.display());
    let help = "a playbook is a YAML file with a list of plays or tasks".to_owned();
    Err(Failure::new(FailureKind::Refused, message, Some(help)))
}

/// Returns the path of a file or folder from another folder, both absolute. It begins with `./` or `../`, so that it is
/// seen to be a path.
pub fn relative_path(path: &Path, base: &Path) -> String {
    let base = fs::canonicalize(base).unwrap_or_else(|_| base.to_owned());
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    fs::dotted_path(&path, &base).to_string_lossy().into_owned()
}

/// Returns a name for a template after the last part of a path.
fn name_of_path(path: &Path, fallback: &str) -> String {
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    let is_fit = |name: &String| check_name(name).is_ok();
    name.filter(is_fit).unwrap_or_else(|| fallback.to_owned())
}

/// Checks the name of a new template: letters, digits, `_`, `-` and `.`, beginning with a letter or `_`.
pub fn check_name(name: &str) -> Result<(), Failure> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let starts = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
    if starts && name.chars().all(is_part) && name.len() <= 200 {
        return Ok(());
    }
    let message = format!("`{name}` cannot be the name of a node template");
    let help = "choose a name of letters, digits, `_`, `-` and `.` that begins with a letter";
    Err(Failure::usage_with(message, help))
}

/// Checks that jobs of the ensemble may read a file or folder.
pub fn check_readable(session: &Session, path: &Path) -> Result<(), Failure> {
    session.scope.resolve(path).map(drop).map_err(|error| {
        let help = format!("move it into the project; {}", OutsideError::help());
        Failure::new(FailureKind::Refused, error, Some(help))
    })
}

/// Checks that neither the model nor the record has something with the name.
pub fn check_free_name(session: &Session, name: &str) -> Result<(), Failure> {
    let place = if session.service.topology.nodes.contains_key(name) {
        "the model has a node template"
    } else if is_recorded(session, name) {
        "the record has an instance"
    } else {
        return Ok(());
    };
    let message = format!("{place} `{name}` already");
    let help = "choose another name with `--name`".to_owned();
    Err(Failure::new(FailureKind::Refused, message, Some(help)))
}

/// Returns true if the record has an instance with a name.
pub fn is_recorded(session: &Session, name: &str) -> bool {
    has_instance(&session.manifest.status(), name, 0)
}

fn has_instance(status: &Value, name: &str, depth: usize) -> bool {
    let instances = status.as_map().and_then(|map| map.get("instances"));
    let instances = instances.and_then(Value::as_map);
    depth < 64
        && instances.is_some_and(|instances| {
            instances.contains_key(name)
                || instances
                    .values()
                    .any(|inner| has_instance(inner, name, depth + 1))
        })
}

/// Checks that the new text loads, and writes it. A dry run only checks.
pub fn save(
    location: &EnsembleLocation,
    session: &Session,
    inserted: &Insertion,
    dry_run: bool,
) -> Result<(), Failure> {
    let mut preview = location.clone();
    preview.replace_manifest(&inserted.text);
    session::load(preview, &session.options)?;
    if dry_run {
        return Ok(());
    }
    replace_text(
        session.manifest.path(),
        &inserted.text,
        session.manifest.text(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_paths_begin_with_dots() {
        let path = |path: &str, base: &str| relative_path(Path::new(path), Path::new(base));
        assert_eq!(path("/p/tf", "/p"), "./tf");
        assert_eq!(path("/p", "/p"), ".");
        assert_eq!(path("/p/a/tf", "/p/ensemble/x"), "../../a/tf");
    }

    #[test]
    fn values_are_lists_and_maps_or_texts() {
        assert_eq!(value_of_text("1.10"), Value::from("1.10"));
        assert_eq!(
            value_of_text("[1, a]"),
            Value::list([Value::Int(1), Value::from("a")])
        );
        assert_eq!(value_of_text("{{ x }}"), Value::from("{{ x }}"));
        assert_eq!(value_of_text("[1"), Value::from("[1"));
    }

    #[test]
    fn names_are_checked() {
        for name in ["web", "_a.b-c", "é1"] {
            check_name(name).unwrap();
        }
        for name in ["", "1a", "a b", "a:b", "-a", "a\n"] {
            check_name(name).unwrap_err();
        }
    }
}
