//! Chooses the parameters of SGR sequences that may pass: colours and emphasis.
//!
//! Conceal, blink and inverse are refused, because they can hide text.

/// The maximum number of parameters of one sequence that pass.
const MAX_CODES: usize = 32;

/// Returns the parameters that may pass, joined by semicolons. `None` if there are none.
pub(super) fn permitted_colours(parameters: &str) -> Option<String> {
    let mut codes = Vec::new();
    let mut words = parameters.split(';');
    while let Some(word) = words.next() {
        if codes.len() == MAX_CODES {
            break;
        }
        match word.parse::<u8>() {
            Ok(code @ (38 | 48)) => codes.extend(long_colour(code, &mut words)),
            Ok(code) if is_permitted(code) => codes.push(code.to_string()),
            Err(_) if word.is_empty() => codes.push("0".to_owned()),
            Err(_) if is_long_colour(word) => codes.push(word.to_owned()),
            _ => {}
        }
    }
    (!codes.is_empty()).then(|| codes.join(";"))
}

/// Bold, dim, italic, underline, colours, and the ends of these.
fn is_permitted(code: u8) -> bool {
    matches!(code, 0..=4 | 22..=24 | 30..=37 | 39..=47 | 49 | 90..=97 | 100..=107)
}

/// Reads a colour of 256, `5;N`, or of 16 million, `2;R;G;B`.
fn long_colour<'w>(code: u8, words: &mut impl Iterator<Item = &'w str>) -> Option<String> {
    let kind = words.next()?;
    let count = match kind {
        "5" => 1,
        "2" => 3,
        _ => return None,
    };
    let mut written = format!("{code};{kind}");
    for _ in 0..count {
        let number: u8 = words.next()?.parse().ok()?;
        written.push_str(&format!(";{number}"));
    }
    Some(written)
}

/// Whether a parameter is a colour with colons, such as `38:5:208`.
fn is_long_colour(word: &str) -> bool {
    let mut numbers = word.split(':');
    let begins = matches!(numbers.next(), Some("38" | "48"));
    let is_number = |number: &str| number.is_empty() || number.parse::<u8>().is_ok();
    begins && matches!(numbers.next(), Some("2" | "5")) && numbers.all(is_number) && word.len() < 32
}
