//! Macros that use `varargs` or `kwargs`, the surplus arguments of their calls. The engine refuses surplus
//! arguments, so such a macro gets two more parameters, and an object that fills them takes its place.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use minijinja::State;
use minijinja::value::{
    Enumerator, Kwargs, Object, ObjectRepr, Tuple, Value as JinjaValue, from_args,
};

use super::delimiters::{Delimiters, TagKind, rewrite_tags};
use super::error::Result;
use super::inserted_names::VARIADIC_FUNCTION;
use super::mutable::MutableMaker;
use super::variables::Variables;

/// The parameters that receive the surplus arguments.
const SURPLUS: [&str; 2] = ["varargs", "kwargs"];

/// The argument that holds the body of a `call` block.
const CALLER: &str = "caller";

/// A macro whose last two parameters receive the surplus arguments.
#[derive(Debug)]
struct VariadicMacro {
    inner: JinjaValue,
    /// The parameters that the author of the macro wrote.
    parameters: Vec<String>,
}

/// Wraps a macro.
pub(super) fn wrap(inner: JinjaValue) -> Result<JinjaValue> {
    let parameters = inner.get_attr("arguments")?;
    let parameters = parameters.try_iter()?.map(|name| name.to_string());
    let parameters = parameters
        .filter(|name| !SURPLUS.contains(&&**name))
        .collect();
    Ok(JinjaValue::from_object(VariadicMacro { inner, parameters }))
}

impl Object for VariadicMacro {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn get_value(self: &Arc<Self>, key: &JinjaValue) -> Option<JinjaValue> {
        match key.as_str()? {
            "arguments" => {
                let names = self.parameters.iter().map(|name| name.as_str().into());
                Some(JinjaValue::from(Tuple::new(names.collect())))
            }
            "catch_varargs" | "catch_kwargs" => Some(true.into()),
            _ => self
                .inner
                .get_item(key)
                .ok()
                .filter(|it| !it.is_undefined()),
        }
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Str(&["name", "arguments", CALLER])
    }

    fn call(
        self: &Arc<Self>,
        state: &mut State<'_, '_>,
        args: &[JinjaValue],
    ) -> Result<JinjaValue> {
        let (args, named): (&[JinjaValue], Kwargs) = from_args(args)?;
        let (own, more) = args.split_at(args.len().min(self.parameters.len()));
        let mut passed = Vec::new();
        let mut surplus = Vec::new();
        for name in named.args() {
            let mut unfilled = self.parameters.iter().skip(own.len());
            let is_own = name == CALLER || unfilled.any(|own| own == name);
            let value: JinjaValue = named.get(name)?;
            if is_own {
                passed.push((name.to_owned(), value));
            } else {
                surplus.push((name.to_owned(), value));
            }
        }
        let variables = Variables::from_state(state)?;
        let empty = JinjaValue::from(BTreeMap::<String, JinjaValue>::new());
        let map = MutableMaker::new(&variables).make_all(&[empty])?;
        if !surplus.is_empty() {
            let surplus = surplus.into_iter().collect::<Kwargs>();
            map.call_method(state, "update", &[surplus.into()])?;
        }
        let [varargs, kwargs] = SURPLUS.map(str::to_owned);
        passed.push((varargs, JinjaValue::from(Tuple::from(more))));
        passed.push((kwargs, map));
        let mut all = own.to_vec();
        all.push(passed.into_iter().collect::<Kwargs>().into());
        self.inner.call(state, &all)
    }

    fn render(self: &Arc<Self>, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.inner)
    }
}

