//! The command `fact`: shows facts of hosts, such as Salt's grains.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map as JsonMap, Value as Json, json};

use crate::cli::args::format::HostOutput;
use crate::cli::args::state::{FactArgs, TreeOptions};
use crate::cli::output::{Context, Output};
use crate::cli::request::states::{ChosenHosts, chosen_hosts};
use crate::cli::screen::states::StatesScreen;
use crate::fleet::states::read_facts;
use crate::fleet::states::{FactsRequest, MachineFacts};
use crate::host::fact::{Fact, FactReading};
use crate::job::LogLevel;
use crate::ops::watch_signals;
use crate::ops::{Failure, FailureKind};
use crate::states::host_facts::{self, FactQuery, FactQueryError};
use crate::states::reference::GRAINS;
use crate::states::{FactCache, grains};
use crate::text::did_you_mean;
use crate::ui::{Table, group_hosts, host_list, nested, without_name};
use crate::value::{Map, Value};

/// The facts that a command line selects.
enum FactSelector {
    Grains,
    /// A single grain, and a hint at a similar name in case the grain does not exist.
    Grain(String, Option<String>),
    Named(FactQuery),
}

impl FactSelector {
    fn from_args(args: &FactArgs) -> Result<Self, Failure> {
        let Some(name) = &args.name else {
            return Ok(Self::Grains);
        };
        let refused = |error: FactQueryError| {
            let hint = error.hint().map(str::to_owned);
            Failure::new(FailureKind::Usage, &error, hint)
        };
        let mut arguments = BTreeMap::new();
        for word in &args.arguments {
            let Some((key, value)) = word.split_once('=') else {
                let message = format!("`{word}` is not an argument; write NAME=VALUE");
                return Err(Failure::usage(message));
            };
            arguments.insert(key.to_owned(), value.to_owned());
        }
        // A name in the spelling of a grain is that grain: `os` is the distribution, and `server.Os` the system.
        let is_grain = GRAINS.iter().any(|(grain, _)| grain == name);
        if is_grain && arguments.is_empty() {
            return Ok(Self::Grain(name.clone(), None));
        }
        match host_facts::find(name) {
            Ok(fact) => Ok(Self::Named(fact.query_with(arguments).map_err(refused)?)),
            // The set of grains is only known after they have been read, so an unknown plain name
            // may still be a grain.
            Err(error) if arguments.is_empty() && !name.contains('.') => {
                Ok(Self::Grain(name.clone(), error.hint().map(str::to_owned)))
            }
            Err(error) => Err(refused(error)),
        }
    }

    fn facts(&self) -> Vec<Fact> {
        match self {
            Self::Grains => grains::all_facts(),
            Self::Grain(name, _) => grains::facts_for(name),
            Self::Named(fact) => vec![fact.fact()],
        }
    }

    /// Computes the selected value from the readings of a machine.
    fn answer(&self, name: &str, readings: &[FactReading]) -> Result<Value, String> {
        let all = || {
            let mut facts = FactCache::default();
            for (fact, reading) in self.facts().into_iter().zip(readings) {
                facts.learn(fact, reading.clone());
            }
            grains::parse(&facts, name).map_err(|halt| format!("{halt:?}"))
        };
        match self {
            Self::Grains => all(),
            Self::Grain(grain, hint) => {
                let all = all()?;
                all.get(grain).cloned().ok_or_else(|| {
                    let grains = all.as_map().into_iter().flat_map(Map::keys);
                    let similar = did_you_mean(grain, grains.map(|name| &**name));
                    let hint = similar.or_else(|| hint.clone());
                    let hint = hint.map_or_else(String::new, |hint| format!("; {hint}"));
                    format!("there is no fact or grain `{grain}`{hint}")
                })
            }
            Self::Named(fact) => match readings.first() {
                Some(reading) => fact.parse_reading(reading),
                None => Err("the fact could not be read".to_owned()),
            },
        }
    }
}

