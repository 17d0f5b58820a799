//! Fuzzes expressions. Each input is used twice, as a path and as YAML with expressions in it, over the
//! topology of `fixture.yaml`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use unfurl::testing::diagnostic::Sources;
use unfurl::testing::value::Value;
use unfurl_fuzz::{evaluator, on_text, read};

fuzz_target!(|bytes: &[u8]| on_text(bytes, check));

fn check(text: &str) {
    let (evaluator, context) = evaluator();
    if let Err(error) = evaluator.query(&Value::from(text), &context) {
        assert!(!error.to_string().is_empty());
    }
    let mut sources = Sources::default();
    let Some(root) = read(&mut sources, text).filter(|root| root.weight() < 10_000) else {
        return;
    };
    let value = root.to_value();
    drop(evaluator.query(&value, &context));
    if let Err(error) = evaluator.evaluate(&value, &context) {
        assert!(!error.to_string().is_empty());
    }
    drop(evaluator.unquote(&value, &context));
    drop(evaluator.take_reads());
}
