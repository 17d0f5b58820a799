//! What the engine and a configurator promise each other: a configurator decides, a runner acts.
//! Nothing here runs anything.

mod configurator;
mod effect;
mod outcome;
mod view;

pub use configurator::{ChooseError, Configurator, Refusal, Run};
pub use effect::{Effect, EffectResult, Part, Progress, Subtask};
pub use outcome::{Outcome, Rendered, RenderedFile, WorkFolder};
pub use view::{Environment, Machine, Settings, TaskView};
