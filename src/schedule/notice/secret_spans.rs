//! The places of texts in the section `schedules` that messages must not quote.

use crate::diagnostic::Span;
use crate::yaml::Node;

/// The keys of a webhook whose values may be secret: the key of the signature, and the path of the URL.
const SECRET_KEYS: [&str; 2] = ["url", "secret"];

/// Returns the places of the URLs and keys of webhooks.
pub fn secret_spans(section: &Node) -> Vec<Span> {
    let mut spans = Vec::new();
    let schedules = section.as_map().into_iter().flatten();
    let entries = schedules
        .filter_map(|(_, schedule)| schedule.value.get("notify")?.as_seq())
        .flatten();
    for webhook in entries.filter_map(|entry| entry.get("webhook")) {
        for value in SECRET_KEYS.iter().filter_map(|key| webhook.get(key)) {
            if value.as_map().is_none() {
                spans.push(value.span());
            }
        }
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Sources;
    use crate::yaml::{Limits, parse};

    #[test]
    fn urls_and_keys_are_found() {
        let text = "
a: {notify: [{webhook: {url: 'https://x/T1', secret: hush}}, {command: x}, {webhook: y}]}
b: {notify: [{webhook: {url: 'https://x/T2', secret: {env: KEY}}}]}
c: {notify: 3}
d: 4
";
        let mut sources = Sources::default();
        let id = sources.add("unfurl.yaml", text, None);
        let node = parse(&sources, id, &Limits::default()).unwrap();
        let found = secret_spans(&node);
        let texts: Vec<&str> = found
            .iter()
            .map(|span| &text[span.start as usize..span.end as usize])
            .collect();
        assert_eq!(texts, ["'https://x/T1'", "hush", "'https://x/T2'"]);
    }
}
