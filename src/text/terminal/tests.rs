use proptest::prelude::*;

use super::*;

fn lines(has_colours: bool, chunks: &[&[u8]]) -> String {
    filtered(has_colours, Delivery::Lines, chunks)
}

fn filtered(has_colours: bool, delivery: Delivery, chunks: &[&[u8]]) -> String {
    let mut filter = OutputFilter::new(has_colours, delivery);
    let mut shown: String = chunks.iter().map(|chunk| filter.push(chunk)).collect();
    shown.push_str(&filter.finish());
    shown
}

/// Output of a command, and the text that remains of it without colours.
const OUTPUT: &[(&[u8], &str)] = &[
    (b"plain\ttext\n", "plain\ttext\n"),
    // CSI: colours, movement, erasing, modes, reports.
    (b"\x1b[31mred\x1b[0m", "red"),
    (b"\x1b[2Ja", "a"),
    (b"\x1b[Ha\x1b[1;1Hb\x1b[5Ac", "abc"),
    (b"a\x1b[1K\x1b[Gb", "ab"),
    (b"\x1b[?1049ha\x1b[?1049l", "a"),
    (b"\x1b[?25la", "a"),
    (b"\x1b[6na\x1b[c\x1b[>c\x1b[=c", "a"),
    (b"\x1b[>4;1ma", "a"),
    (b"\x1b[21ta\x1b[3;0;0t", "a"),
    (b"\x1b[4ha\x1b[!p\x1b[61\"p", "a"),
    (b"\x1b[1 qa", "a"),
    (b"\x1b[1;2;3;4;5xa", "a"),
    (b"\x1b[31\nmb", "\nmb"),
    (b"\x1b[", ""),
    (b"\x1b[31", ""),
    ("\x1b[3é".as_bytes(), "é"),
    // OSC: title, hyperlink, clipboard, colours, notification, files.
    (b"\x1b]0;title\x07a", "a"),
    (b"\x1b]2;title\x1b\\a", "a"),
    (b"\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
    (b"\x1b]52;c;ZXZpbA==\x07a", "a"),
    (b"\x1b]4;1;rgb:00/00/00\x1b\\a", "a"),
    (b"\x1b]777;notify;a;b\x07a", "a"),
    (b"\x1b]1337;File=inline=1:AAAA\x07a", "a"),
    ("\x1b]0;t\u{9c}a".as_bytes(), "a"),
    (b"\x1b]0;t\x18a\x1b]0;t\x1aa", "aa"),
    (b"\x1b]0;never ends\nnext", "\nnext"),
    (b"\x1b]0;x\x1b[31my", "y"),
    // DCS, PM, APC, SOS.
    (b"\x1bPq#0;2;0;0;0\x1b\\a", "a"),
    (b"\x1bP$qm\x1b\\a\x1bP+q544e\x1b\\", "a"),
    (b"\x1b^private\x1b\\a", "a"),
    (b"\x1b_Gf=100;AAAA\x1b\\a", "a"),
    (b"\x1bXstring\x1b\\a", "a"),
    (b"\x1bPopen\nnext", "\nnext"),
    // Other escapes.
    (b"\x1bca\x1b7\x1b8\x1bM\x1bD\x1bE\x1b=\x1b>", "a"),
    (b"\x1b(0a\x1b(B\x1b%G\x1b#8", "a"),
    (b"\x1bna\x1bo\x1b|\x1b}", "a"),
    (b"\x1b\x1b[31ma", "a"),
    (b"\x1b", ""),
    (b"\x1b\x80a", "a"),
    // C1 in UTF-8, and as bytes.
    ("\u{9b}2Ja".as_bytes(), "a"),
    ("\u{9b}31ma".as_bytes(), "a"),
    ("\u{9d}52;c;AAAA\u{9c}a".as_bytes(), "a"),
    (
        "\u{90}q\u{9c}a\u{9e}p\u{9c}\u{9f}p\u{9c}\u{98}p\u{9c}".as_bytes(),
        "a",
    ),
    ("\u{84}a\u{85}b\u{88}\u{8d}\u{8e}".as_bytes(), "a b"),
    (b"\x9b2Ja", "a"),
    (b"\x9d0;title\x07a", "a"),
    (b"\x9ca\x84", "a"),
    (b"a\xff\xe2\x82b", "a\u{fffd}\u{fffd}b"),
    // C0.
    (b"a\x00b\x01c\x02\x03\x04\x05\x06\x07d", "abcd"),
    (b"ERROR\x08\x08\x08\x08\x08fake", "ERRORfake"),
    (b"a\x0bb\x0cc", "a b c"),
    (b"\x0e\x0fa\x10\x11\x13\x16\x18\x1a\x1c\x1f\x7f", "a"),
    // Carriage returns.
    (b"windows\r\nnext\r\r\n", "windows\nnext\n"),
    (b"10%\r50%\r100%\r\n", "100%\n"),
    (b"real\rfake: OK\n", "fake: OK\n"),
    (b"done\r\x1b[K\n", "done\n"),
    (b"\x1b[31ma\r\x1b[32mb", "b"),
    // Bidirectional text and invisible characters.
    (
        "a\u{202e}b\u{202c}\u{202d}\u{202a}\u{202b}".as_bytes(),
        "ab",
    ),
    (
        "\u{2066}a\u{2067}\u{2068}\u{2069}\u{200e}\u{200f}\u{61c}".as_bytes(),
        "a",
    ),
    ("a\u{2028}b\u{2029}c".as_bytes(), "a b c"),
    (
        "a\u{e0041}\u{e007f}\u{fff9}\u{fffa}\u{fffb}".as_bytes(),
        "a",
    ),
    // Text that looks similar and is left alone.
    (
        "👩\u{200d}💻 می\u{200c}خواهم שלום".as_bytes(),
        "👩\u{200d}💻 می\u{200c}خواهم שלום",
    ),
    ("é│囧‥\u{a0}\u{feff}".as_bytes(), "é│囧‥\u{a0}\u{feff}"),
];

#[test]
fn output_loses_all_that_steers_a_terminal() {
    for (output, text) in OUTPUT {
        let name = String::from_utf8_lossy(output);
        assert_eq!(lines(false, &[output]), *text, "{name:?}");
        for at in 0..output.len() {
            let (head, tail) = output.split_at(at);
            assert_eq!(lines(false, &[head, tail]), *text, "{name:?} split at {at}");
        }
    }
}

#[test]
fn colours_stay_up_to_the_end_of_their_line() {
    for (output, text) in [
        ("\x1b[31mred\x1b[0m", "\x1b[31mred\x1b[0m"),
        ("\x1b[1;31mred\nnext\n", "\x1b[1;31mred\x1b[0m\nnext\n"),
        ("\x1b[mplain", "\x1b[0mplain\x1b[0m"),
        ("\x1b[8mhidden", "hidden"),
        ("\x1b[5;31;8;7mred", "\x1b[31mred\x1b[0m"),
        ("\x1b[38;5;208ma", "\x1b[38;5;208ma\x1b[0m"),
        ("\x1b[48;2;1;2;3;8ma", "\x1b[48;2;1;2;3ma\x1b[0m"),
        ("\x1b[38:2::1:2:3ma", "\x1b[38:2::1:2:3ma\x1b[0m"),
        ("\x1b[38;5;999;31ma", "\x1b[31ma\x1b[0m"),
        ("\u{9b}32mgreen", "\x1b[32mgreen\x1b[0m"),
        ("\x1b[31ma\rb\n", "b\n"),
        ("a\r\x1b[31mb\x1b[2K\n", "\x1b[31mb\x1b[0m\n"),
        ("ends\x1b[31m\n", "ends\n"),
    ] {
        assert_eq!(lines(true, &[output.as_bytes()]), text, "{output:?}");
    }
}

#[test]
fn a_long_line_is_shown_in_parts_and_its_sequences_stay_whole() {
    let long = "x".repeat(70_000);
    let mut filter = OutputFilter::new(false, Delivery::Lines);
    assert_eq!(filter.push(long.as_bytes()), long);
    assert_eq!(filter.push(b"\x1b]0;"), "");
    assert_eq!(filter.push(long.as_bytes()), "");
    assert_eq!(filter.push(b"payload\x07text\n"), "text\n");
    let progress = format!("{long}\r12%");
    assert_eq!(filter.push(progress.as_bytes()), "");
    assert_eq!(filter.push(b"\r13%\n"), "13%\n");
}

#[test]
fn prompts_pass_at_once_and_sequences_in_parts_do_not() {
    let mut filter = OutputFilter::new(false, Delivery::AtOnce);
    for (output, text) in [
        ("login: ", "login: "),
        ("a\x1b", "a"),
        ("[3", ""),
        ("1mb\r", "b"),
        ("\nc\x1b]0;ti", "\nc"),
        ("tle\x07d", "d"),
    ] {
        assert_eq!(filter.push(output.as_bytes()), text, "{output:?}");
    }
}

#[test]
fn messages_show_unsafe_characters_as_escapes() {
    for (text, shown) in [
        ("plain é\n\ttext", "plain é\n\ttext"),
        ("a\x1b]0;t\x07b", r"a\u001b]0;t\u0007b"),
        ("a\u{9b}2J\u{202e}", r"a\u009b2J\u202e"),
        ("a\r\nb\rc", "a\nb\\u000dc"),
        ("\u{e0041}", r"\udb40\udc41"),
        ("\x1b[31m", r"\u001b[31m"),
    ] {
        assert_eq!(escape_controls(text), shown, "{text:?}");
    }
}

#[test]
fn own_styles_pass_and_all_else_of_a_styled_text_is_escaped() {
    for (text, shown) in [
        ("\x1b[1m\x1b[91merror\x1b[0m", "\x1b[1m\x1b[91merror\x1b[0m"),
        ("\x1b[8ma\x1b[2J", r"\u001b[8ma\u001b[2J"),
        (
            "\x1b]0;t\x07\r\n\r\u{9b}1m",
            "\\u001b]0;t\\u0007\n\\u000d\x1b[1m",
        ),
    ] {
        assert_eq!(escape_except_colours(text), shown, "{text:?}");
    }
}

#[test]
fn json_keeps_its_value() {
    let value = serde_json::json!({"k\u{7f}\u{9b}": ["\x1b[31m\r\n", "\u{202e}\u{e0041}"]});
    let shown = serde_json::to_string_pretty(&value).unwrap();
    let shown = escape_controls(&shown);
    assert!(!shown.contains(is_unsafe));
    let read: serde_json::Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(read, value);
}

#[test]
fn values_lose_what_unfurl_removes_from_them() {
    assert_eq!(
        without_controls("\x1b[31mred\x1b[0m\x08\u{9b}\r\n\x0c"),
        "red\r\n\x0c"
    );
    assert_eq!(
        without_controls("a\r\nb\u{202e}\x07\x1b]0;t\x07"),
        "a\r\nb\u{202e}"
    );
}

/// Bytes in which controls, parts of sequences and of characters are frequent.
fn hostile_bytes() -> impl Strategy<Value = Vec<u8>> {
    let signs = b"\x1b\x9b\x9d\x9c\x07\r\n[];0123m\\PX^_\xc2\xe2\x80\xae\xf3\xa0a \x08\x7f\xd8";
    let byte = prop_oneof![
        4 => proptest::sample::select(signs.to_vec()),
        1 => any::<u8>(),
    ];
    proptest::collection::vec(byte, 0..200)
}

/// Splits bytes at the given places.
fn split<'b>(bytes: &'b [u8], places: &[prop::sample::Index]) -> Vec<&'b [u8]> {
    let mut ends: Vec<usize> = places.iter().map(|at| at.index(bytes.len() + 1)).collect();
    ends.push(bytes.len());
    ends.sort_unstable();
    let starts = std::iter::once(0).chain(ends.clone());
    starts
        .zip(ends)
        .map(|(start, end)| &bytes[start..end])
        .collect()
}

