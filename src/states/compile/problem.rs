//! The errors that the state compiler reports about state files and top files.

use std::sync::Arc;

use super::keywords::RequisiteKeyword;

/// An error in state files (S5–S10, S20, S21). The messages use the terms of Salt, so that Salt users
/// recognize them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StateFileProblem {
    #[error("no matching SLS found for `{name}` in env `{env}`")]
    NoSls { name: String, env: Arc<str> },
    #[error("specified SLS `{name}` in saltenv `{env}` is not available in any file root")]
    IncludeMissing { name: String, env: Arc<str> },
    #[error("nonexistent saltenv `{env}` found in include of `{name}`")]
    IncludeEnv { name: String, env: String },
    #[error("no matching salt environment for environment `{env}` found")]
    NoEnvironment { env: Arc<str> },
    #[error(
        "attempted relative include of `{name}` within SLS `{env}:{sls}` goes beyond the top level package"
    )]
    IncludeTooDeep {
        name: String,
        sls: Arc<str>,
        env: Arc<str>,
    },
    #[error(
        "the name of ID `{id}` in SLS `{sls}` is a secret, but names appear in output and logs: pass the secret in `env`, `contents` or another argument"
    )]
    SecretName { id: Arc<str>, sls: Arc<str> },
    #[error(
        "an entry of `include` must be the name of an SLS, or a map from an environment to an SLS, not {found}"
    )]
    IncludeShape { found: &'static str },
    #[error("the {word} declaration in SLS `{sls}` is not formed as a list")]
    NotAList { word: &'static str, sls: Arc<str> },
    #[error("the extension in SLS `{sls}` is not a dictionary")]
    ExtendShape { sls: Arc<str> },
    #[error("rendering SLS `{env}:{sls}` failed: {problem}")]
    Render {
        sls: Arc<str>,
        env: Arc<str>,
        problem: String,
    },
    #[error("SLS `{sls}` does not render to a dictionary")]
    NotADictionary { sls: Arc<str> },
    #[error("ID `{id}` in SLS `{sls}` is not a dictionary")]
    IdNotADictionary { id: Arc<str>, sls: Arc<str> },
    #[error(
        "ID `{id}` in SLS `{sls}` is not formed as a string, but is {found}; it may need to be quoted"
    )]
    IdNotAString {
        id: String,
        sls: Arc<str>,
        found: &'static str,
    },
    #[error("ID `{id}` in SLS `{sls}` contains multiple state declarations of the same type")]
    SameStateTwice { id: Arc<str>, sls: Arc<str> },
    #[error(
        "detected conflicting IDs, SLS IDs need to be globally unique: `{id}` is found in SLS `{first}` and SLS `{second}`"
    )]
    ConflictingIds {
        id: Arc<str>,
        first: Arc<str>,
        second: Arc<str>,
    },
    #[error(
        "ID `{id}` in SLS `{sls}` contains a short declaration ({state}) with a trailing colon; without arguments the colon must be omitted"
    )]
    TrailingColon {
        id: Arc<str>,
        sls: Arc<str>,
        state: Arc<str>,
    },
    #[error("state `{id}` in SLS `{sls}` is not formed as a list")]
    StateNotAList { id: Arc<str>, sls: Arc<str> },
    #[error(
        "the function `{function}` in state `{id}` in SLS `{sls}` has whitespace; perhaps this is an argument that is missing a `:`"
    )]
    Whitespace {
        function: Arc<str>,
        id: Arc<str>,
        sls: Arc<str>,
    },
    #[error("no function declared in state `{id}` in SLS `{sls}`")]
    NoFunction { id: Arc<str>, sls: Arc<str> },
    #[error(
        "too many functions declared in state `{id}` in SLS `{sls}`, choose one of: {functions}"
    )]
    TooManyFunctions {
        id: Arc<str>,
        sls: Arc<str>,
        functions: String,
    },
    #[error("the `names` argument in state `{id}` in SLS `{sls}` needs to be formed as a list")]
    NamesNotAList { id: Arc<str>, sls: Arc<str> },
    #[error("the {word} statement in state `{id}` in SLS `{sls}` needs to be formed as a list")]
    RequisiteNotAList {
        word: RequisiteKeyword,
        id: Arc<str>,
        sls: Arc<str>,
    },
    #[error(
        "requisite declaration `{written}` in state `{id}` in SLS `{sls}` is not formed as a single key dictionary"
    )]
    RequisiteShape {
        written: String,
        id: Arc<str>,
        sls: Arc<str>,
    },
    #[error(
        "invalid requisite type `{key}` in state `{id}`, in SLS `{sls}`: requisite types must not contain dots, did you mean `{short}`?"
    )]
    RequisiteDot {
        key: Arc<str>,
        short: String,
        id: Arc<str>,
        sls: Arc<str>,
    },
    #[error("illegal requisite `{written}` in SLS `{sls}`, please check your syntax")]
    RequisiteIllegal { written: String, sls: Arc<str> },
    #[error(
        "requisite [{word}: {key}] in state [{name}] in SLS [{sls}] must have a string as the value"
    )]
    RequisiteValue {
        word: RequisiteKeyword,
        key: Arc<str>,
        name: Arc<str>,
        sls: Arc<str>,
    },
    #[error("multiple dictionaries defined in argument of state `{id}` in SLS `{sls}`")]
    ManyDictionaries { id: Arc<str>, sls: Arc<str> },
    #[error("a recursive requisite was found, SLS `{sls}` ID `{id}` ID `{other}`")]
    Mutual {
        sls: Arc<str>,
        id: Arc<str>,
        other: Arc<str>,
    },
    #[error("recursive requisites were found: {edges}")]
    Recursive { edges: String },
    #[error("cannot extend ID `{id}` in `{env}:{sls}`: it is not part of the high state")]
    CannotExtend {
        id: Arc<str>,
        env: Arc<str>,
        sls: Arc<str>,
    },
    #[error("cannot extend ID `{id}` in `{env}:{sls}`: several states have this name")]
    Ambiguous {
        id: Arc<str>,
        env: Arc<str>,
        sls: Arc<str>,
    },
    #[error(
        "referenced state does not exist for requisite [{word}: ({key}: {value})] in state [{name}] in SLS [{sls}]"
    )]
    MissingRequisite {
        word: RequisiteKeyword,
        key: Arc<str>,
        value: Arc<str>,
        name: Arc<str>,
        sls: Arc<str>,
    },
    #[error("the state function `{function}` of state `{id}` in SLS `{sls}` does not exist")]
    UnknownFunction {
        function: String,
        id: Arc<str>,
        sls: Arc<str>,
    },
    #[error(
        "the state function `{function}` of state `{id}` in SLS `{sls}` is one of Salt's that this program does not have"
    )]
    FunctionOfSalt {
        function: String,
        id: Arc<str>,
        sls: Arc<str>,
    },
    #[error("`{function}` has no argument `{argument}` (state `{id}` in SLS `{sls}`)")]
    UnknownArgument {
        argument: Arc<str>,
        function: String,
        id: Arc<str>,
        sls: Arc<str>,
    },
    #[error(
        "the argument `{argument}` of `{function}` is not supported (state `{id}` in SLS `{sls}`)"
    )]
    UnsupportedArgument {
        argument: Arc<str>,
        function: String,
        id: Arc<str>,
        sls: Arc<str>,
    },
    #[error("`{function}` needs the argument `{argument}` (state `{id}` in SLS `{sls}`)")]
    MissingArgument {
        argument: &'static str,
        function: String,
        id: Arc<str>,
        sls: Arc<str>,
    },
    #[error("{0}")]
    Top(String),
}
