//! Renders the templates of a skeleton. They see their variables and each other, and nothing else.

use std::sync::Arc;

use super::{Error, Skeleton};
use crate::expr::{
    DocumentRenderer, FixedSources, NullContext, NullScope, TemplateLibrary, YamlError,
};
use crate::value::{Map, Value};

/// Renders templates of one skeleton.
pub(super) struct Renderer {
    skeleton: Skeleton,
    documents: DocumentRenderer,
}

impl Renderer {
    pub(super) fn new(skeleton: &Skeleton) -> Self {
        let library: Arc<dyn TemplateLibrary> = Arc::new(SkeletonLibrary(skeleton.clone()));
        let context = NullContext::new(
            "a skeleton reads nothing but its own files",
            FixedSources(|_| Err(YamlError("a skeleton parses no YAML".to_owned()))),
        );
        let scope = Arc::new(NullScope(""));
        Self {
            skeleton: skeleton.clone(),
            documents: DocumentRenderer::new(
                scope,
                Arc::new(context),
                &library,
                "unfurl",
                &Map::new(),
            ),
        }
    }

    /// Renders a template; `None` if its text is empty, so that the file is left out.
    pub(super) fn render(&self, file: &str, variables: &Map) -> Result<Option<String>, Error> {
        let Some(text) = self.skeleton.template(file).filter(|text| !text.is_empty()) else {
            return Ok(None);
        };
        let rendered = self.documents.render_with_header(file, text, variables);
        let rendered = rendered.map_err(|error| Error::Template {
            file: file.to_owned(),
            error,
        })?;
        Ok(Some(rendered.text))
    }
}

/// The files that templates of a skeleton may include.
struct SkeletonLibrary(Skeleton);

impl TemplateLibrary for SkeletonLibrary {
    fn load(&self, path: &str) -> Result<Option<String>, String> {
        Ok(self.0.template(path).map(str::to_owned))
    }

    fn ordered_variables(&self) -> &'static [&'static str] {
        &[]
    }

    fn changes_argument(&self, _function: &str) -> bool {
        false
    }

    fn call(&self, function: &str, _args: &[Value], _named: &Map) -> Result<Value, String> {
        Err(format!("there is no function `{function}`"))
    }

    fn filters(&self) -> &'static [&'static str] {
        &[]
    }

    fn filter(&self, name: &str, _args: &[Value], _named: &Map) -> Result<Value, String> {
        Err(format!("there is no filter `{name}`"))
    }
}