/// Runs the command `fact` and returns the exit code.
pub(in crate::cli) fn fact(args: &FactArgs, cx: &Context) -> Result<u8, Failure> {
    let is_json = args.output == HostOutput::Json;
    if args.list {
        list_facts(is_json, &cx.output);
        return Ok(0);
    }
    show_facts(args, is_json, cx)
}

/// Prints a list of all known facts with their arguments.
fn list_facts(is_json: bool, output: &Output) {
    if is_json {
        let all = host_facts::all().map(|fact| {
            let arguments = fact.arguments.iter().map(|(name, _)| *name);
            json!({"name": fact.name, "about": fact.about, "arguments": arguments.collect::<Vec<_>>()})
        });
        output.json(&json!({ "facts": all.collect::<Vec<_>>() }));
        return;
    }
    let mut table = Table::new(&["Fact", "Arguments", "Description"])
        .prose(1)
        .prose(2);
    for fact in host_facts::all() {
        let arguments = fact.arguments.iter().map(|(name, usual)| match usual {
            Some(usual) => format!("{name}={usual}"),
            None => (*name).to_owned(),
        });
        let arguments: Vec<String> = arguments.collect();
        table.row([fact.name, &arguments.join(" "), fact.about]);
    }
    output.print_result(&table.render(output.table_layout()));
}

fn show_facts(args: &FactArgs, is_json: bool, cx: &Context) -> Result<u8, Failure> {
    let query = FactSelector::from_args(args)?;
    let options = TreeOptions::default();
    let chosen = chosen_hosts(&options, &args.hosts, cx)?;
    let over_hosts = chosen.is_some();
    let ChosenHosts {
        hosts, passwords, ..
    } = chosen.unwrap_or_else(|| ChosenHosts::this_machine("local"));
    let request = FactsRequest {
        facts: query.facts(),
        hosts,
        passwords,
        parallel: crate::cli::request::states::MAX_PARALLEL,
        sudo: args.sudo.clone(),
        connections: args.hosts.connection.pool_limits(),
        interrupts: watch_signals(),
    };
    let mut screen = StatesScreen::new(&cx.output, request.interrupts.clone());
    let read = read_facts(&request, &mut screen)?;
    drop(screen);
    let mut all = JsonMap::new();
    let (mut found, mut problems) = (Vec::new(), Vec::new());
    for MachineFacts { name, readings } in read {
        match readings.and_then(|readings| query.answer(&name, &readings)) {
            Ok(value) => {
                let mut text = String::new();
                nested(&value, 4, &mut text);
                found.push((Arc::clone(&name), text));
                all.insert(name.to_string(), json!(value));
            }
            Err(reason) => {
                problems.push((Arc::clone(&name), reason.clone()));
                all.insert(name.to_string(), json!({ "error": reason }));
            }
        }
    }
    let rows = problems.iter();
    let groups = group_hosts(rows.map(|(name, reason)| (&**name, without_name(reason, name))));
    for (reason, names) in groups {
        let only = problems.iter().find(|(name, _)| names == [&**name]);
        let reason = only.map_or(&reason, |(_, reason)| reason);
        let names = host_list(&names, usize::MAX);
        cx.output
            .message(LogLevel::Error, &format!("[{names}] {reason}"));
    }
    if is_json {
        let only = all.values().next().cloned().filter(|_| !over_hosts);
        cx.output.json(&only.unwrap_or(Json::Object(all)));
    } else {
        let groups = group_hosts(found.iter().map(|(name, text)| (&**name, text)));
        let blocks = groups
            .iter()
            .map(|(text, names)| format!("{}:\n{text}", host_list(names, usize::MAX)));
        cx.output.print_result(&blocks.collect::<String>());
    }
    Ok(match request.interrupts.first() {
        Some(signal) => u8::try_from(128 + signal).unwrap_or(130),
        None => u8::from(!problems.is_empty()),
    })
}
