//! The contract between the job engine and configurators.
//!
//! A configurator decides what an operation does and returns [`RunStep`]s; a runner performs them. The
//! engine (`job`) drives runs, `configurator` implements them. This module runs nothing.

mod configurator;
mod effect;
mod outcome;
mod saved_plan;
mod tool;
mod view;
mod work;

pub use configurator::{ChooseError, Configurator, ConfiguratorRefusal, OperationRun, WorkInputs};
pub use effect::{EffectResult, EffectRole, RunProgress, RunStep, Subtask, TaskEffect};
pub use outcome::{RenderedFile, RenderedTask, TaskOutcome, WorkFolder};
pub use saved_plan::SavedPlan;
pub use tool::{StateCipher, ToolFacts, ToolProvider};
pub use view::{EnvironmentProvider, OperationHost, TaskSettings, TaskView};
pub use work::TaskWork;
