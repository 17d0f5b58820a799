//! Whether a password fits a hash: SHA-crypt, `$5$` and `$6$`.

use sha2::{Digest, Sha256, Sha512};

/// A password that a user is to have.
#[derive(Clone)]
pub(super) enum Password {
    /// This hash.
    Hash(String),
    /// This text, hashed on the machine.
    Plain(String),
    /// None at all.
    Empty,
}

/// Whether a password is that of a hash.
pub(super) fn is_of(password: &Password, hash: &str) -> bool {
    match password {
        Password::Hash(wanted) => wanted == hash,
        Password::Plain(text) => crypt(text.as_bytes(), hash).is_some_and(|made| made == hash),
        Password::Empty => hash.is_empty(),
    }
}

const DEFAULT_ROUNDS: u32 = 5000;

/// More rounds than this are not tried: a hash that asks for them would stop everything.
const MOST_ROUNDS: u32 = 1_000_000;

/// The hash of a password with the kind, rounds and salt of another; none if its kind is not
/// known.
fn crypt(password: &[u8], like: &str) -> Option<String> {
    let (kind, rest) = like.strip_prefix('$')?.split_once('$')?;
    let (rounds, rest, shown) = match rest.strip_prefix("rounds=") {
        None => (DEFAULT_ROUNDS, rest, String::new()),
        Some(rest) => {
            let (rounds, rest) = rest.split_once('$')?;
            let rounds = rounds.parse::<u32>().ok()?.max(1000);
            if rounds > MOST_ROUNDS {
                return None;
            }
            (rounds, rest, format!("rounds={rounds}$"))
        }
    };
    let salt = rest.split('$').next()?;
    let salt = salt.get(..salt.len().min(16))?;
    let made = match kind {
        "5" => encode(
            &digest::<Sha256>(password, salt.as_bytes(), rounds),
            &ORDER_256,
        ),
        "6" => encode(
            &digest::<Sha512>(password, salt.as_bytes(), rounds),
            &order_512(),
        ),
        _ => return None,
    };
    Some(format!("${kind}${shown}{salt}${made}"))
}

/// The digest of SHA-crypt, before its bytes are shuffled into letters.
fn digest<D: Digest>(password: &[u8], salt: &[u8], rounds: u32) -> Vec<u8> {
    let other = D::new()
        .chain_update(password)
        .chain_update(salt)
        .chain_update(password)
        .finalize();
    let mut first = D::new().chain_update(password).chain_update(salt);
    first.update(stretch(&other, password.len()));
    let mut bits = password.len();
    while bits > 0 {
        if bits & 1 == 1 {
            first.update(&other);
        } else {
            first.update(password);
        }
        bits >>= 1;
    }
    let mut sum = first.finalize();
    let mut many = D::new();
    (0..password.len()).for_each(|_| many.update(password));
    let password = stretch(&many.finalize(), password.len());
    let mut many = D::new();
    (0..16 + usize::from(sum[0])).for_each(|_| many.update(salt));
    let salt = stretch(&many.finalize(), salt.len());
    for round in 0..rounds {
        let mut next = D::new();
        next.update(if round % 2 == 1 { &password[..] } else { &sum });
        if round % 3 != 0 {
            next.update(&salt);
        }
        if round % 7 != 0 {
            next.update(&password);
        }
        next.update(if round % 2 == 1 { &sum[..] } else { &password });
        sum = next.finalize();
    }
    sum.to_vec()
}

fn stretch(bytes: &[u8], length: usize) -> Vec<u8> {
    bytes.iter().copied().cycle().take(length).collect()
}

/// Three bytes become four letters, the last ones fewer: `None` stands for nothing.
type Order = [Option<usize>; 3];

const ORDER_256: [Order; 11] = [
    [Some(0), Some(10), Some(20)],
    [Some(21), Some(1), Some(11)],
    [Some(12), Some(22), Some(2)],
    [Some(3), Some(13), Some(23)],
    [Some(24), Some(4), Some(14)],
    [Some(15), Some(25), Some(5)],
    [Some(6), Some(16), Some(26)],
    [Some(27), Some(7), Some(17)],
    [Some(18), Some(28), Some(8)],
    [Some(9), Some(19), Some(29)],
    [None, Some(31), Some(30)],
];

fn order_512() -> Vec<Order> {
    let mut order: Vec<Order> = (0..21)
        .map(|place| match place % 3 {
            0 => [Some(place), Some(place + 21), Some(place + 42)],
            1 => [Some(place + 21), Some(place + 42), Some(place)],
            _ => [Some(place + 42), Some(place), Some(place + 21)],
        })
        .collect();
    order.push([None, None, Some(63)]);
    order
}

fn encode(bytes: &[u8], order: &[Order]) -> String {
    const LETTERS: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut text = String::new();
    for group in order {
        let mut number = group.iter().fold(0_usize, |number, place| {
            number << 8 | place.map_or(0, |place| usize::from(bytes[place]))
        });
        let letters = group.iter().flatten().count() + 1;
        for _ in 0..letters {
            text.push(char::from(LETTERS[number & 63]));
            number >>= 6;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_that_other_programs_make() {
        // What the `passwd` command of OpenSSL gives for them.
        let cases = [
            (
                "Hello world!",
                "$5$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5",
            ),
            (
                "Hello world!",
                "$5$rounds=10000$saltstringsaltst$3xv.VbSHBb41AL9AvLeujZkZRBAwqFMz2.opqey6IcA",
            ),
            (
                "Hello world!",
                "$6$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/O817G3uBnIFNjnQJuesI68u4OTLiBFdcbYEdFCoEOfaS35inz1",
            ),
            (
                "we have a short salt string but not a short password",
                "$6$rounds=77777$short$WuQyW2YR.hBNpjjRhpYD/ifIw05xdfeEyQoMxIXbkvr0gge1a1x3yRULJ5CCaUeOxFmtlcGZelFl5CxtgfiAc0",
            ),
        ];
        for (password, hash) in cases {
            assert!(
                is_of(&Password::Plain(password.into()), hash),
                "{:?} is not {hash}",
                crypt(password.as_bytes(), hash)
            );
            assert!(!is_of(&Password::Plain("other".into()), hash));
        }
    }

    #[test]
    fn a_hash_of_another_kind_fits_no_password() {
        for hash in [
            "!",
            "",
            "$y$j9T$x$y",
            "$6$",
            "$6$rounds=4000000000$a$b",
            "$6$\u{e9}",
        ] {
            assert!(!is_of(&Password::Plain("a".into()), hash), "{hash}");
        }
    }
}
