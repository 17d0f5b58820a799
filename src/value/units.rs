//! The units of TOSCA's scalar types, such as the `GB` in `10 GB`.

/// The units of one kind: the standard spelling of each and its factor to the base unit.
pub type Units = &'static [(&'static str, f64)];

/// The units of sizes, in bytes.
pub const SIZE: Units = &[
    ("B", 1.0),
    ("kB", 1e3),
    ("KiB", 1024.0),
    ("MB", 1e6),
    ("MiB", 1_048_576.0),
    ("GB", 1e9),
    ("GiB", 1_073_741_824.0),
    ("TB", 1e12),
    ("TiB", 1_099_511_627_776.0),
];
/// The units of times, in seconds.
pub const TIME: Units = &[
    ("d", 86_400.0),
    ("h", 3_600.0),
    ("m", 60.0),
    ("s", 1.0),
    ("ms", 1e-3),
    ("us", 1e-6),
    ("ns", 1e-9),
];
/// The units of frequencies, in hertz.
pub const FREQUENCY: Units = &[("Hz", 1.0), ("kHz", 1e3), ("MHz", 1e6), ("GHz", 1e9)];
/// The units of bit rates, in bits per second.
pub const BITRATE: Units = &[
    ("bps", 1.0),
    ("Kbps", 1e3),
    ("Kibps", 1024.0),
    ("Mbps", 1e6),
    ("Mibps", 1_048_576.0),
    ("Gbps", 1e9),
    ("Gibps", 1_073_741_824.0),
    ("Tbps", 1e12),
    ("Tibps", 1_099_511_627_776.0),
];

/// Returns the unit with a name: an exact match, or else one that ignores case.
pub fn find(units: Units, name: &str) -> Option<(&'static str, f64)> {
    let exact = units.iter().find(|(known, _)| *known == name);
    let folded = || {
        units
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
    };
    exact.or_else(folded).copied()
}
