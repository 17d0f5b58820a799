//! The place of a run in the steps of its task.
//!
//! A [`StepCursor`] has one frame for the steps of the task and one for each block around the current step. It knows
//! which section of a block runs, and where a failure leads to.

use std::sync::Arc;

use super::failure::TaskFailure;
use super::{Block, Steps};
use super::{CommandOptions, EnvSettings, StepAction, TaskStep};
use crate::value::Value;

/// The section of a block that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BlockSection {
    Steps,
    Rescue,
    Always,
}

/// The repetitions of the current step: over items, and until a condition is true.
#[derive(Debug, Default)]
pub(super) struct Repetition {
    /// The items of `for_each`. None if the step has none, or has not begun.
    pub(super) items: Option<Arc<[Value]>>,
    /// The index of the current item.
    pub(super) index: usize,
    /// The results of the items so far.
    pub(super) results: Vec<Value>,
    /// The attempts for the current item, while a step with `until` is repeated.
    pub(super) attempts: usize,
}

/// A list of steps that runs, with the current one.
#[derive(Debug)]
struct StepFrame {
    steps: Steps,
    index: usize,
    section: BlockSection,
    /// The failure that goes on after the section `always`.
    failure: Option<TaskFailure>,
    /// The environment outside of the block. None if the block has no settings.
    outer_env: Option<usize>,
    repetition: Repetition,
}

/// The effect of the end of a list of steps.
#[derive(Debug)]
pub(super) enum SectionEnd {
    /// All steps of the task are done.
    Task,
    /// The section `always` of the block begins.
    Always,
    /// The block is done: its step is the current one again, and `env` is the environment to restore.
    Block {
        env: Option<usize>,
        failure: Option<TaskFailure>,
    },
}

/// The effect of a failure in the current step.
#[derive(Debug)]
pub(super) enum FailureEffect {
    /// A section of a block handles the failure.
    Handled { is_rescue: bool },
    /// The block does not handle the failure and was left. `env` is the environment to restore.
    Left { env: Option<usize> },
    /// No block is left.
    Unhandled,
}

/// The place of a run in the steps of its task.
#[derive(Debug)]
pub(super) struct StepCursor(Vec<StepFrame>);

impl StepCursor {
    pub(super) fn new(steps: Steps) -> Self {
        Self(vec![StepFrame::new(steps, None)])
    }

    /// Returns the list of steps that runs and the index of the current one. None once the list is done.
    pub(super) fn current(&self) -> Option<(Steps, usize)> {
        let frame = self.0.last()?;
        let is_step = frame.index < frame.steps.len();
        is_step.then(|| (Arc::clone(&frame.steps), frame.index))
    }

    /// Returns the value that the innermost block with such a setting has.
    pub(super) fn setting<T>(&self, of: impl Fn(&EnvSettings) -> Option<T>) -> Option<T> {
        let frames = self.0.iter().rev().skip(1);
        let mut settings = frames.filter_map(|frame| match &frame.step()?.action {
            StepAction::Block(block) => block.settings.as_ref(),
            _ => None,
        });
        settings.find_map(of)
    }

    /// Returns the environments around those of the blocks with settings.
    pub(super) fn outer_envs(&self) -> impl Iterator<Item = usize> {
        self.0.iter().filter_map(|frame| frame.outer_env)
    }

    pub(super) fn repetition(&mut self) -> Option<&mut Repetition> {
        self.0.last_mut().map(|frame| &mut frame.repetition)
    }

    /// Returns the items of the loops around the current step with their variables, outermost first.
    pub(super) fn items(&self) -> impl Iterator<Item = (&Arc<str>, &Value)> {
        self.0.iter().filter_map(|frame| {
            let for_each = frame.step()?.for_each.as_ref()?;
            let items = frame.repetition.items.as_ref()?;
            Some((&for_each.name, items.get(frame.repetition.index)?))
        })
    }

