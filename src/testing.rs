//! The door for the tests: the items that integration tests, benches and fuzz targets use.
//!
//! All modules of the crate are private, so that the compiler finds code that nothing uses. Programs
//! use [`crate::main`] alone, and nothing here is promised to stay.

/// Items of the module `converge`.
pub mod converge {
    pub use crate::states::{
        Aggregation, StateCall, Chunk, CompiledStates, ActionId, Engine, FactCache, ChangeOutcome, Halt, RequisiteLink, LowData,
        MinionData, Mode, NextAction, RunOrdering, StateOutcome, RenderTemplate, StateRenderer, CompileRequest, Requisite, FileRoots,
        FileRootsError, EngineOptions, Timestamp, StateResult, CompileError, StateSummary, LinkTarget, StateTargets, TemplateRequest, OrderEntry,
        StateDecision, ModuleContext, compile, find,
    };
}

/// Items of the module `diagnostic`.
pub mod diagnostic {
    pub use crate::diagnostic::{Diagnostic, Diagnostics, Sources, Span};
}

/// Items of the module `exec`.
pub mod exec {
    pub use crate::exec::{Error, RunnerEvent, RunLimits, LocalRunner, ActionRunner};
}

/// Items of the module `expr`.
pub mod expr {
    pub use crate::expr::{
        EffectOutput, Clock, Context, Effect, EffectError, Effects, ReadEnvironment, Evaluator, Memo, NullContext,
        DirectoryOwner, Random, ReadError, ReadFiles, FixedSources, Yaml, YamlError,
    };
}

/// Items of the module `git`.
pub mod git {
    /// Items of the module `lfs`.
    pub mod lfs {
        pub use crate::git::lfs::count_locks;
    }
}

/// Items of the module `host`.
pub mod host {
    pub use crate::host::{
        Action, ActionResult, Address, PromptAnswer, Background, BecomeUser, CallControl, CapturedOutput, ExecutorChain,
        ChainProgress, ChainSpec, ChangeOutput, Command, Container, Content, DEFAULT_PORT, Destination,
        ForwardEndpoint, ChainExecutor, Exit, Forward, Get, HostKeys, HostParts, ChainNote, Location, LocationError, ConnectionPool,
        PoolLimits, Program, Put, Question, ReadOutput, ActionRequest, Route, RunOutput, Secret, Spread,
        ChainContext, StopLevel, Stream, ExecutorEnvironment, Terminal, TransferOutput,
    };
    /// Items of the module `book`.
    pub mod book {
        pub use crate::host::resolver::{LocationResolver, Error, LoginOptions};
    }
    /// Items of the module `change`.
    pub mod change {
        pub use crate::host::change::{Change, ModeAndOwner, CommandRun, FileWrite};
    }
    /// Items of the module `fact`.
    pub mod fact {
        pub use crate::host::fact::{
            Domain, FileStat, FileKind, Fact, Probe, ProbeOutput, FactReading, CommandSetting,
        };
    }
    /// Items of the module `helpers`.
    pub mod helpers {
        pub use crate::host::services::{HostResolver, HostServices, NoRoles};
    }
    /// Items of the module `inventory`.
    pub mod inventory {
        pub use crate::host::inventory::{Inventory, NoVault, ConnectionMethod};
    }
    /// Items of the module `ssh_config`.
    pub mod ssh_config {
        pub use crate::host::ssh_config::{
            Canonicalize, SshConfig, SshConfigFiles, ForwardAgent, LocalUser, LocalConfigContext, SshOptions, Proxy, HostQuery,
            Strictness, Tokens, ConfigContext,
        };
    }
}

/// Items of the module `job`.
pub mod job {
    pub use crate::job::{JobEvent, LogLevel, Proposal, Readiness, Report, StepState};
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
        Decision, Failure, JobReport, JobRequest, RunSettings, SaveSettings, SessionOptions, JobFrontend,
        deploy, plan, rescue,
    };
    /// Items of the module `hosts`.
    pub mod hosts {
        pub use crate::ops::hosts::inventory;
    }
    /// Items of the module `schema`.
    pub mod schema {
        pub use crate::ops::schema::{SchemaKind, schema};
    }
}

/// Items of the module `plan`.
pub mod plan {
    pub use crate::plan::{StepActivity, JobGoal, Plan, Reason, StepId, StepTarget, WorkflowKind, refuse_cycles};
}

/// Items of the module `runbook`.
pub mod runbook {
    pub use crate::tasks::{
        TaskCall, EngineRequest, HostEvent, HostOutcome, TaskOptions, TaskEngine, RunState, Tasks, read_tasks,
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
    pub use crate::topology::{TopologyInputs, Topology};
}

/// Items of the module `tosca`.
pub mod tosca {
    pub use crate::tosca::{NoImports, ReadOptions, check_inputs, read};
}

/// Items of the module `ui`.
pub mod ui {
    pub use crate::ui::DiagnosticRenderer;
}

/// Items of the module `value`.
pub mod value {
    pub use crate::value::{Handle, Map, Value, canonical_sha256, hex, upstream_digest};
}

/// Items of the module `yaml`.
pub mod yaml {
    pub use crate::yaml::{
        NodeKind, Limits, NoLoader, Node, Patch, Route, apply, diff, emit, expand, merge, parse,
    };
}
