//! The optional first line of a template that sets other delimiters: `#jinja2: name: 'value', …`.

use minijinja::syntax::SyntaxConfig;

use super::delimiters::Delimiters;

/// A syntax with other delimiters than the default.
type Syntax = (SyntaxConfig, Delimiters);

/// Splits the header from a template. Returns the syntax, if the header sets one, and the remaining text.
pub(super) fn split(text: &str) -> Result<(Option<Syntax>, &str), String> {
    let Some(rest) = text.strip_prefix("#jinja2:") else {
        return Ok((None, text));
    };
    let (header, template) = rest.split_once('\n').unwrap_or((rest, ""));
    let mut delimiters = [
        ["{%", "%}"].map(str::to_owned),
        ["{{", "}}"].map(str::to_owned),
        ["{#", "#}"].map(str::to_owned),
    ];
    let mut builder = SyntaxConfig::builder();
    for pair in header.split(',').filter(|pair| !pair.trim().is_empty()) {
        let (name, value) = pair.split_once(':').ok_or_else(|| malformed_option(pair))?;
        let value = value.trim();
        let text = value.trim_matches(['\'', '"']).to_owned();
        let truth = value.eq_ignore_ascii_case("true");
        match name.trim() {
            "block_start_string" => delimiters[0][0] = text,
            "block_end_string" => delimiters[0][1] = text,
            "variable_start_string" => delimiters[1][0] = text,
            "variable_end_string" => delimiters[1][1] = text,
            "comment_start_string" => delimiters[2][0] = text,
            "comment_end_string" => delimiters[2][1] = text,
            "line_statement_prefix" => {
                builder.line_statement_prefix(text);
            }
            "line_comment_prefix" => {
                builder.line_comment_prefix(text);
            }
            "trim_blocks" => {
                builder.trim_blocks(truth);
            }
            "lstrip_blocks" => {
                builder.lstrip_blocks(truth);
            }
            "keep_trailing_newline" => {
                builder.keep_trailing_newline(truth);
            }
            other => {
                return Err(format!(
                    "its `#jinja2:` header has the unknown option `{other}`"
                ));
            }
        }
    }
    let scanned = Delimiters(delimiters.clone());
    let [block, variable, comment] = delimiters;
    let [start, end] = block;
    builder.block_delimiters(start, end);
    let [start, end] = variable;
    builder.variable_delimiters(start, end);
    let [start, end] = comment;
    builder.comment_delimiters(start, end);
    let syntax = builder.build().map_err(|error| error.to_string())?;
    Ok((Some((syntax, scanned)), template))
}

/// Returns the error for an option that is not of the form `name: value`.
fn malformed_option(pair: &str) -> String {
    format!(
        "`{}` in its `#jinja2:` header is not of the form `name: value`",
        pair.trim()
    )
}