/// Adds the parameters to the macros of a template that need them. Borrows the text if there are none.
pub(super) fn rewrite_macros<'a>(text: &'a str, delimiters: &Delimiters) -> Cow<'a, str> {
    if !text.contains("macro") || !SURPLUS.iter().any(|name| text.contains(name)) {
        return Cow::Borrowed(text);
    }
    let [block, ..] = &delimiters.0;
    // The names of the open macros that need the parameters.
    let mut open: Vec<Option<&str>> = Vec::new();
    Cow::Owned(rewrite_tags(text, delimiters, |kind, tag, after| {
        let words = tag.trim_start_matches(['-', '+']).trim_start();
        if kind != TagKind::Block {
            return Cow::Borrowed(tag);
        }
        if words.starts_with("endmacro") {
            return Cow::Owned(closed(tag, open.pop().flatten(), block));
        }
        let Some(signature) = words.strip_prefix("macro ") else {
            return Cow::Borrowed(tag);
        };
        let extended = body_mentions(after, block).then(|| extended(tag)).flatten();
        let name = signature.split('(').next().unwrap_or_default().trim();
        open.push(extended.is_some().then_some(name));
        extended.map_or(Cow::Borrowed(tag), Cow::Owned)
    }))
}

/// Returns the tag at the end of a macro. If the macro has the added parameters, a tag that wraps it follows.
fn closed(tag: &str, name: Option<&str>, block: &[String; 2]) -> String {
    let Some(name) = name else {
        return tag.to_owned();
    };
    let [start, end] = block;
    let begin = tag.trim_end_matches(['-', '+']);
    let sign = &tag[begin.len()..];
    format!("{begin}{end}{start} set {name} = {VARIADIC_FUNCTION}({name}) {sign}")
}

/// Returns the tag of a macro with the two parameters. None if the tag has them already, or no brackets.
fn extended(tag: &str) -> Option<String> {
    let (open, close) = (tag.find('(')?, tag.rfind(')')?);
    let parameters = tag.get(open + 1..close)?;
    if SURPLUS.iter().any(|name| parameters.contains(name)) {
        return None;
    }
    let parameters = parameters.trim_end().trim_end_matches(',');
    let comma = if parameters.trim().is_empty() {
        ""
    } else {
        ", "
    };
    let [varargs, kwargs] = SURPLUS;
    Some(format!(
        "{}{parameters}{comma}{varargs}=none, {kwargs}=none{}",
        &tag[..=open],
        &tag[close..]
    ))
}

/// Returns true if the body of a macro, at the start of the text, uses surplus arguments.
fn body_mentions(text: &str, block: &[String; 2]) -> bool {
    let mut depth = 0_usize;
    let mut end = text.len();
    for (at, _) in text.match_indices("macro") {
        let before = text[..at].trim_end().trim_end_matches(['-', '+']);
        if before.ends_with("end") {
            if depth == 0 {
                end = at;
                break;
            }
            depth -= 1;
        } else if before.trim_end().ends_with(block[0].as_str()) {
            depth += 1;
        }
    }
    SURPLUS.iter().any(|name| text[..end].contains(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_macros_that_use_surplus_arguments_get_parameters() {
        let rewritten = |text| rewrite_macros(text, &Delimiters::default()).into_owned();
        let plain = "{% macro m(a) %}{{ a }}{% endmacro %}";
        let both = format!("{plain}{{% macro v(a, b=1) -%}}{{{{ varargs }}}}{{%- endmacro -%}}x");
        assert_eq!(
            rewritten(&both),
            format!(
                "{plain}{{% macro v(a, b=1, varargs=none, kwargs=none) -%}}{{{{ varargs }}}}{{%- endmacro %}}{{% set v = __variadic(v) -%}}x"
            )
        );
        let nested = "{% macro m() %}{% macro n() %}{% endmacro %}{{ kwargs }}{% endmacro %}";
        assert_eq!(
            rewritten(nested),
            "{% macro m(varargs=none, kwargs=none) %}{% macro n() %}{% endmacro %}{{ kwargs }}{% endmacro %}{% set m = __variadic(m) %}"
        );
        for text in [
            "{# {% macro m() %}varargs{% endmacro %} #}",
            "{% raw %}{% macro m() %}{{ varargs }}{% endmacro %}{% endraw %}",
            "{{ varargs }} macro",
            "{% macro m(a, kwargs) %}{{ kwargs }}{% endmacro %}",
            "{% macro m(kwargs",
        ] {
            assert_eq!(rewritten(text), text);
        }
    }
}
