//! Parsers of the texts from which some grains are made: PCI devices, the kernel's command line, the configuration of
//! the resolver, and the name of a locale.

use std::net::IpAddr;

use crate::text::shlex_split;
use crate::value::Value;

/// Returns a list of texts.
pub(super) fn texts<'a>(items: impl IntoIterator<Item = &'a str>) -> Value {
    Value::list(items.into_iter().map(Value::from))
}

/// Reads the graphics cards from the list of PCI devices, whose entries are separated by empty lines.
pub(super) fn graphics_cards(text: &str) -> Vec<Value> {
    const CLASSES: [&str; 4] = [
        "3d controller",
        "display controller",
        "processing accelerators",
        "vga compatible controller",
    ];
    const VENDORS: [&str; 7] = [
        "nvidia", "amd", "ati", "intel", "vmware", "matrox", "aspeed",
    ];
    let card = |entry: &str| {
        let field = |name: &str| {
            let mut fields = entry.lines().filter_map(|line| line.split_once(':'));
            fields.find_map(|(key, value)| (key == name).then(|| value.trim().to_owned()))
        };
        let class = field("Class")?.to_lowercase();
        let vendor = field("Vendor").unwrap_or_default().to_lowercase();
        let words: Vec<&str> = vendor
            .split(|letter: char| !letter.is_ascii_alphanumeric())
            .collect();
        let vendor = VENDORS.into_iter().find(|name| words.contains(name));
        CLASSES.contains(&class.as_str()).then(|| {
            Value::map([
                ("vendor", vendor.unwrap_or("unknown").into()),
                ("model", field("Device").unwrap_or_default().into()),
            ])
        })
    };
    text.split("\n\n").filter_map(card).collect()
}

/// Reads the parameters with which the kernel was started, as pairs of a name and a value or null.
pub(super) fn kernel_parameters(line: &str) -> Value {
    let words = shlex_split(line, None).unwrap_or_default();
    Value::list(words.iter().map(|word| {
        let value = match word.split('=').collect::<Vec<_>>().as_slice() {
            [_, value] => Value::from(value.trim_matches('"')),
            _ => Value::Null,
        };
        let name = word.split('=').next().unwrap_or_default();
        Value::list([name.into(), value])
    }))
}

/// Reads the configuration of the resolver.
pub(super) fn resolver(text: &str) -> Value {
    let mut servers: Vec<IpAddr> = Vec::new();
    let (mut domain, mut search) = ("", Vec::new());
    let (mut sorted, mut options): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let keyword = words.next().unwrap_or_default();
        let words: Vec<&str> = words
            .take_while(|word| !word.starts_with(['#', ';']))
            .collect();
        let first = words.first().copied();
        match (keyword, first) {
            ("nameserver", Some(address)) => {
                if let Ok(address) = address.parse()
                    && !servers.contains(&address)
                {
                    servers.push(address);
                }
            }
            ("domain", Some(name)) => domain = name,
            ("search", _) => search = words,
            ("sortlist", _) => sorted.extend(words),
            ("options", Some(option)) if !options.contains(&option) => options.push(option),
            _ => {}
        }
    }
    let of = |fits: fn(&IpAddr) -> bool| {
        let chosen = servers.iter().filter(|address| fits(address));
        Value::list(chosen.map(|address| address.to_string().into()))
    };
    Value::map([
        ("nameservers", of(|_| true)),
        ("ip4_nameservers", of(IpAddr::is_ipv4)),
        ("ip6_nameservers", of(IpAddr::is_ipv6)),
        ("sortlist", texts(sorted)),
        ("domain", domain.into()),
        ("search", texts(search)),
        ("options", texts(options)),
    ])
}

/// Returns language and encoding of a locale. Python takes the locale of C, and no locale, for English in UTF-8.
pub(super) fn language_and_encoding(locale: &str) -> (&str, String) {
    let (language, encoding) = locale.split_once('.').unwrap_or((locale, ""));
    match (language, &*encoding.to_lowercase()) {
        ("" | "C" | "POSIX", _) => ("en_US", "UTF-8".to_owned()),
        (language, "utf8" | "utf-8") => (language, "UTF-8".to_owned()),
        (language, "") => (language, "ISO8859-1".to_owned()),
        (language, _) => (language, encoding.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn graphics_cards_have_the_names_that_salt_gives_them() {
        let cards = graphics_cards(
            "yes\nSlot:\t00:01.0\nClass:\tISA bridge\nVendor:\tIntel Corporation\n\n\
             Slot:\t00:02.0\nClass:\tVGA compatible controller\nVendor:\tNVIDIA Corporation\nDevice:\tGA102\n\n",
        );
        assert_eq!(
            Value::list(cards).to_string(),
            "[{'vendor': 'nvidia', 'model': 'GA102'}]"
        );
    }

    #[test]
    fn locales_have_a_language_and_an_encoding() {
        let parts = |locale| {
            let (language, encoding) = language_and_encoding(locale);
            format!("{language} {encoding}")
        };
        assert_eq!(parts(""), "en_US UTF-8");
        assert_eq!(parts("C.UTF-8"), "en_US UTF-8");
        assert_eq!(parts("de_DE.utf8"), "de_DE UTF-8");
        assert_eq!(parts("de_DE"), "de_DE ISO8859-1");
    }
}
