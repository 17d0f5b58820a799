//! Template functions (`salt['random.…']`) that draw texts and numbers.
//!
//! The random bytes come from the machine, once for each run. Each call makes its own of them, so that a template that
//! is rendered again draws the same.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use super::call::{CallResult, TemplateCall};
use super::machine_functions::probe;
use super::text_filters::apply_text_filter;
use crate::host::fact::Domain;
use crate::states::Halt;
use crate::value::{Map, Value};

/// The implementation of a template function.
type RandomFn = fn(&TemplateCall<'_>) -> CallResult;

/// The table of functions by name.
pub(super) const FUNCTIONS: &[(&str, RandomFn)] = &[
    ("random.get_str", draw_text),
    ("random.hash", hash),
    ("random.rand_int", |call| {
        refuse_seed(call, 2)?;
        let start = call.int_or(0, "start", 1)?;
        let end = call.int_or(1, "end", 10)?;
        let count = u64::try_from(end.saturating_sub(start).saturating_add(1)).unwrap_or(0);
        if count == 0 {
            return Err(call.fail(format_args!("there is no number from {start} to {end}")));
        }
        let drawn = Draws::new(call)?.below(count);
        Ok(start
            .saturating_add(i64::try_from(drawn).unwrap_or(0))
            .into())
    }),
    ("random.sample", |call| {
        refuse_seed(call, 2)?;
        let items = call.arg_or_null(0, "value");
        let size = usize::try_from(call.int_or(1, "size", 0)?).unwrap_or(usize::MAX);
        let mut items = shuffled(call, &items)?;
        if size > items.len() {
            return Err(call.fail("the sample is larger than the list"));
        }
        items.truncate(size);
        Ok(items.into())
    }),
    ("random.shuffle", |call| {
        refuse_seed(call, 1)?;
        Ok(shuffled(call, &call.arg_or_null(0, "value"))?.into())
    }),
    ("random.str_encode", |call| {
        let encoder = call.text_or(1, "encoder", "base64");
        if encoder != "base64" {
            return Err(call.fail(format_args!(
                "the encoder `{encoder}` is not supported; use base64"
            )));
        }
        let value = Value::from(call.text(0, "value")?);
        let encoded = apply_text_filter("base64_encode", &[value], &Map::new());
        let encoded = encoded.unwrap_or_else(|| Ok(Value::Null));
        encoded.map_err(|problem| call.fail(problem))
    }),
];

/// The characters of Python's `string.punctuation`.
const PUNCTUATION: &str = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
/// The characters of Python's `string.whitespace`.
const WHITESPACE: &str = " \t\n\r\u{b}\u{c}";
/// The longest text that is drawn.
const MAX_LENGTH: usize = 1 << 16;

fn hash(call: &TemplateCall<'_>) -> CallResult {
    let algorithm = call.text_or(1, "algorithm", "sha512");
    let value = Value::from(call.text(0, "value")?);
    apply_text_filter(&algorithm, &[value], &Map::new())
        .filter(|_| ["md5", "sha1", "sha256", "sha512"].contains(&&*algorithm))
        .unwrap_or_else(|| Err(format!("there is no algorithm `{algorithm}`")))
        .map_err(|problem| call.fail(problem))
}

fn refuse_seed(call: &TemplateCall<'_>, place: usize) -> Result<(), Halt> {
    match call.arg(place, "seed").filter(|seed| !seed.is_null()) {
        Some(_) => {
            Err(call.fail("`seed` is not supported: the filters random and shuffle take one"))
        }
        None => Ok(()),
    }
}

/// Draws a text of the given length from sets of characters.
fn draw_text(call: &TemplateCall<'_>) -> CallResult {
    let length = usize::try_from(call.int_or(0, "length", 20)?).unwrap_or(0);
    let letters: String = ('a'..='z').collect();
    let digits: String = ('0'..='9').collect();
    let upper = letters.to_uppercase();
    let given = call.text_or(1, "chars", "");
    let sets = [
        (2, "lowercase", &*letters, true),
        (3, "uppercase", &upper, true),
        (4, "digits", &digits, true),
        (5, "punctuation", PUNCTUATION, true),
        (6, "whitespace", WHITESPACE, false),
    ];
    let is_all = call.flag(7, "printable", false);
    let chosen = sets
        .iter()
        .filter(|(place, name, _, usual)| is_all || call.flag(*place, name, *usual));
    let characters: Vec<char> = match &*given {
        "" => chosen.flat_map(|(.., set, _)| set.chars()).collect(),
        given => given.chars().collect(),
    };
    if !(1..=MAX_LENGTH).contains(&length) || characters.is_empty() {
        return Err(call.fail(format_args!(
            "`length` must be from 1 to {MAX_LENGTH}, and there must be characters to draw from"
        )));
    }
    let mut draws = Draws::new(call)?;
    let count = u64::try_from(characters.len()).unwrap_or(1);
    let draw = |_| characters[usize::try_from(draws.below(count)).unwrap_or(0)];
    let drawn: String = (0..length).map(draw).collect();
    Ok(drawn.into())
}

/// The items of a list in a drawn order.
fn shuffled(call: &TemplateCall<'_>, value: &Value) -> Result<Vec<Value>, Halt> {
    let Some(items) = value.as_list() else {
        return Err(call.fail("the argument `value` must be a list"));
    };
    let mut items = items.clone();
    let mut draws = Draws::new(call)?;
    for last in (1..items.len()).rev() {
        let other = draws.below(u64::try_from(last).unwrap_or(0) + 1);
        items.swap(last, usize::try_from(other).unwrap_or(0));
    }
    Ok(items)
}

/// The random numbers of one call.
struct Draws {
    seed: Vec<u8>,
    call: u64,
    block: u64,
    rest: Vec<u8>,
}

impl Draws {
    /// Reads the random bytes of the machine, if that has not happened yet.
    fn new(call: &TemplateCall<'_>) -> Result<Self, Halt> {
        let command = "head -c 32 /dev/urandom | od -An -v -tx1".to_owned();
        let seed = probe(call, command, Domain::Fixed)?.stdout;
        if seed.len() < 64 {
            return Err(call.fail("the host gives no random numbers: /dev/urandom cannot be read"));
        }
        Ok(Self {
            seed,
            call: call.next_draw(),
            block: 0,
            rest: Vec::new(),
        })
    }

    /// Draws a number below `end`, each with the same probability.
    fn below(&mut self, end: u64) -> u64 {
        let usable = u64::MAX - u64::MAX % end;
        loop {
            let number = self.next();
            if number < usable {
                return number % end;
            }
        }
    }

    fn next(&mut self) -> u64 {
        if self.rest.len() < 8 {
            let Ok(mut code) = Hmac::<Sha256>::new_from_slice(&self.seed) else {
                return 0;
            };
            code.update(&self.call.to_be_bytes());
            code.update(&self.block.to_be_bytes());
            self.block += 1;
            self.rest = code.finalize().into_bytes().to_vec();
        }
        let bytes = self.rest.split_off(self.rest.len() - 8);
        bytes
            .iter()
            .fold(0, |number, byte| number << 8 | u64::from(*byte))
    }
}
