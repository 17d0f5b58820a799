//! This machine as one request sees it: an answer that was given once is given again.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::value::{Map, Value};

use super::answers::{Answers, Aspect, Question};
use super::ports::{
    Clock, Effects, Env, Place, Random, ReadError, ReadFiles, World, Yaml, YamlError,
};

/// This machine, and what was read of it during a request.
pub(super) struct Recorded {
    world: Arc<dyn World>,
    answers: Answers,
}

impl Recorded {
    pub(super) fn new(world: Arc<dyn World>) -> Self {
        let answers = Answers::default();
        Self { world, answers }
    }

    /// The same machine, for requests of another evaluator.
    pub(super) fn anew(&self) -> Self {
        Self::new(Arc::clone(&self.world))
    }

    pub(super) fn answers(&self) -> &Answers {
        &self.answers
    }

    /// Performs effects. For the settling of requests alone: no evaluation may perform anything.
    pub(super) fn effects(&self) -> &dyn Effects {
        &*self.world
    }

    fn of_file<T: Clone + Send + Sync + 'static>(
        &self,
        aspect: Aspect,
        path: &Path,
        ask: impl FnOnce(&dyn World) -> T,
    ) -> T {
        let question = Question::File(aspect, path.to_owned());
        self.answers.recall(question, || ask(&*self.world))
    }
}

impl ReadFiles for Recorded {
    fn read(&self, path: &Path) -> Result<Vec<u8>, ReadError> {
        self.of_file(Aspect::Contents, path, |world| world.read(path))
    }

    fn exists(&self, path: &Path) -> bool {
        self.of_file(Aspect::Exists, path, |world| world.exists(path))
    }

    fn is_dir(&self, path: &Path) -> bool {
        self.of_file(Aspect::IsDir, path, |world| world.is_dir(path))
    }

    fn is_link(&self, path: &Path) -> bool {
        self.of_file(Aspect::IsLink, path, |world| world.is_link(path))
    }

    fn is_mount(&self, path: &Path) -> bool {
        self.of_file(Aspect::IsMount, path, |world| world.is_mount(path))
    }

    fn list(&self, path: &Path) -> Result<Vec<PathBuf>, ReadError> {
        self.of_file(Aspect::Entries, path, |world| world.list(path))
    }

    fn real_path(&self, path: &Path) -> PathBuf {
        self.of_file(Aspect::RealPath, path, |world| world.real_path(path))
    }

    fn which(&self, name: &str) -> Option<PathBuf> {
        let question = Question::Program(name.to_owned());
        self.answers.recall(question, || self.world.which(name))
    }

    fn directory(&self, place: &Place, location: &str) -> Result<PathBuf, ReadError> {
        let question = Question::Directory(place.clone(), location.to_owned());
        let ask = || self.world.directory(place, location);
        self.answers.recall(question, ask)
    }

    fn tree_digest(&self, path: &Path) -> Option<String> {
        self.of_file(Aspect::TreeDigest, path, |world| world.tree_digest(path))
    }

    fn content_digest(&self, path: &Path) -> Option<String> {
        let ask = |world: &dyn World| world.content_digest(path);
        self.of_file(Aspect::ContentDigest, path, ask)
    }
}

impl Clock for Recorded {
    fn now(&self) -> jiff::Timestamp {
        self.answers.recall(Question::Now, || self.world.now())
    }
}

impl Random for Recorded {
    fn random(&self, bytes: &mut [u8]) {
        let draw = || {
            let mut drawn = vec![0; bytes.len()];
            self.world.random(&mut drawn);
            drawn
        };
        let drawn = self.answers.recall(Question::Random(bytes.len()), draw);
        bytes.copy_from_slice(&drawn);
    }
}

impl Env for Recorded {
    fn env(&self, name: &str) -> Option<String> {
        self.world.env(name)
    }

    fn env_all(&self) -> Vec<(String, String)> {
        self.world.env_all()
    }

    fn context_value(&self, section: &str, name: &str) -> Option<Value> {
        self.world.context_value(section, name)
    }

    fn metadata(&self) -> Map {
        self.world.metadata()
    }

    fn permits(&self, name: &str) -> bool {
        self.world.permits(name)
    }

    fn temp_dir(&self) -> PathBuf {
        self.world.temp_dir()
    }
}

impl Yaml for Recorded {
    fn parse_yaml(&self, text: &str) -> Result<Value, YamlError> {
        self.world.parse_yaml(text)
    }

    fn to_yaml(&self, value: &Value) -> Result<String, YamlError> {
        self.world.to_yaml(value)
    }
}
