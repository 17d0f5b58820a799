//! The template functions `lookup` and `query`, which run Ansible's lookup plugins. Plugins that only read
//! this machine always run; those that run a program or use the network need permission.
#![expect(
    clippy::needless_pass_by_value,
    reason = "the engine passes arguments by value"
)]

use std::sync::Arc;

use minijinja::State;
use minijinja::value::{Kwargs, Rest, Value as JinjaValue};

use crate::expr::effect::Effect;
use crate::expr::error::Error;
use crate::expr::evaluator::Evaluator;
use crate::expr::lazy::{LazyValue, Scene};
use crate::expr::reads::Read;
use crate::value::{List, Value};

use super::arguments::PREFIXES;
use super::error::Result;
use super::variables::Variables;
use super::{lookup_files, lookup_lists};
use crate::expr::lookup_options::{LookupOptions, lookup_error};

pub(super) fn lookup_function(
    state: &State,
    name: String,
    args: Rest<JinjaValue>,
    options: Kwargs,
) -> Result<JinjaValue> {
    let variables = Variables::from_state(state)?;
    let Some((mut results, returns_list)) = run_lookup(&variables, &name, &args, &options)? else {
        return Ok(JinjaValue::from(()));
    };
    let texts: Option<Vec<&str>> = results.iter().map(Value::as_str).collect();
    let item = match texts {
        _ if returns_list => results.into(),
        Some(texts) if !texts.is_empty() => texts.join(",").into(),
        _ if results.len() == 1 => results.swap_remove(0),
        _ => results.into(),
    };
    Ok(variables.engine_value(LazyValue::Value(item)))
}

pub(super) fn query_function(
    state: &State,
    name: String,
    args: Rest<JinjaValue>,
    options: Kwargs,
) -> Result<JinjaValue> {
    let variables = Variables::from_state(state)?;
    let results = run_lookup(&variables, &name, &args, &options)?;
    let results = results.map(|(results, _)| results).unwrap_or_default();
    Ok(variables.engine_value(LazyValue::Value(results.into())))
}

/// Returns the results and whether the caller wants a list. None if the lookup failed and the options ignore
/// errors.
fn run_lookup(
    variables: &Arc<Variables>,
    name: &str,
    args: &Rest<JinjaValue>,
    keyword_args: &Kwargs,
) -> Result<Option<(List, bool)>> {
    let args = args
        .iter()
        .map(|arg| variables.argument_value(arg))
        .collect::<Result<List>>()?;
    let mut options = LookupOptions::default();
    for option in keyword_args.args() {
        let value = variables.argument_value(&keyword_args.get::<JinjaValue>(option)?)?;
        options.0.insert(option.into(), value);
    }
    let lenient = matches!(options.text("errors").as_deref(), Some("ignore" | "warn"));
    let returns_list = options.flag("wantlist", false);
    match variables
        .evaluator
        .lookup(name, &args, &options, &variables.scene)
    {
        Ok(results) => {
            let tracker = variables.evaluator.tracker();
            let plain = results.into_iter().map(|it| tracker.note_data(it));
            Ok(Some((plain.collect(), returns_list)))
        }
        // A refused action and the end of the budget are reported even if the options ignore other errors.
        Err(error) if !lenient || error.is_final() => Err(variables.engine_error(error)),
        Err(_) => Ok(None),
    }
}

/// Returns the names of the variables that match the patterns. An error means an invalid pattern.
fn names_like(
    patterns: impl Iterator<Item = String>,
    scene: &Scene,
) -> std::result::Result<List, String> {
    let names = scene.context.vars.names();
    let mut found = List::new();
    for pattern in patterns {
        let regex = super::regexes::regex(&pattern, false, false);
        let regex = regex.map_err(|error| error.to_string())?;
        for name in &names {
            if regex.is_match(name).map_err(|error| error.to_string())? {
                found.push(Value::Str(Arc::clone(name)));
            }
        }
    }
    Ok(found)
}

impl Evaluator {
    /// Runs a lookup on its terms.
    pub(in crate::expr) fn lookup(
        &self,
        name: &str,
        terms: &[Value],
        options: &LookupOptions,
        scene: &Scene,
    ) -> std::result::Result<List, Error> {
        let short = PREFIXES[1..].iter().find_map(|it| name.strip_prefix(it));
        let name = short.unwrap_or(name);
        if name == "unfurl" {
            // This lookup alone evaluates its terms, so they keep the mark of data.
            let one = |term: &Value| {
                self.single_result(term, scene)
                    .and_then(|item| self.value_of(item))
            };
            return terms.iter().map(one).collect();
        }
        let terms: List = terms.iter().map(Value::without_data).collect();
        self.lookup_texts(name, &terms, options, scene)
    }