fn without_sgr(text: &str) -> String {
    let parts = text.split("\x1b[").enumerate();
    let rest = parts.map(|(place, part)| match part.split_once('m') {
        Some((codes, rest)) if place > 0 => {
            assert!(
                codes
                    .bytes()
                    .all(|b| b.is_ascii_digit() || b";:".contains(&b)),
                "{text:?}"
            );
            rest
        }
        _ => part,
    });
    rest.collect()
}

proptest! {
    #[test]
    fn no_output_has_unsafe_characters(
        bytes in hostile_bytes(),
        places in proptest::collection::vec(any::<prop::sample::Index>(), 0..8),
        delivery in prop_oneof![Just(Delivery::Lines), Just(Delivery::AtOnce)],
    ) {
        let chunks = split(&bytes, &places);
        let plain = filtered(false, delivery, &chunks);
        prop_assert!(!plain.contains(is_unsafe), "{plain:?}");
        let coloured = without_sgr(&filtered(true, delivery, &chunks));
        prop_assert!(!coloured.contains(is_unsafe), "{coloured:?}");
        prop_assert_eq!(&coloured, &plain);
        if delivery == Delivery::Lines {
            prop_assert_eq!(lines(false, &[&bytes]), plain);
        }
    }

    #[test]
    fn safe_text_is_not_changed(
        text in "[^\\p{C}\\p{Zl}\\p{Zp}]*(\n[^\\p{C}\\p{Zl}\\p{Zp}]*){0,5}",
        places in proptest::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let chunks = split(text.as_bytes(), &places);
        prop_assert_eq!(&filtered(true, Delivery::Lines, &chunks), &text);
        prop_assert_eq!(&filtered(false, Delivery::AtOnce, &chunks), &text);
        prop_assert_eq!(&*escape_controls(&text), &*text);
        prop_assert_eq!(&*escape_except_colours(&text), &*text);
    }

    #[test]
    fn no_message_has_unsafe_characters(bytes in hostile_bytes()) {
        let text = String::from_utf8_lossy(&bytes);
        prop_assert!(!escape_controls(&text).contains(is_unsafe));
        let styled = without_sgr(&escape_except_colours(&text));
        prop_assert!(!styled.contains(is_unsafe), "{styled:?}");
    }
}
