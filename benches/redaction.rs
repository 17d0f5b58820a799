//! Measures how fast output is searched for secrets: `cargo bench --profile dist --bench redaction`, or `sh benches/redaction.sh`.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::time::{Duration, Instant};

use unfurl::testing::value::{Redactor, Secrets};

/// The size of the output.
const BYTES: usize = 100 << 20;

/// The size of the pieces in which output arrives from a busy pipe.
const PIECE: usize = 64 << 10;

/// The number of secrets.
const SECRETS: usize = 50;

/// The speed below which the benchmark fails, in bytes per second.
const MIN_SPEED: f64 = 100e6;

/// Words of the output, among them digests and times.
const WORDS: &[&str] = &[
    "compile",
    "the",
    "package",
    "of",
    "version",
    "1.2.3",
    "and",
    "install",
    "/usr/lib/x86_64-linux-gnu/libfoo.so",
    "INFO",
    "2026-11-23T12:00:01Z",
    "[ok]",
    "deadbeef",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "100%",
    "=>",
];

const LETTERS: &[u8] = b"ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789-_.!$";

/// A sequence of numbers that is the same each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        usize::try_from(self.0 >> 33).unwrap_or(0) % limit
    }
}

fn output(numbers: &mut Numbers) -> Vec<u8> {
    let mut text = Vec::with_capacity(BYTES + 100);
    while text.len() < BYTES {
        text.extend_from_slice(WORDS[numbers.below(WORDS.len())].as_bytes());
        text.push(if numbers.below(9) == 0 { b'\n' } else { b' ' });
    }
    text
}

fn secrets(numbers: &mut Numbers) -> Secrets {
    let secret = |number: usize| {
        let length = [12, 16, 20, 24, 32, 40, 6, 64][number % 8];
        let letters = (0..length).map(|_| char::from(LETTERS[numbers.below(LETTERS.len())]));
        letters.collect::<String>()
    };
    (0..SECRETS).map(secret).collect()
}

/// Returns the shortest time of three runs.
fn fastest(mut run: impl FnMut()) -> Duration {
    let times = (0..3).map(|_| {
        let start = Instant::now();
        run();
        start.elapsed()
    });
    times.min().unwrap_or_default()
}

fn main() {
    let mut numbers = Numbers(1);
    let (output, secrets) = (output(&mut numbers), secrets(&mut numbers));
    let floor = fastest(|| {
        for piece in output.chunks(PIECE) {
            let copy = std::hint::black_box(piece.to_vec());
            std::hint::black_box(copy.split(|byte| *byte == b'\n').count());
        }
    });
    let start = Instant::now();
    let found = secrets.occur_in("nothing");
    let prepared = start.elapsed();
    let redacted = fastest(|| {
        let (mut redactor, _) = Redactor::pair(&secrets, []);
        let passed: usize = output
            .chunks(PIECE)
            .map(|piece| redactor.push(piece).len())
            .sum();
        assert_eq!(passed + redactor.finish().len(), output.len());
    });
    #[expect(clippy::cast_precision_loss, reason = "figures for people")]
    let speed = |time: Duration| output.len() as f64 / time.as_secs_f64();
    assert!(!found);
    println!("prepare {SECRETS} secrets        {prepared:10.1?}");
    println!("copy and count lines      {:10.0} MB/s", speed(floor) / 1e6);
    println!(
        "search for {SECRETS} secrets     {:10.0} MB/s",
        speed(redacted) / 1e6
    );
    println!(
        "ratio                     {:10.1}",
        redacted.as_secs_f64() / floor.as_secs_f64()
    );
    assert!(speed(redacted) >= MIN_SPEED, "slower than 100 MB/s");
}
