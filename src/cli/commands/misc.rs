//! `schema`, `recover`, `version`, `completions` and `man`.

use crate::cli::arguments::{Global, RecoverArgs, SchemaArg};
use crate::cli::commands::job::home;
use crate::cli::output::Output;
use crate::ops::{self, SessionOptions};

/// The version of Unfurl whose formats are followed.
const FOLLOWED: &str = "1.2.0";

/// Prints the version.
pub(in crate::cli) fn version(semver: bool, output: &Output) -> u8 {
    if semver {
        output.answer(&format!("{FOLLOWED}\n"));
    } else {
        let own = env!("CARGO_PKG_VERSION");
        output.answer(&format!(
            "unfurl version {own} (compatible with {FOLLOWED})\n"
        ));
    }
    0
}

/// Prints a schema.
pub(in crate::cli) fn schema(of: SchemaArg, output: &Output) -> u8 {
    let of = match of {
        SchemaArg::Ensemble => ops::schema::SchemaOf::Ensemble,
        SchemaArg::Project => ops::schema::SchemaOf::Project,
        SchemaArg::Tasks => ops::schema::SchemaOf::Tasks,
    };
    output.json(&ops::schema::schema(of));
    0
}

/// Prints a completion script.
pub(in crate::cli) fn completions(
    shell: clap_complete::Shell,
    command: &mut clap::Command,
    output: &Output,
) -> u8 {
    let mut script = Vec::new();
    clap_complete::generate(shell, command, "unfurl", &mut script);
    output.answer(&String::from_utf8_lossy(&script));
    0
}

/// Prints the manual page.
pub(in crate::cli) fn man(command: clap::Command, output: &Output) -> u8 {
    let mut page = Vec::new();
    match clap_mangen::Man::new(command).render(&mut page) {
        Ok(()) => {
            output.answer(&String::from_utf8_lossy(&page));
            0
        }
        Err(_) => 70,
    }
}

/// Takes back what could not be saved.
pub(in crate::cli) fn recover(args: &RecoverArgs, global: &Global, output: &Output) -> u8 {
    // A file alone is one of the ensemble here.
    let is_file = args.file.is_none() && args.ensemble.ends_with(".rescue");
    let (ensemble, file) = if is_file {
        (
            String::new(),
            Some(std::path::PathBuf::from(&args.ensemble)),
        )
    } else {
        (args.ensemble.clone(), args.file.clone())
    };
    let options = SessionOptions {
        ensemble,
        home: home(global, output),
        ..SessionOptions::default()
    };
    match ops::rescue::recover(&options, file.as_deref(), "unfurl recover") {
        Ok(text) => {
            output.answer(&text);
            0
        }
        Err(failure) => output.failure(&failure, false),
    }
}
