//! What the engine and a configurator promise each other: a configurator decides, a runner acts.
//! Nothing here runs anything.

mod configurator;
mod effect;
mod outcome;
mod view;

pub use configurator::{ChooseError, Configurator, ConfiguratorRefusal, OperationRun};
pub use effect::{EffectResult, EffectRole, RunStep, Subtask, TaskEffect};
pub use outcome::{RenderedFile, RenderedTask, TaskOutcome, WorkFolder};
pub use view::{EnvironmentProvider, OperationHost, TaskSettings, TaskView};
