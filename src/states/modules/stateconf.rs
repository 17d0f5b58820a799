//! The state module `stateconf`: states of the renderer of the same name, which hold parameters of a file or stand for
//! the whole file.

use crate::states::modules::decision::unchanged;
use crate::states::{StateFunction, StateModule};

pub(in crate::states) static MODULE: StateModule = StateModule {
    name: "stateconf",
    functions: &[
        StateFunction::new("set", |_, _| unchanged(""))
            .about("Holds parameters of a state file with the renderer `stateconf`.")
            .options("*"),
        StateFunction::new("context", |_, _| unchanged(""))
            .about("Does the same as `stateconf.set`.")
            .options("*"),
    ],
    watch: None,
    aggregate: None,
};
