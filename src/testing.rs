//! Re-exports for tests: the items that integration tests, benches and fuzz targets use.
//!
//! All modules of the crate are private, so that the compiler finds code that nothing uses. Programs
//! use [`crate::main`] alone, and nothing here is promised to stay.

/// Items of the crate's module `states`, re-exported for tests.
pub mod states {
    pub use crate::states::{
        ActionId, Aggregation, ChangeOutcome, Chunk, CompileError, CompilePurpose, CompileRequest,
        CompiledStates, Engine, EngineOptions, FactCache, FileRoots, FileRootsError, Halt,
        LinkTarget, LowData, MinionData, Mode, ModuleContext, NextAction, OrderEntry,
        RenderTemplate, Requisite, RequisiteLink, RunOrdering, StateCall, StateDecision,
        StateOutcome, StateRenderer, StateResult, StateSummary, StateTargets, TemplateRequest,
        Timestamp, compile, find,
    };
}

/// Items of the crate's module `dag`, re-exported for tests.
pub mod dag {
    pub use crate::dag::{ReadyQueue, dependencies_first};
}

/// Items of the crate's module `diagnostic`, re-exported for tests.
pub mod diagnostic {
    pub use crate::diagnostic::{Check, Diagnostic, Diagnostics, Sources, Span};
}

/// Items of the crate's module `exec`, re-exported for tests.
pub mod exec {
    pub use crate::exec::{ActionRunner, Error, LocalRunner, RunLimits, RunnerEvent};
}

/// Items of the crate's module `expr`, re-exported for tests.
pub mod expr {
    pub use crate::expr::{
        Clock, Context, DirectoryOwner, Effect, EffectError, EffectOutput, Effects, Evaluator,
        FixedSources, Memo, NullContext, Random, RandomError, ReadEnvironment, ReadError,
        ReadFiles, Yaml, YamlError,
    };
}

/// Items of the crate's module `git`, re-exported for tests.
pub mod git {
    /// Items of the crate's module `git::lfs`, re-exported for tests.
    pub mod lfs {
        pub use crate::git::lfs::count_locks;
    }
}

/// Items of the crate's module `host`, re-exported for tests.
pub mod host {
    pub use crate::host::{
        Action, ActionRequest, ActionResult, Address, Background, BecomeUser, CallControl,
        CapturedOutput, ChainContext, ChainExecutor, ChainNote, ChainProgress, ChainSpec,
        ChangeOutput, Command, ConnectionPool, Container, Content, DEFAULT_PORT, Destination,
        ExecutorChain, ExecutorEnvironment, Exit, Forward, ForwardEndpoint, Get, GetSettings,
        HostKeyPolicy, HostParts, Location, LocationError, PoolLimits, Program, PromptAnswer, Put,
        PutSettings, Question, ReadOutput, Route, RunOutput, Secret, Spread, StopLevel, Stream,
        Terminal, TransferOutput,
    };
    /// Items of the crate's module `host::resolver`, re-exported for tests.
    pub mod resolver {
        pub use crate::host::resolver::{Error, LocationResolver, LoginOptions};
    }
    /// Items of the crate's module `host::change`, re-exported for tests.
    pub mod change {
        pub use crate::host::change::{Change, CommandRun, FileWrite, ModeAndOwner};
    }
    /// Items of the crate's module `host::fact`, re-exported for tests.
    pub mod fact {
        pub use crate::host::fact::{
            CommandSetting, Domain, Fact, FactReading, FileKind, FileStat, Probe, ProbeOutput,
        };
    }
    /// Items of the crate's module `host::services`, re-exported for tests.
    pub mod services {
        pub use crate::host::services::{HostResolver, HostServices, NoRoles};
    }
    /// Items of the crate's module `host::inventory`, re-exported for tests.
    pub mod inventory {
        pub use crate::host::inventory::{ConnectionMethod, Inventory, InventoryFormat};
    }
    /// Items of the crate's module `host::ssh_config`, re-exported for tests.
    pub mod ssh_config {
        pub use crate::host::ssh_config::{
            AddressFamily, Canonicalize, ConfigContext, ForwardAgent, HostQuery,
            LocalConfigContext, LocalUser, Proxy, SshConfig, SshConfigFiles, SshOptions,
            Strictness, Tokens, select_algorithms,
        };
    }
}

/// Items of the crate's module `job`, re-exported for tests.
pub mod job {
    pub use crate::job::{JobEvent, LogLevel, Proposal, Readiness, Report, StepState};
}

/// Items of the crate's module `lock`, re-exported for tests.
pub mod lock {
    pub use crate::lock::{Lock, LockError};
}

/// Items of the crate's module `name`, re-exported for tests.
pub mod name {
    pub use crate::name::Status;
}

/// Items of the crate's module `project`, re-exported for tests.
pub mod project {
    pub use crate::project::{StoreError, record_cloned, record_created};
}

/// Items of the crate's module `ops`, re-exported for tests.
pub mod ops {
    pub use crate::ops::{
        Decision, Failure, JobFrontend, JobReport, JobRequest, RunSettings, SaveSettings,
        SessionOptions, deploy, plan, rescue,
    };
    /// Items of the crate's module `ops::hosts`, re-exported for tests.
    pub mod hosts {
        pub use crate::ops::hosts::inventory;
    }
    /// Items of the crate's module `ops::schema`, re-exported for tests.
    pub mod schema {
        pub use crate::ops::schema::{SchemaKind, schema};
    }
}

/// Items of the crate's module `plan`, re-exported for tests.
pub mod plan {
    pub use crate::plan::{
        JobGoal, Plan, Reason, StepActivity, StepId, StepTarget, WorkflowKind, plan, refuse_cycles,
    };
}

/// Items of the crate's module `tasks`, re-exported for tests.
pub mod tasks {
    pub use crate::tasks::{
        EngineRequest, HostEvent, HostOutcome, RunState, TaskCall, TaskEngine, TaskOptions, Tasks,
        read_tasks,
    };
}

/// Items of the crate's module `secret`, re-exported for tests.
pub mod secret {
    pub use crate::secret::{Keys, VaultText, seal};
}

/// Items of the crate's module `system`, re-exported for tests.
pub mod system {
    /// Items of the crate's module `system::env`, re-exported for tests.
    pub mod env {
        pub use crate::system::env::Env;
    }
    /// Items of the crate's module `system::machine`, re-exported for tests.
    pub mod machine {
        pub use crate::system::machine::is_running;
    }
    /// Items of the crate's module `system::user`, re-exported for tests.
    pub mod user {
        pub use crate::system::user::home;
    }
}

/// Items of the crate's module `topology`, re-exported for tests.
pub mod topology {
    pub use crate::topology::{Topology, TopologyInputs};
}

/// Items of the crate's module `tosca`, re-exported for tests.
pub mod tosca {
    pub use crate::tosca::{InputOrigin, NoImports, ReadOptions, check_inputs, read};
}

/// Items of the crate's module `ui`, re-exported for tests.
pub mod ui {
    pub use crate::ui::DiagnosticRenderer;
}

/// Items of the crate's module `value`, re-exported for tests.
pub mod value {
    pub use crate::value::{
        Handle, Map, Redactor, Secrets, Value, canonical_sha256, hex, unfurl_digest,
    };
}

/// Items of the crate's module `yaml`, re-exported for tests.
pub mod yaml {
    pub use crate::yaml::{
        Limits, NoLoader, Node, NodeKind, Patch, Route, apply, diff, emit, expand, merge, parse,
    };
}
