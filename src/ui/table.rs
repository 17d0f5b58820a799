//! Tables of text cells, for terminals and for programs.
//!
//! On a terminal, a table fits the width if possible: prose is wrapped between words, then less important columns
//! are left out. Names and ids stay whole, so the lines of a very narrow terminal are longer than it is. Without a
//! terminal, each row is one line, and tabs separate all its cells.

use comfy_table::{
    Cell, CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, TableStyle, Width,
};
use unicode_width::UnicodeWidthStr as _;

use super::words;

/// The table style: lines above and below the headings and at the end, none between rows.
const STYLE: TableStyle = TableStyle::new()
    .top_border(line('─'))
    .header_separator(line('─'))
    .bottom_border(line('─'));

const fn line(of: char) -> LineStyle {
    LineStyle::none().fill(of).junction(of)
}

/// The alignment of the cells in a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Align {
    #[default]
    Left,
    Right,
}

/// The medium for which a table is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableLayout {
    /// The width of the terminal in columns.
    pub width: u16,
    /// The table is read by a program: a line for each row, and tabs between the cells.
    pub for_programs: bool,
}

impl From<u16> for TableLayout {
    fn from(width: u16) -> Self {
        Self {
            width,
            for_programs: false,
        }
    }
}

/// A column of a table.
#[derive(Debug, Clone, Default)]
struct Column {
    heading: String,
    align: Align,
    /// Lines may be broken between the words of a cell.
    is_prose: bool,
}

/// The least width of a column whose cells are broken between words, unless its cells are shorter.
const PROSE_WIDTH: usize = 20;

/// A table of text cells with headings.
#[derive(Debug, Clone)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
    /// The columns that a narrow terminal leaves out, the first one first.
    dispensable: Vec<usize>,
}

impl Table {
    /// Creates a table without rows. All columns are aligned to the left, and their cells are never broken.
    pub fn new(headings: &[&str]) -> Self {
        let column = |heading: &&str| Column {
            heading: (*heading).to_owned(),
            ..Column::default()
        };
        Self {
            columns: headings.iter().map(column).collect(),
            rows: Vec::new(),
            dispensable: Vec::new(),
        }
    }

    /// Sets the alignment of one column.
    #[must_use]
    pub fn align(mut self, column: usize, align: Align) -> Self {
        if let Some(column) = self.columns.get_mut(column) {
            column.align = align;
        }
        self
    }

    /// Lets the cells of one column be broken between words.
    #[must_use]
    pub fn prose(mut self, column: usize) -> Self {
        if let Some(column) = self.columns.get_mut(column) {
            column.is_prose = true;
        }
        self
    }

    /// Names the columns that a narrow terminal leaves out, the least important one first.
    #[must_use]
    pub fn dispensable(mut self, columns: &[usize]) -> Self {
        self.dispensable = columns.to_vec();
        self
    }

    /// Adds a row. Control characters are removed from its cells.
    pub fn row(&mut self, cells: impl IntoIterator<Item = impl AsRef<str>>) {
        let cells = cells.into_iter();
        self.rows.push(
            cells
                .map(|cell| words::one_line(cell.as_ref()).into_owned())
                .collect(),
        );
    }

    /// Renders the table.
    pub fn render(&self, layout: impl Into<TableLayout>) -> String {
        let layout = layout.into();
        if layout.for_programs {
            self.lines()
        } else {
            self.screen(layout.width)
        }
    }

    /// Returns a line for the headings and for each row, with tabs between the cells.
    fn lines(&self) -> String {
        let headings: Vec<&str> = self.columns.iter().map(|it| &*it.heading).collect();
        let mut text = headings.join("\t");
        text.push('\n');
        for row in &self.rows {
            text.push_str(&row.join("\t"));
            text.push('\n');
        }
        text
    }

