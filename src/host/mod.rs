//! Machines: the actions they perform, their locations, and how they are reached.
//!
//! [`ActionRequest`] is the input and [`ActionResult`] the output of one action; [`ConnectionPool`]
//! performs actions on other machines. The order of actions is decided by the callers: `tasks` and
//! jobs, through the driver in `exec`.

mod action;
mod address;
pub(crate) mod batch;
mod capture;
mod capture_buffer;
mod chain;
pub mod change;
mod channel_io;
mod deferred_output;
mod delivery;
mod download_limits;
mod executor;
pub mod fact;
mod function_call;
mod input_writer;
mod interactive;
pub mod inventory;
mod local_copy;
mod local_home;
mod location;
mod location_error;
mod mark_filter;
mod mirror;
mod names;
pub(crate) mod native;
mod output;
mod output_reader;
mod packed_upload;
mod passwords;
mod pattern;
mod perform;
mod private;
mod program_input;
mod raw_command;
mod remote_command;
mod remote_fs;
mod remote_shell;
mod request;
pub mod resolver;
mod script;
pub mod services;
mod sftp;
mod shell_entry;
mod shell_fs;
mod shell_login;
mod signals;
mod socks;
mod ssh;
pub mod ssh_config;
mod ssh_program;
mod transfer;
mod transfer_error;
mod transfer_files;
mod transfer_globs;
mod transfer_progress;
mod transfer_settings;
mod transport;
mod variables;

pub use action::{
    Action, Background, Command, Content, DEFAULT_SHELL, Get, Program, PromptAnswer, Put, Question,
};
pub use address::{Address, AddressError, DEFAULT_PORT, HostParts};
pub use capture::{
    CapturedOutput, DEFAULT_CAPTURE_LIMIT, DEFAULT_TOTAL_CAPTURE_LIMIT, IncompleteOutput,
};
pub use capture_buffer::{CaptureBudget, CaptureBuffer};
pub use chain::{BecomeUser, ChainExecutor, ExecutorChain, Spread, UnhandledPolicy};
pub use deferred_output::{DeferredOutput, UnavailableOutput};
pub use delivery::Delivery;
pub use executor::{
    ChainContext, ChainNote, ChainProgress, ChainRun, ChainSpec, ExecutorConfiguration,
    ExecutorEnvironment, ExecutorError,
};
pub use function_call::FunctionCall;
pub use interactive::{Forward, ForwardEndpoint, Forwarding, Terminal};
pub use location::{
    AlgorithmSettings, Container, Destination, DialSettings, HostKeyPolicy, Identities, Location,
    LoginMethod, Route, Secret,
};
pub use location_error::LocationError;
pub use names::{NameError, check_host_list_item, check_host_name, check_user_name};
pub(crate) use output::change_failure;
pub use output::{
    ActionResult, ChangeOutput, Exit, PrivateOutput, ReadOutput, RunOutput, Stream, TransferOutput,
};
pub use passwords::{AttemptCounter, PASSWORD_VARIABLES, Passwords, StatedPasswords, TrialAnswers};
pub use private::{PrivateStep, PrivateWork};
pub use program_input::{InputReader, InputSpool, ProgramInput};
pub use request::ActionRequest;
pub use request::{CallControl, StopLevel};
pub use shell_login::ShellLogin;
pub use ssh::{ConnectionPool, PoolLimits, has_known_key};
pub use transfer_globs::has_local_match;
pub use transfer_progress::TransferAmount;
pub use transfer_settings::{GetSettings, Mirror, PutSettings, check_owner};
pub use transport::container_shell;
pub use variables::Variables;
