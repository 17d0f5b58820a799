//! The door for the tests: the items that integration tests, benches and fuzz targets use.
//!
//! All modules of the crate are private, so that the compiler finds code that nothing uses. Programs
//! use [`crate::main`] alone, and nothing here is promised to stay.

/// Items of the module `states`.
pub mod states {
    pub use crate::states::{
        ActionId, Aggregation, ChangeOutcome, Chunk, CompileError, CompileRequest, CompiledStates,
        Engine, EngineOptions, FactCache, FileRoots, FileRootsError, Halt, LinkTarget, LowData,
        MinionData, Mode, ModuleContext, NextAction, OrderEntry, RenderTemplate, Requisite,
        RequisiteLink, RunOrdering, StateCall, StateDecision, StateOutcome, StateRenderer,
        StateResult, StateSummary, StateTargets, TemplateRequest, Timestamp, compile, find,
    };
}

/// Items of the module `dag`.
pub mod dag {
    pub use crate::dag::{ReadyQueue, dependencies_first};
}

/// Items of the module `diagnostic`.
pub mod diagnostic {
    pub use crate::diagnostic::{Diagnostic, Diagnostics, Sources, Span};
}

/// Items of the module `exec`.
pub mod exec {
    pub use crate::exec::{ActionRunner, Error, LocalRunner, RunLimits, RunnerEvent};
}

/// Items of the module `expr`.
pub mod expr {
    pub use crate::expr::{
        Clock, Context, DirectoryOwner, Effect, EffectError, EffectOutput, Effects, Evaluator,
        FixedSources, Memo, NullContext, Random, ReadEnvironment, ReadError, ReadFiles, Yaml,
        YamlError,
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
        Action, ActionRequest, ActionResult, Address, Background, BecomeUser, CallControl,
        CapturedOutput, ChainContext, ChainExecutor, ChainNote, ChainProgress, ChainSpec,
        ChangeOutput, Command, ConnectionPool, Container, Content, DEFAULT_PORT, Destination,
        ExecutorChain, ExecutorEnvironment, Exit, Forward, ForwardEndpoint, Get, HostKeys,
        HostParts, Location, LocationError, PoolLimits, Program, PromptAnswer, Put, Question,
        ReadOutput, Route, RunOutput, Secret, Spread, StopLevel, Stream, Terminal, TransferOutput,
    };
    /// Items of the module `book`.
    pub mod book {
        pub use crate::host::resolver::{Error, LocationResolver, LoginOptions};
    }
    /// Items of the module `change`.
    pub mod change {
        pub use crate::host::change::{Change, CommandRun, FileWrite, ModeAndOwner};
    }
    /// Items of the module `fact`.
    pub mod fact {
        pub use crate::host::fact::{
            CommandSetting, Domain, Fact, FactReading, FileKind, FileStat, Probe, ProbeOutput,
        };
    }
    /// Items of the module `helpers`.
    pub mod helpers {
        pub use crate::host::services::{HostResolver, HostServices, NoRoles};
    }
    /// Items of the module `inventory`.
    pub mod inventory {
        pub use crate::host::inventory::{ConnectionMethod, Inventory, NoVault};
    }
    /// Items of the module `ssh_config`.
    pub mod ssh_config {
        pub use crate::host::ssh_config::{
            Canonicalize, ConfigContext, ForwardAgent, HostQuery, LocalConfigContext, LocalUser,
            Proxy, SshConfig, SshConfigFiles, SshOptions, Strictness, Tokens,
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
        Decision, Failure, JobFrontend, JobReport, JobRequest, RunSettings, SaveSettings,
        SessionOptions, deploy, plan, rescue,
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
    pub use crate::plan::{
        JobGoal, Plan, Reason, StepActivity, StepId, StepTarget, WorkflowKind, plan,
        refuse_cycles,
    };
}

/// Items of the module `tasks`.
pub mod tasks {
    pub use crate::tasks::{
        EngineRequest, HostEvent, HostOutcome, RunState, TaskCall, TaskEngine, TaskOptions, Tasks,
        read_tasks,
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
    pub use crate::topology::{Topology, TopologyInputs};
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
        Limits, NoLoader, Node, NodeKind, Patch, Route, apply, diff, emit, expand, merge, parse,
    };
}
