//! An INI file as Salt reads, changes and writes it.
//!
//! Comments and lines that are no options keep their places. Options are written in one form, so that a file
//! changes even if no option does: `a=1` becomes `a = 1`.

use std::collections::HashMap;

use regex::Regex;

use crate::states::{Halt, refuse};
use crate::value::{Map, Value};

/// An item of a section, under its name.
#[derive(Debug, Clone, PartialEq)]
enum Item {
    /// A comment or an unreadable line, as it is.
    Line(String),
    Option(String),
    Section(Section),
    /// The place of a removed item.
    Removed,
}

/// The items of a section, or of the whole file.
///
/// A comment is named `#comment1` and so on, an unreadable line `#unknown1`.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Section {
    items: Vec<(String, Item)>,
    places: HashMap<String, usize>,
    /// The places of the comments that hold an option, as in `#port = 80`, by its name.
    commented: HashMap<String, usize>,
}

/// An INI file: the options before the first section, then the sections.
#[derive(Debug)]
pub(super) struct IniDocument {
    top: Section,
    format: IniFormat,
}

/// The sign between an option and its value, and how it is written.
#[derive(Debug, Clone)]
pub(super) struct IniFormat {
    separator: String,
    option: Regex,
    spaces: bool,
}

impl IniFormat {
    pub(super) fn new(separator: &str, spaces: bool) -> Result<Self, Halt> {
        let pattern = format!(r"^(\s*)(.+?)\s*{}\s*(.*)", regex::escape(separator));
        match Regex::new(&pattern) {
            Ok(option) if !separator.is_empty() => Ok(Self {
                separator: separator.to_owned(),
                option,
                spaces,
            }),
            _ => refuse(format!(
                "`separator: {separator}` is no sign that can stand between an option and its value"
            )),
        }
    }

    /// Returns the indent, the name and the value of a line; None if the line is no option.
    fn parse<'a>(&self, line: &'a str) -> Option<(&'a str, &'a str, &'a str)> {
        let found = self.option.captures(line)?;
        let group = |number| found.get(number).map_or("", |it| it.as_str());
        Some((group(1), group(2), group(3)))
    }

    /// Returns the separator as it is written.
    fn written(&self) -> String {
        let is_space = self.separator.chars().all(|sign| sign == ' ');
        match (is_space, self.spaces) {
            (true, _) => " ".to_owned(),
            (false, true) => format!(" {} ", self.separator.trim()),
            (false, false) => self.separator.trim().to_owned(),
        }
    }
}

/// Returns the name of a section if a line begins one.
fn section_name(line: &str) -> Option<&str> {
    let name = line.trim().strip_prefix('[')?.strip_suffix(']')?;
    (!name.is_empty()).then_some(name)
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with(['#', ';'])
}

/// Returns the white space at the start of a line, with tabs as four spaces.
fn indent(line: &str) -> String {
    let rest = line.trim_start();
    line[..line.len() - rest.len()].replace('\t', "    ")
}

impl Section {
    fn parse(lines: &[&str], format: &IniFormat) -> Self {
        let mut section = Self::default();
        let is_blank = |line: &&&str| line.is_empty();
        let first = lines.iter().take_while(is_blank).count();
        let last = lines.iter().rev().take_while(is_blank).count();
        let lines = lines.get(first..lines.len() - last).unwrap_or_default();
        let (mut comments, mut unknown) = (0, 0);
        let mut current = String::new();
        for line in lines {
            if is_comment(line) {
                comments += 1;
                if let Some((_, name, _)) = format.parse(line.trim_start_matches('#')) {
                    let place = section.items.len();
                    section.commented.entry(name.to_owned()).or_insert(place);
                }
                section.set(
                    &format!("#comment{comments}"),
                    Item::Line((*line).to_owned()),
                );
                continue;
            }
            if indent(line) > current
                && let Some((_, item)) = section.items.last_mut()
                && let Item::Line(text) | Item::Option(text) = item
            {
                text.push('\n');
                text.push_str(line);
                continue;
            }
            match format.parse(line) {
                Some((spaces, name, value)) => {
                    current = indent(spaces);
                    section.set_option(name, value);
                }
                None => {
                    unknown += 1;
                    section.set(
                        &format!("#unknown{unknown}"),
                        Item::Line((*line).to_owned()),
                    );
                }
            }
        }
        section
    }

    fn get(&self, name: &str) -> Option<&Item> {
        let (_, item) = self.items.get(*self.places.get(name)?)?;
        (*item != Item::Removed).then_some(item)
    }

    fn get_mut(&mut self, name: &str) -> Option<&mut Item> {
        let (_, item) = self.items.get_mut(*self.places.get(name)?)?;
        (*item != Item::Removed).then_some(item)
    }

    /// Sets an item in its place, or in the last one.
    fn set(&mut self, name: &str, item: Item) {
        match self.get_mut(name) {
            Some(now) => *now = item,
            None => {
                self.places.insert(name.to_owned(), self.items.len());
                self.items.push((name.to_owned(), item));
            }
        }
    }

    /// Sets an option. A new one takes the place of its comment, as in `#port = 80`, or the last place.
    fn set_option(&mut self, name: &str, value: &str) {
        let item = Item::Option(value.to_owned());
        let is_new = self.get(name).is_none();
        let commented = self.commented.remove(name).filter(|_| is_new);
        match commented.and_then(|place| Some((place, self.items.get_mut(place)?))) {
            Some((place, comment)) => {
                *comment = (name.to_owned(), item);
                self.places.insert(name.to_owned(), place);
            }
            None => self.set(name, item),
        }
    }

    fn remove(&mut self, name: &str) -> Option<Value> {
        let item = self.get_mut(name)?;
        Some(std::mem::replace(item, Item::Removed).value())
    }

