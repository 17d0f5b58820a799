//! [`EnumWords`]: enums whose values have fixed words in files, on the screen and on the command line.

/// An enum with a word for each of its values.
pub trait EnumWords: Copy + PartialEq + Send + Sync + 'static {
    /// The values with their words and their descriptions in the command-line help, in the order of the
    /// help.
    const WORDS: &'static [(Self, &'static str, &'static str)];

    /// Returns the word for this value.
    fn as_str(self) -> &'static str {
        let row = Self::WORDS.iter().find(|(value, _, _)| *value == self);
        row.map_or("", |(_, word, _)| word)
    }

    /// Returns the value for a word. None for an unknown word.
    fn parse(word: &str) -> Option<Self> {
        let row = Self::WORDS.iter().find(|(_, own, _)| *own == word);
        row.map(|(value, _, _)| *value)
    }
}