    /// Runs a lookup that does not evaluate its terms.
    fn lookup_texts(
        &self,
        name: &str,
        terms: &[Value],
        options: &LookupOptions,
        scene: &Scene,
    ) -> std::result::Result<List, Error> {
        let texts = || terms.iter().map(|term| term.reveal().to_string());
        let failed = |problem: String| lookup_error(name, problem);
        match name {
            "env" => {
                let default = options.0.get("default");
                let get = |name: String| match (self.env(&name, scene), default) {
                    (Some(value), _) if !value.is_empty() => {
                        self.variable_value(&name, value, scene)
                    }
                    (_, Some(default)) => default.clone(),
                    _ => "".into(),
                };
                Ok(texts().map(get).collect())
            }
            "vars" => {
                let get =
                    |name: String| match (self.variable(&name, scene)?, options.0.get("default")) {
                        (Some(item), _) => self.value_of(item),
                        (None, Some(default)) => Ok(default.clone()),
                        (None, None) => Err(failed(format!("`{name}` is not defined"))),
                    };
                texts().map(get).collect()
            }
            "varnames" => names_like(texts(), scene).map_err(failed),
            "items" | "list" | "flattened" | "dict" | "sequence" | "together" | "nested"
            | "indexed_items" | "subelements" => {
                lookup_lists::run(name, terms, options).map_err(failed)
            }
            "random_choice" => self.random_choice(terms).map_err(failed),
            "pipe" | "lines" | "url" => self.guarded_lookup(name, terms, options),
            "config" | "inventory_hostnames" => Err(failed(
                "the configuration and the inventory of Ansible are not supported".to_owned(),
            )),
            _ => match lookup_files::run(self, name, terms, options, scene) {
                Some(results) => results,
                None => Err(failed(format!(
                    "the lookup is not known; the known ones are {KNOWN_LOOKUPS}"
                ))),
            },
        }
    }

    /// Returns a random item of the terms. Empty if no items exist.
    fn random_choice(&self, terms: &[Value]) -> std::result::Result<List, String> {
        self.tracker().record_read(Read::Volatile, None);
        let mut items: List = terms.iter().flat_map(lookup_lists::items_of).collect();
        let mut bytes = [0; 8];
        let filled = self.system().random(&mut bytes);
        filled.map_err(|problem| problem.to_string())?;
        let count = items.len().max(1) as u64;
        let place = usize::try_from(u64::from_be_bytes(bytes) % count).unwrap_or_default();
        Ok(if items.is_empty() {
            items
        } else {
            vec![items.swap_remove(place)]
        })
    }

    /// Runs a lookup that starts a program or uses the network, if the user allows it.
    fn guarded_lookup(
        &self,
        name: &str,
        terms: &[Value],
        options: &LookupOptions,
    ) -> std::result::Result<List, Error> {
        let action = if name == "url" {
            "uses the network"
        } else {
            "runs a program"
        };
        self.check_permission(name, action)?;
        self.tracker().record_read(Read::Volatile, None);
        let mut results = List::new();
        for term in terms {
            let term = term.reveal().to_string();
            let effect = match name {
                "url" => Effect::Fetch { url: term },
                _ => Effect::Run {
                    command: vec!["/bin/sh".to_owned(), "-c".to_owned(), term],
                },
            };
            let answer = self.perform(&effect);
            let answer = answer.map_err(|problem| lookup_error(name, problem.to_string()))?;
            let text = String::from_utf8_lossy(&answer.output).into_owned();
            match name {
                "pipe" => results.push(text.trim_end().into()),
                "url" if !options.flag("split_lines", true) => results.push(text.into()),
                _ => results.extend(text.lines().map(Value::from)),
            }
        }
        Ok(results.into_iter().map(|it| self.foreign(it)).collect())
    }
}

const KNOWN_LOOKUPS: &str = "`csvfile`, `dict`, `env`, `file`, `fileglob`, `first_found`, \
    `indexed_items`, `ini`, `items`, `lines`, `list`, `nested`, `password`, `pipe`, \
    `random_choice`, `sequence`, `subelements`, `template`, `together`, `unfurl`, `unvault`, \
    `url`, `varnames` and `vars`";