    /// Sets options and sections. Returns the changes in Salt's form.
    pub(super) fn update(&mut self, desired: &Map) -> Map {
        let mut changes = Map::new();
        for (name, value) in desired {
            match value.reveal() {
                Value::Map(options) => {
                    if let Some(Item::Section(section)) = self.get_mut(name) {
                        let inner = section.update(options);
                        if !inner.is_empty() {
                            changes.insert(name.clone(), inner.into());
                        }
                        continue;
                    }
                    let mut section = Self::default();
                    section.update(options);
                    let before = self.get(name).map_or(Value::Null, Item::value);
                    changes.insert(name.clone(), old_to_new(before, section.value()));
                    self.set(name, Item::Section(section));
                }
                value => {
                    let after = value.to_string();
                    let before = self.get(name).map_or(Value::Null, Item::value);
                    if before.as_str() == Some(&after) {
                        continue;
                    }
                    self.set_option(name, &after);
                    changes.insert(name.clone(), old_to_new(before, after.into()));
                }
            }
        }
        changes
    }

    /// Returns the options and sections, without comments.
    pub(super) fn value(&self) -> Value {
        let items = self.items.iter();
        let items = items.filter(|(name, item)| !name.starts_with('#') && *item != Item::Removed);
        Value::map(items.map(|(name, item)| (name.as_str(), item.value())))
    }

    fn write(&self, separator: &str, text: &mut String) {
        for (name, item) in &self.items {
            match item {
                Item::Line(line) => text.push_str(line),
                Item::Option(value) => text.extend([name, separator, value]),
                Item::Section(_) | Item::Removed => continue,
            }
            text.push('\n');
        }
        for (name, item) in &self.items {
            if let Item::Section(section) = item {
                text.extend(["\n[", name, "]\n"]);
                section.write(separator, text);
            }
        }
    }
}

impl Item {
    fn value(&self) -> Value {
        match self {
            Self::Line(text) | Self::Option(text) => text.as_str().into(),
            Self::Section(section) => section.value(),
            Self::Removed => Value::Null,
        }
    }
}

/// Returns a change from a value before to a value after.
pub(super) fn old_to_new(before: Value, after: Value) -> Value {
    Value::map([("before", before), ("after", after)])
}

impl IniDocument {
    pub(super) fn parse(text: &str, format: IniFormat) -> Self {
        let lines: Vec<&str> = text.lines().collect();
        let mut starts = lines.iter().enumerate().filter_map(|(number, line)| {
            let name = section_name(line)?;
            Some((number, name))
        });
        let mut next = starts.next();
        let end = next.map_or(lines.len(), |(number, _)| number);
        let mut top = Section::parse(&lines[..end], &format);
        while let Some((number, name)) = next {
            next = starts.next();
            let end = next.map_or(lines.len(), |(number, _)| number);
            top.add(name, Section::parse(&lines[number + 1..end], &format));
        }
        Self { top, format }
    }

    /// Returns the text of the file.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        self.top.write(&self.format.written(), &mut text);
        text.trim_start_matches('\n').to_owned()
    }

    /// Sets options and sections. Returns the changes.
    pub(super) fn update(&mut self, desired: &Map) -> Map {
        self.top.update(desired)
    }

    /// Removes an option of a section, or of the top if there is no such section. Returns its value.
    pub(super) fn remove_option(&mut self, section: Option<&str>, option: &str) -> Option<Value> {
        let found = section.and_then(|name| self.top.get_mut(name));
        match found {
            Some(Item::Section(section)) => section.remove(option),
            _ => self.top.remove(option),
        }
    }

    /// Removes a section. Returns its options.
    pub(super) fn remove_section(&mut self, name: &str) -> Option<Value> {
        self.top.remove(name)
    }

    /// Returns an option before the first section.
    pub(super) fn top_option(&self, name: &str) -> Option<Value> {
        match self.top.get(name)? {
            Item::Option(text) => Some(text.as_str().into()),
            Item::Line(_) | Item::Section(_) | Item::Removed => None,
        }
    }

    /// Returns the options and sections, without comments.
    pub(super) fn value(&self) -> Value {
        self.top.value()
    }
}

impl Section {
    /// Adds a section that was read. Its items join those of an earlier section of that name.
    fn add(&mut self, name: &str, read: Self) {
        let Some(Item::Section(section)) = self.get_mut(name) else {
            self.set(name, Item::Section(read));
            return;
        };
        for (name, item) in read.items {
            match item {
                Item::Option(value) => section.set_option(&name, &value),
                other => section.set(&name, other),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(text: &str) -> IniDocument {
        IniDocument::parse(text, IniFormat::new("=", true).unwrap())
    }

    #[test]
    fn a_file_keeps_its_comments_and_gets_one_form() {
        let text = "; c\na=1\n\nstrange\n[one]\nb   =  2 \n  more\n# x\n\n\n[two]\n";
        let after = "; c\na = 1\n\nstrange\n\n[one]\nb = 2 \n  more\n# x\n\n[two]\n";
        assert_eq!(document(text).text(), after);
        assert_eq!(document(after).text(), after);
        assert_eq!(document("").text(), "");
    }

    #[test]
    fn a_new_option_takes_the_place_of_its_comment() {
        let mut own = document("[one]\n#port = 80\nlast = 1\n");
        let desired = Value::map([("one", Value::map([("port", 81.into())]))]);
        let changes = own.update(desired.as_map().unwrap());
        assert_eq!(own.text(), "[one]\nport = 81\nlast = 1\n");
        assert_eq!(
            Value::map(changes).to_string(),
            "{'one': {'port': {'before': None, 'after': '81'}}}"
        );
    }
}
