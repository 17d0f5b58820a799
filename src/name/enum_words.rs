//! Enums whose values have words: in files, on the screen and on the command line.

/// An enum with a word for each of its values.
pub trait EnumWords: Copy + PartialEq + Send + Sync + 'static {
    /// Each value with its word and with what the help of the command line says of it, in the
    /// order of that help.
    const WORDS: &'static [(Self, &'static str, &'static str)];

    /// The word of this value.
    fn as_str(self) -> &'static str {
        let row = Self::WORDS.iter().find(|(value, _, _)| *value == self);
        row.map_or("", |(_, word, _)| word)
    }

    /// The value of a word, if it is one.
    fn parse(word: &str) -> Option<Self> {
        let row = Self::WORDS.iter().find(|(_, own, _)| *own == word);
        row.map(|(value, _, _)| *value)
    }
}