    fn screen(&self, width: u16) -> String {
        let least: Vec<usize> = (0..self.columns.len())
            .map(|column| self.least_width(column))
            .collect();
        let (shown, least_total) = self.shown_columns(&least, usize::from(width));
        let mut table = comfy_table::Table::new();
        table
            .load_style(STYLE)
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(width.max(u16::try_from(least_total).unwrap_or(u16::MAX)));
        table.set_header(shown.iter().map(|place| &self.columns[*place].heading));
        for row in &self.rows {
            let cells = shown.iter().map(|place| {
                let text = row.get(*place).map_or("", String::as_str);
                Cell::new(text).set_alignment(match self.columns[*place].align {
                    Align::Left => CellAlignment::Left,
                    Align::Right => CellAlignment::Right,
                })
            });
            table.add_row(cells);
        }
        for (index, place) in shown.iter().enumerate() {
            if let Some(column) = table.column_mut(index) {
                column.set_constraint(if self.columns[*place].is_prose {
                    // The padding counts.
                    let width = u16::try_from(least[*place] + 2).unwrap_or(u16::MAX);
                    ColumnConstraint::LowerBoundary(Width::Fixed(width))
                } else {
                    ColumnConstraint::ContentWidth
                });
            }
        }
        let mut text = String::new();
        for line in table.lines() {
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }

    /// Returns the least width of a column in which no word is broken.
    fn least_width(&self, column: usize) -> usize {
        let Some(Column {
            heading, is_prose, ..
        }) = self.columns.get(column)
        else {
            return 0;
        };
        let cells = self.rows.iter().filter_map(|row| row.get(column));
        let cells = cells.map(String::as_str).chain([heading.as_str()]);
        let widths = cells.map(|cell| {
            if *is_prose {
                let words = cell.split(' ').map(str::width).max().unwrap_or(0);
                words.max(cell.width().min(PROSE_WIDTH))
            } else {
                cell.width()
            }
        });
        widths.max().unwrap_or(0)
    }

    /// Returns the columns that fit a width, and the width that they need at least.
    fn shown_columns(&self, least: &[usize], width: usize) -> (Vec<usize>, usize) {
        let mut shown: Vec<usize> = (0..self.columns.len()).collect();
        // Each cell has a space on both sides, and a space separates two cells.
        let total = |shown: &[usize]| shown.iter().map(|place| least[*place] + 3).sum::<usize>();
        let mut dispensable = self.dispensable.iter();
        while total(&shown) > width + 1 {
            let Some(left_out) = dispensable.next() else {
                break;
            };
            shown.retain(|place| place != left_out);
        }
        let total = total(&shown).saturating_sub(1);
        (shown, total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Table {
        let headings = ["Task", "Resource", "Ended", "Options"];
        let mut table = Table::new(&headings)
            .align(0, Align::Right)
            .prose(3)
            .dispensable(&[3, 2]);
        let ended = "2026-11-24 01:02:03 UTC";
        table.row([
            "1 (success)",
            "a-rather-long-name",
            ended,
            "force, commit and other words",
        ]);
        table.row(["12 (blocked)", "web", ended, ""]);
        table
    }

    #[test]
    fn a_wide_table_takes_what_it_needs() {
        insta::assert_snapshot!(sample().render(200), @"
        ─────────────────────────────────────────────────────────────────────────────────────────────
         Task           Resource             Ended                     Options
        ─────────────────────────────────────────────────────────────────────────────────────────────
          1 (success)   a-rather-long-name   2026-11-24 01:02:03 UTC   force, commit and other words
         12 (blocked)   web                  2026-11-24 01:02:03 UTC
        ─────────────────────────────────────────────────────────────────────────────────────────────
        ");
    }

    #[test]
    fn a_narrower_table_wraps_prose_between_words() {
        let text = sample().render(90);
        insta::assert_snapshot!(text, @"
        ───────────────────────────────────────────────────────────────────────────────────────
         Task           Resource             Ended                     Options
        ───────────────────────────────────────────────────────────────────────────────────────
          1 (success)   a-rather-long-name   2026-11-24 01:02:03 UTC   force, commit and other
                                                                       words
         12 (blocked)   web                  2026-11-24 01:02:03 UTC
        ───────────────────────────────────────────────────────────────────────────────────────
        ");
    }

    #[test]
    fn a_narrow_table_leaves_columns_out_and_breaks_no_name() {
        insta::assert_snapshot!(sample().render(65), @"
        ─────────────────────────────────────────────────────────────
         Task           Resource             Ended
        ─────────────────────────────────────────────────────────────
          1 (success)   a-rather-long-name   2026-11-24 01:02:03 UTC
         12 (blocked)   web                  2026-11-24 01:02:03 UTC
        ─────────────────────────────────────────────────────────────
        ");
        // Nothing more can be left out, so the lines are longer than the terminal.
        insta::assert_snapshot!(sample().render(10), @"
        ───────────────────────────────────
         Task           Resource
        ───────────────────────────────────
          1 (success)   a-rather-long-name
         12 (blocked)   web
        ───────────────────────────────────
        ");
    }

    #[test]
    fn a_program_gets_a_line_for_each_row_with_tabs_between_the_cells() {
        let mut table = sample();
        table.row(["3", "two\tcells\nin lines", "", "x"]);
        let layout = TableLayout {
            width: 10,
            for_programs: true,
        };
        let text = table.render(layout);
        insta::assert_snapshot!(text.replace('\t', "|"), @"
        Task|Resource|Ended|Options
        1 (success)|a-rather-long-name|2026-11-24 01:02:03 UTC|force, commit and other words
        12 (blocked)|web|2026-11-24 01:02:03 UTC|
        3|two cells in lines||x
        ");
    }
}
