//! Fuzzes templates: each input is rendered over the topology of `fixture.yaml`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use unfurl_fuzz::{evaluator, on_text};

fuzz_target!(|bytes: &[u8]| on_text(bytes, check));

fn check(text: &str) {
    let (evaluator, context) = evaluator();
    match evaluator.render(text, &context) {
        Ok(value) => drop(value.to_string()),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    drop(evaluator.take_reads());
}
