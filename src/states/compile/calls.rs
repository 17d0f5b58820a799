//! Checks of the calls that states make: each function exists, has its required arguments, and no unknown ones (S45).
//!
//! Only states that are going to run are checked. Commands that show compiled states accept all calls, as Salt does.
//! Entries: [`HighData::check_calls`] and [`HighData::check_required`], called by the compile pipeline.

use std::sync::Arc;

use super::high_data::{
    ArgumentValue, HighData, IdDeclaration, StateArgument, StateDeclaration, StateItem,
    parse_arguments,
};
use super::keywords::{RequisiteKeyword, all_keywords, is_keyword};
use super::problem::StateFileProblem;
use super::salt_modules::is_module_of_salt;
use crate::diagnostic::{Diagnostic, Diagnostics, Span};
use crate::states::{MODULES, StateFunction, find, similar_function};
use crate::text::did_you_mean;
use crate::value::Value;

/// The arguments that each state takes, whatever its function.
const GENERAL_ARGUMENTS: [&str; 5] = ["fun", "name", "names", "order", "state"];

/// A state with the function that it calls by name.
struct StateCallSite<'a> {
    id: &'a Arc<str>,
    body: &'a IdDeclaration,
    module: &'a str,
    name: &'a str,
    span: Span,
    declared: &'a StateDeclaration,
}

/// A state that calls a known function.
struct StateToCheck<'a> {
    id: &'a Arc<str>,
    body: &'a IdDeclaration,
    module: &'a str,
    function: &'static StateFunction,
    declared: &'a StateDeclaration,
}

impl HighData {
    /// Reports each state whose function does not exist, or that has an argument which its function does not take.
    pub(super) fn check_calls(&self, problems: &mut Diagnostics) {
        for called in self.called_functions() {
            match called.find() {
                Ok(state) => state.check_arguments(problems),
                Err(unknown) => problems.push(unknown.unknown_function()),
            }
        }
    }

    /// Reports each state without an argument that its function requires.
    pub(super) fn check_required(&self, problems: &mut Diagnostics) {
        let states = self
            .called_functions()
            .filter_map(|called| called.find().ok());
        for state in states {
            state.check_required(problems);
        }
    }

    /// The calls of states with a function. A state without one was reported by `verify`.
    fn called_functions(&self) -> impl Iterator<Item = StateCallSite<'_>> {
        self.included_ids().flat_map(|(id, body)| {
            body.states.iter().filter_map(move |(module, declared)| {
                let named = declared.items.iter().find_map(|item| match item {
                    StateItem::Function(name, span) => Some((name, *span)),
                    StateItem::Arguments(_) => None,
                });
                let (name, span) = named?;
                Some(StateCallSite {
                    id,
                    body,
                    module,
                    name,
                    span,
                    declared,
                })
            })
        })
    }

    /// Returns true if a state copies arguments from another one or to it, so that its arguments are not known yet.
    pub(super) fn copies_arguments(&self) -> bool {
        let states = self.ids.values().flat_map(|body| body.states.values());
        let mut arguments = states.flat_map(StateDeclaration::arguments);
        arguments.any(|argument| matches!(&*argument.key, "use" | "use_in"))
    }
}

impl<'a> StateCallSite<'a> {
    /// Returns the state with its function, or itself if no such function exists.
    fn find(self) -> Result<StateToCheck<'a>, Self> {
        match find(self.module, self.name).1 {
            None => Err(self),
            Some(function) => Ok(StateToCheck {
                id: self.id,
                body: self.body,
                module: self.module,
                function,
                declared: self.declared,
            }),
        }
    }

    fn unknown_function(&self) -> Diagnostic {
        let (module, name) = (self.module, self.name);
        let (id, sls) = (Arc::clone(self.id), Arc::clone(&self.body.sls));
        let function = format!("{module}.{name}");
        if is_module_of_salt(module) {
            let problem = StateFileProblem::FunctionOfSalt { function, id, sls };
            return Diagnostic::error(problem).label(self.span, "").help(
            "remove the state, or do the same with a state that exists here, such as `cmd.run`; docs/states.md has the list",
        );
        }
        let problem = StateFileProblem::UnknownFunction { function, id, sls };
        let diagnostic = Diagnostic::error(problem).label(self.span, "");
        let hint = similar_function(MODULES, module, name)
            .or_else(|| did_you_mean(module, MODULES.iter().map(|module| module.name)));
        match hint {
            Some(hint) => diagnostic.help(hint),
            None => diagnostic,
        }
    }
}

