//! Commands that change something.

use std::fmt::{Debug, Formatter};

use serde::ser::SerializeStruct as _;
use serde::{Deserialize, Serialize, Serializer};

use crate::host::fact::{Domain, Setting};
use crate::value::REDACTED;

/// A command that changes something. Of one that must not be seen, only what stands for it is
/// serialized.
#[derive(Clone, PartialEq, Eq, Deserialize)]
pub struct Run {
    /// The text for the shell.
    pub text: String,
    /// Who runs it, where, and for how long.
    pub setting: Setting,
    /// What it reads; nothing if none.
    pub stdin: Option<Vec<u8>>,
    /// What it changes.
    pub touches: Vec<Domain>,
    /// What stands for the text where people see it, if it must not be seen.
    pub shown: Option<String>,
    /// The exit codes that are no failure, beside 0.
    pub good_codes: Vec<i32>,
    /// Whether processes that it leaves behind live on.
    pub keeps_background: bool,
}

impl Run {
    /// A command that may change anything, for the default shell.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            setting: Setting::default(),
            stdin: None,
            touches: vec![Domain::All],
            shown: None,
            good_codes: Vec::new(),
            keeps_background: false,
        }
    }

    /// The same command, which changes only this.
    #[must_use]
    pub fn touching(mut self, touches: impl IntoIterator<Item = Domain>) -> Self {
        self.touches = touches.into_iter().collect();
        self
    }
}

impl Serialize for Run {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut setting = self.setting.clone();
        if self.shown.is_some() {
            for (_, value) in &mut setting.env {
                REDACTED.clone_into(value);
            }
        }
        let stdin = self.stdin.as_ref().filter(|_| self.shown.is_none());
        let mut fields = serializer.serialize_struct("Run", 7)?;
        fields.serialize_field("text", self.shown.as_ref().unwrap_or(&self.text))?;
        fields.serialize_field("setting", &setting)?;
        fields.serialize_field("stdin", &stdin)?;
        fields.serialize_field("touches", &self.touches)?;
        fields.serialize_field("shown", &self.shown)?;
        fields.serialize_field("good_codes", &self.good_codes)?;
        fields.serialize_field("keeps_background", &self.keeps_background)?;
        fields.end()
    }
}

impl Debug for Run {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Run")
            .field("text", self.shown.as_ref().unwrap_or(&self.text))
            .field("touches", &self.touches)
            .finish_non_exhaustive()
    }
}
