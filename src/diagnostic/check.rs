//! The names of the checks that find problems. `docs/checks.md` describes each of them.

/// Declares the checks with their names.
macro_rules! checks {
    (#[doc = $first_doc:literal] $first:ident = $first_name:literal,
     $(#[doc = $doc:literal] $variant:ident = $name:literal,)*) => {
        /// The check that found a problem. Users name it in ignore comments and baselines.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
        pub enum Check {
            #[doc = $first_doc]
            #[default]
            $first,
            $(#[doc = $doc] $variant,)*
        }

        impl Check {
            /// All checks, in the order of `docs/checks.md`.
            pub const ALL: &'static [Self] = &[Self::$first, $(Self::$variant,)*];

            /// Returns the name: lowercase words with hyphens.
            pub fn name(self) -> &'static str {
                match self {
                    Self::$first => $first_name,
                    $(Self::$variant => $name,)*
                }
            }

            /// Returns a sentence that says what the check finds.
            pub fn summary(self) -> &'static str {
                match self {
                    Self::$first => $first_doc,
                    $(Self::$variant => $doc,)*
                }
            }
        }
    };
}

checks! {
    /// A problem of reading a file or of the project around it.
    Load = "load",
    /// Text that is no YAML.
    YamlSyntax = "yaml-syntax",
    /// A key that occurs twice in a map.
    DuplicateKey = "duplicate-key",
    /// A key that its section does not have.
    UnknownKey = "unknown-key",
    /// A key that is read and has no effect.
    UnusedKey = "unused-key",
    /// A value of another YAML type than its key takes.
    WrongKind = "wrong-kind",
    /// An import or include that cannot be read.
    Import = "import",
    /// An import from the network that was not fetched.
    ImportNotFetched = "import-not-fetched",
    /// A type that nothing declares.
    UnknownType = "unknown-type",
    /// Types that derive from each other in a circle.
    TypeCycle = "type-cycle",
    /// A definition of a type that is not valid.
    InvalidType = "invalid-type",
    /// A property that its type does not declare.
    UndeclaredProperty = "undeclared-property",
    /// A required property without a value.
    MissingProperty = "missing-property",
    /// A value that does not have the declared type.
    WrongType = "wrong-type",
    /// A value that a constraint refuses.
    Constraint = "constraint",
    /// An input that nothing declares.
    UndeclaredInput = "undeclared-input",
    /// A required input without a value.
    MissingInput = "missing-input",
    /// A function that reads a node template that does not exist.
    UnknownTemplate = "unknown-template",
    /// A function that reads a property or attribute that nothing declares.
    UnknownAttribute = "unknown-attribute",
    /// A function that reads an artifact that nothing declares.
    UnknownArtifact = "unknown-artifact",
    /// A map that looks like the call of a function that does not exist.
    UnknownFunction = "unknown-function",
    /// A path of an expression that leads nowhere.
    EmptyPath = "empty-path",
    /// A template or an expression with a syntax error.
    TemplateSyntax = "template-syntax",
    /// A variable of a template that no scope has.
    UnknownVariable = "unknown-variable",
    /// A filter or test of a template that does not exist.
    UnknownFilter = "unknown-filter",
    /// A requirement that the type of its node does not declare.
    UndeclaredRequirement = "undeclared-requirement",
    /// A required requirement that is missing.
    MissingRequirement = "missing-requirement",
    /// A requirement whose target does not exist.
    UnknownTarget = "unknown-target",
    /// A target without the capability that its requirement needs.
    MissingCapability = "missing-capability",
    /// Templates that require each other in a circle.
    RequirementCycle = "requirement-cycle",
    /// An operation that its interface does not declare.
    UnknownOperation = "unknown-operation",
    /// A configurator that does not exist.
    UnknownConfigurator = "unknown-configurator",
    /// An input that the configurator does not take.
    UnknownConfiguratorInput = "unknown-configurator-input",
    /// An operation without a required input of its configurator.
    MissingConfiguratorInput = "missing-configurator-input",
    /// An implementation or script that does not exist.
    MissingFile = "missing-file",
    /// A task or a state file that an operation names and that does not exist.
    MissingSource = "missing-source",
    /// An `operation_host` that is no instance.
    UnknownHost = "unknown-host",
    /// A workflow with steps, targets or activities that do not exist.
    InvalidWorkflow = "invalid-workflow",
    /// A substitution that maps what does not exist.
    InvalidSubstitution = "invalid-substitution",
    /// A part of TOSCA that this program does not support.
    Unsupported = "unsupported",
    /// A finding of `shellcheck` in a command.
    Shell = "shellcheck",
    /// An ignore comment that is malformed or has no reason.
    InvalidIgnore = "invalid-ignore",
    /// An ignore comment that ignores nothing.
    UnusedIgnore = "unused-ignore",
    /// An entry of a baseline that matches no finding.
    UnusedBaseline = "unused-baseline",
}
