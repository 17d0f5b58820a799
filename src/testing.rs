//! The door for the tests: the items that integration tests, benches and fuzz targets use.
//!
//! All modules of the crate are private, so that the compiler finds code that nothing uses. Programs
//! use [`crate::main`] alone, and nothing here is promised to stay.

/// Items of the module `converge`.
pub mod converge {
    pub use crate::converge::{
        Aggregation, Call, Chunk, Compiled, DeedId, Engine, Facts, Finish, Halt, Link, Low,
        Machine, Mode, Next, Ordering, Outcome, Render, Renderer, Request, Requisite, Roots,
        RootsError, Setup, Stamp, StateResult, Stop, Summary, Target, Targets, Template, Turn,
        Verdict, World, compile, find,
    };
}

/// Items of the module `diagnostic`.
pub mod diagnostic {
    pub use crate::diagnostic::{Diagnostic, Diagnostics, Sources, Span};
}

/// Items of the module `exec`.
pub mod exec {
    pub use crate::exec::{Error, Heard, Limits, Local, Perform};
}

/// Items of the module `expr`.
pub mod expr {
    pub use crate::expr::{
        Answer, Clock, Context, Effect, EffectError, Effects, Env, Evaluator, Memo, NullWorld,
        Place, Random, ReadError, ReadFiles, Still, Yaml, YamlError,
    };
}

/// Items of the module `git`.
pub mod git {
    /// Items of the module `lfs`.
    pub mod lfs {
        pub use crate::git::lfs::locks_told_of;
    }
}

/// Items of the module `host`.
pub mod host {
    pub use crate::host::{
        Action, ActionResult, Address, Answer, Background, Become, Call, Captured, Chain,
        ChainProgress, ChainSpec, Changed, Command, Container, Content, DEFAULT_PORT, Destination,
        Endpoint, Executor, Exit, Forward, Get, HostKeys, HostParts, Note, Place, PlaceError, Pool,
        PoolLimits, Program, Put, Question, ReadOutput, Request, Route, RunOutput, Secret, Spread,
        Start, Stop, Stream, Surroundings, Terminal, TransferOutput,
    };
    /// Items of the module `book`.
    pub mod book {
        pub use crate::host::book::{Book, Error, Login};
    }
    /// Items of the module `change`.
    pub mod change {
        pub use crate::host::change::{Change, Like, Run, Write};
    }
    /// Items of the module `fact`.
    pub mod fact {
        pub use crate::host::fact::{
            Domain, Entry, EntryKind, Fact, Probe, Probed, Reading, Setting,
        };
    }
    /// Items of the module `helpers`.
    pub mod helpers {
        pub use crate::host::helpers::{Book, Helpers, NoRoles};
    }
    /// Items of the module `inventory`.
    pub mod inventory {
        pub use crate::host::inventory::{Inventory, NoVault, Way};
    }
    /// Items of the module `ssh_config`.
    pub mod ssh_config {
        pub use crate::host::ssh_config::{
            Canonicalize, Config, Files, ForwardAgent, Local, Machine, Options, Proxy, Query,
            Strictness, Tokens, World,
        };
    }
}

/// Items of the module `job`.
pub mod job {
    pub use crate::job::{Event, Level, Proposal, Readiness, Report, StepState};
}

/// Items of the module `lock`.
pub mod lock {
    pub use crate::lock::{Lock, LockError};
}

/// Items of the module `name`.
pub mod name {
    pub use crate::name::Status;
}

/// Items of the module `ops`.
pub mod ops {
    pub use crate::ops::{
        Decision, Failure, JobReport, JobRequest, RunSettings, SaveSettings, SessionOptions, View,
        deploy, plan, rescue,
    };
    /// Items of the module `hosts`.
    pub mod hosts {
        pub use crate::ops::hosts::inventory;
    }
    /// Items of the module `schema`.
    pub mod schema {
        pub use crate::ops::schema::{SchemaOf, schema};
    }
}

/// Items of the module `plan`.
pub mod plan {
    pub use crate::plan::{Activity, Goal, Plan, Reason, StepId, Target, Workflow, refuse_cycles};
}

/// Items of the module `runbook`.
pub mod runbook {
    pub use crate::runbook::{
        Call, Do, Event, HostOutcome, Options, Runbook, State, Tasks, read_tasks,
    };
}

/// Items of the module `system`.
pub mod system {
    /// Items of the module `env`.
    pub mod env {
        pub use crate::system::env::Env;
    }
    /// Items of the module `machine`.
    pub mod machine {
        pub use crate::system::machine::is_running;
    }
    /// Items of the module `user`.
    pub mod user {
        pub use crate::system::user::home;
    }
}

/// Items of the module `topology`.
pub mod topology {
    pub use crate::topology::{Inputs, Topology};
}

/// Items of the module `tosca`.
pub mod tosca {
    pub use crate::tosca::{NoImports, ReadOptions, check_inputs, read};
}

/// Items of the module `ui`.
pub mod ui {
    pub use crate::ui::Renderer;
}

/// Items of the module `value`.
pub mod value {
    pub use crate::value::{Handle, Map, Value, canonical_sha256, hex, upstream_digest};
}

/// Items of the module `yaml`.
pub mod yaml {
    pub use crate::yaml::{
        Kind, Limits, NoLoader, Node, Patch, Route, apply, diff, emit, expand, merge, parse,
    };
}