impl StateToCheck<'_> {
    fn full_name(&self) -> String {
        format!("{}.{}", self.module, self.function.name)
    }

    fn check_arguments(&self, problems: &mut Diagnostics) {
        for argument in self.declared.arguments() {
            self.check_argument(argument, problems);
        }
        for (_, arguments) in self.arguments_of_names() {
            for argument in &arguments {
                self.check_argument(argument, problems);
            }
        }
    }

    /// The names in `names` with the arguments that belong to each of them.
    fn arguments_of_names(&self) -> Vec<(Arc<str>, Vec<StateArgument>)> {
        let mut found = Vec::new();
        for argument in self.declared.arguments() {
            let ("names", ArgumentValue::Value(Value::List(list))) =
                (&*argument.key, &argument.value)
            else {
                continue;
            };
            let maps = list.iter().filter_map(Value::as_map);
            let named = maps.filter_map(|map| map.first());
            found.extend(named.map(|(name, arguments)| {
                (Arc::clone(name), parse_arguments(arguments, argument.span))
            }));
        }
        found
    }

    fn check_argument(&self, argument: &StateArgument, problems: &mut Diagnostics) {
        let key = &*argument.key;
        let is_general = GENERAL_ARGUMENTS.contains(&key)
            || key.starts_with("__")
            || is_keyword(key)
            || RequisiteKeyword::parse(key).is_some();
        if is_general || argument.is_copied || self.function.takes(key) {
            return;
        }
        let (function, argument_name) = (self.full_name(), Arc::clone(&argument.key));
        let (id, sls) = (Arc::clone(self.id), Arc::clone(&self.body.sls));
        if self.function.lacks(key) {
            if matches!(&argument.value, ArgumentValue::Value(value) if !value.is_truthy()) {
                return;
            }
            let problem = StateFileProblem::UnsupportedArgument {
                argument: argument_name,
                function,
                id,
                sls,
            };
            problems.push(Diagnostic::error(problem).label(argument.key_span, ""));
            return;
        }
        let hint = self.similar_argument(key);
        if hint.is_none() && self.function.takes_more() {
            return;
        }
        let problem = StateFileProblem::UnknownArgument {
            argument: argument_name,
            function,
            id,
            sls,
        };
        let diagnostic = Diagnostic::error(problem).label(argument.key_span, "");
        problems.push(match hint {
            Some(hint) => diagnostic.help(hint),
            None => diagnostic,
        });
    }

    /// Returns a hint at an argument with a similar name. Nothing is known about functions that take anything.
    fn similar_argument(&self, key: &str) -> Option<String> {
        let own = || self.function.required().chain(self.function.optional());
        if self.function.takes_any() && own().all(|name| name == "*") {
            return None;
        }
        let own = own().filter(|name| *name != "*");
        did_you_mean(key, own.chain(GENERAL_ARGUMENTS).chain(all_keywords()))
    }

    fn check_required(&self, problems: &mut Diagnostics) {
        if self.function.required().next().is_none() {
            return;
        }
        let named = self.arguments_of_names();
        for key in self.function.required() {
            let mut given = self.declared.arguments().map(|argument| &*argument.key);
            let is_key = |argument: &StateArgument| &*argument.key == key;
            let is_named = |(_, arguments): &(_, Vec<StateArgument>)| arguments.iter().any(is_key);
            if given.any(|given| given == key) || named.iter().any(is_named) {
                continue;
            }
            let problem = StateFileProblem::MissingArgument {
                argument: key,
                function: self.full_name(),
                id: Arc::clone(self.id),
                sls: Arc::clone(&self.body.sls),
            };
            problems.push(Diagnostic::error(problem).label(self.declared.span, ""));
        }
    }
}
