//! Template functions (`salt['random.…']`) that draw texts and numbers.
//!
//! The random bytes come from the machine, once for each run. Each call makes its own of them, so that a template that
//! is rendered again draws the same.

use std::collections::HashSet;
use std::sync::Arc;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use super::call::{CallResult, TemplateCall};
use super::machine_functions::probe;
use super::text_filters::apply_text_filter;
use crate::expr::MersenneTwister;
use crate::host::fact::Domain;
use crate::states::Halt;
use crate::value::{Map, Value, hex_digest};

/// The implementation of a template function.
type RandomFn = fn(&TemplateCall<'_>) -> CallResult;

/// The table of functions by name.
pub(super) const FUNCTIONS: &[(&str, RandomFn)] = &[
    ("random.get_str", draw_text),
    ("random.hash", hash),
    ("random.rand_int", |call| {
        let start = call.int_or(0, "start", 1)?;
        let end = call.int_or(1, "end", 10)?;
        let count = u64::try_from(end.saturating_sub(start).saturating_add(1)).unwrap_or(0);
        if count == 0 {
            return Err(call.fail(format_args!("there is no number from {start} to {end}")));
        }
        let seed = call.arg(2, "seed").filter(|seed| seed.is_truthy());
        let mut source = match seed {
            Some(seed) => NumberSource::seeded(seed),
            None => NumberSource::Drawn(Draws::new(call)?),
        };
        let drawn = i64::try_from(source.below(count)).unwrap_or(0);
        Ok(start.saturating_add(drawn).into())
    }),
    ("random.sample", sample),
    ("random.seed", |call| {
        let range = u64::try_from(call.int_or(0, "range", 10)?)
            .unwrap_or(0)
            .max(1);
        let seed = call.arg(1, "hash").filter(|seed| !seed.is_null());
        let id = Value::Str(Arc::clone(&call.vars.id));
        let drawn = NumberSource::seeded(seed.unwrap_or(&id)).below(range);
        Ok(i64::try_from(drawn).unwrap_or(i64::MAX).into())
    }),
    ("random.shuffle", shuffle),
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

/// The filters, as functions of the filtered value.
pub(super) const FILTERS: &[(&str, RandomFn)] = &[
    ("gen_mac", |call| {
        let prefix = call.text_or(0, "prefix", "AC:DE:48");
        let mut draws = Draws::new(call)?;
        let mut byte = || draws.below(256);
        Ok(format!("{prefix}:{:02X}:{:02X}:{:02X}", byte(), byte(), byte()).into())
    }),
    ("rand_str", random_digest),
    ("random_hash", random_digest),
    ("random_sample", sample),
    ("random_shuffle", shuffle),
    ("random_str", |call| {
        let length = usize::try_from(call.int_or(0, "size", 32)?).unwrap_or(0);
        let characters = format!("{LETTERS_AND_DIGITS}+/");
        draw_from(call, &characters.chars().collect::<Vec<_>>(), length)
    }),
];

/// The characters of base64 that are letters or digits.
const LETTERS_AND_DIGITS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
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

/// Returns the digest of a random number below the filtered one.
fn random_digest(call: &TemplateCall<'_>) -> CallResult {
    let size = call.int_or(0, "size", 9_999_999_999)?;
    let kind = call.text_or(1, "hash_type", "md5");
    let count = u64::try_from(size)
        .ok()
        .and_then(|size| size.checked_add(1));
    let count =
        count.ok_or_else(|| call.fail(format_args!("there is no number from 0 to {size}")))?;
    let drawn = Draws::new(call)?.below(count).to_string();
    let digest = hex_digest(&kind, drawn.as_bytes());
    Ok(digest
        .ok_or_else(|| call.fail(format_args!("there is no algorithm `{kind}`")))?
        .into())
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
    draw_from(call, &characters, length)
}

fn draw_from(call: &TemplateCall<'_>, characters: &[char], length: usize) -> CallResult {
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

fn sample(call: &TemplateCall<'_>) -> CallResult {
    let size = usize::try_from(call.int_or(1, "size", 0)?).unwrap_or(usize::MAX);
    chosen(call, Some(size), call.arg(2, "seed"))
}

fn shuffle(call: &TemplateCall<'_>) -> CallResult {
    chosen(call, None, call.arg(1, "seed"))
}

/// Chooses items of a list as Python's `random.sample` does: so many, or all. A seed always gives the same ones.
fn chosen(call: &TemplateCall<'_>, size: Option<usize>, seed: Option<&Value>) -> CallResult {
    let items = call.arg_or_null(0, "value");
    let Some(items) = items.reveal().as_list() else {
        return Err(call.fail("the argument `value` must be a list"));
    };
    let size = size.unwrap_or(items.len());
    if size > items.len() {
        return Err(call.fail("the sample is larger than the list"));
    }
    let mut source = match seed.map(Value::reveal).filter(|seed| !seed.is_null()) {
        None => NumberSource::Drawn(Draws::new(call)?),
        Some(Value::Str(seed)) => {
            let digest = hex_digest("sha512", seed.as_bytes()).unwrap_or_default();
            NumberSource::seeded(&digest.into())
        }
        Some(_) => return Err(call.fail("the argument `seed` must be a text")),
    };
    let mut index = |count: usize| {
        let drawn = source.below(u64::try_from(count).unwrap_or(u64::MAX));
        usize::try_from(drawn).unwrap_or(0)
    };
    let mut taken = Vec::with_capacity(size);
    if items.len() <= pool_size(size) {
        let mut pool = items.clone();
        for place in 0..size {
            let last = items.len() - place - 1;
            taken.push(pool.swap_remove(index(last + 1)));
        }
    } else {
        let mut known = HashSet::new();
        while taken.len() < size {
            let place = index(items.len());
            if known.insert(place) {
                taken.push(items[place].clone());
            }
        }
    }
    Ok(Value::list(taken))
}

/// Returns the length of a list up to which Python copies it to choose so many items.
fn pool_size(size: usize) -> usize {
    let mut power = 1_usize;
    while size > 5 && power < size.saturating_mul(3) {
        power = power.saturating_mul(4);
    }
    21 + if size > 5 { power } else { 0 }
}

/// A source of random numbers.
enum NumberSource {
    Drawn(Draws),
    /// The numbers that Python gives for a seed.
    Seeded(Box<MersenneTwister>),
}

impl NumberSource {
    fn seeded(seed: &Value) -> Self {
        Self::Seeded(Box::new(match seed.reveal() {
            Value::Int(seed) => MersenneTwister::from_number(seed.unsigned_abs()),
            other => MersenneTwister::from_text(&other.to_string()),
        }))
    }

    /// Draws a number below `end`, which must not be 0.
    fn below(&mut self, end: u64) -> u64 {
        match self {
            Self::Drawn(draws) => draws.below(end),
            Self::Seeded(twister) => twister.below(end),
        }
    }
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
