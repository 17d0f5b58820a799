//! The syntax errors of the template engine in plain words.

use crate::text::did_you_mean;

/// Returns the message of the template engine in plain words, with a hint.
pub(super) fn explain_syntax(message: &str) -> (String, Option<String>) {
    if let Some(word) = message.strip_prefix("unknown statement ") {
        if let Some(block) = word.strip_prefix("end") {
            let message = format!("`{word}` ends a block that is not open");
            return (
                message,
                Some(format!(
                    "begin the block with `{{% {block} … %}}`, or remove the tag"
                )),
            );
        }
        let message = format!("there is no statement `{word}`");
        return (message, did_you_mean(word, STATEMENTS));
    }
    let hint = match message {
        "unexpected end of input, expected end of variable block" => {
            Some("close the expression with `}}`")
        }
        "unexpected end of input, expected end of block" => {
            Some("close the tag with `%}`, and each block with its `end` tag")
        }
        _ => None,
    };
    (message.to_owned(), hint.map(str::to_owned))
}

/// The statements of templates.
const STATEMENTS: [&str; 14] = [
    "if", "elif", "else", "endif", "for", "endfor", "set", "endset", "with", "endwith", "macro",
    "endmacro", "filter", "do",
];