    /// Goes to the next item of the current step, or to the next step.
    pub(super) fn advance(&mut self) {
        let Some(frame) = self.0.last_mut() else {
            return;
        };
        let repetition = &mut frame.repetition;
        repetition.attempts = 0;
        repetition.index += 1;
        let count = repetition.items.as_ref().map_or(0, |items| items.len());
        if repetition.index >= count {
            frame.repetition = Repetition::default();
            frame.index += 1;
        }
    }

    /// Enters a block, whose step is the current one.
    pub(super) fn enter(&mut self, block: &Block, outer_env: Option<usize>) {
        self.0
            .push(StepFrame::new(Arc::clone(&block.steps), outer_env));
    }

    /// Ends the list of steps that runs.
    pub(super) fn end_section(&mut self) -> SectionEnd {
        let always = self.block().map(|block| Arc::clone(&block.always));
        let (Some(always), Some(frame)) = (always, self.0.last_mut()) else {
            return SectionEnd::Task;
        };
        if frame.section != BlockSection::Always && !always.is_empty() {
            frame.begin(BlockSection::Always, always);
            return SectionEnd::Always;
        }
        let left = self.0.pop();
        SectionEnd::Block {
            env: left.as_ref().and_then(|frame| frame.outer_env),
            failure: left.and_then(|frame| frame.failure),
        }
    }

    /// Looks for the section that handles a failure, in the innermost block.
    pub(super) fn fail(&mut self, failure: &TaskFailure) -> FailureEffect {
        let sections = self.block().map(|block| {
            let sections = [&block.rescue, &block.always];
            sections.map(Arc::clone)
        });
        let (Some([rescue, always]), Some(frame)) = (sections, self.0.last_mut()) else {
            return FailureEffect::Unhandled;
        };
        match frame.section {
            BlockSection::Steps if failure.can_be_rescued() && !rescue.is_empty() => {
                frame.begin(BlockSection::Rescue, rescue);
                return FailureEffect::Handled { is_rescue: true };
            }
            BlockSection::Steps | BlockSection::Rescue
                if failure.is_followed_by_always() && !always.is_empty() =>
            {
                frame.failure = Some(failure.clone());
                frame.begin(BlockSection::Always, always);
                return FailureEffect::Handled { is_rescue: false };
            }
            _ => {}
        }
        let left = self.0.pop();
        FailureEffect::Left {
            env: left.and_then(|frame| frame.outer_env),
        }
    }

    /// Leaves all blocks without running anything. Returns the environments to restore, the innermost first.
    pub(super) fn leave_all(&mut self) -> Vec<usize> {
        let left = self.0.drain(..).rev();
        left.filter_map(|frame| frame.outer_env).collect()
    }

    /// Returns the innermost block.
    fn block(&self) -> Option<&Block> {
        let around = self.0.len().checked_sub(2)?;
        match &self.0.get(around)?.step()?.action {
            StepAction::Block(block) => Some(block),
            _ => None,
        }
    }

    /// Returns the options of the task, of the blocks around the current step, and of that step, outermost first.
    pub(super) fn options<'a>(&'a self, of_task: &'a CommandOptions) -> Vec<&'a CommandOptions> {
        let own = self
            .0
            .iter()
            .filter_map(StepFrame::step)
            .map(|step| &step.options);
        std::iter::once(of_task).chain(own).collect()
    }
}

impl StepFrame {
    fn new(steps: Steps, outer_env: Option<usize>) -> Self {
        Self {
            steps,
            index: 0,
            section: BlockSection::Steps,
            failure: None,
            outer_env,
            repetition: Repetition::default(),
        }
    }

    fn step(&self) -> Option<&TaskStep> {
        self.steps.get(self.index)
    }

    fn begin(&mut self, section: BlockSection, steps: Steps) {
        self.section = section;
        self.steps = steps;
        self.index = 0;
        self.repetition = Repetition::default();
    }
}
