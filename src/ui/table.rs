//! Tables of text cells that fit a screen width.
//!
//! Used by all commands that print tables. Cells are wrapped where the width is not enough.

use comfy_table::{Cell, CellAlignment, ContentArrangement, LineStyle, TableStyle};

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

/// A table of text cells with headings.
#[derive(Debug, Clone)]
pub struct Table {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Creates a table without rows. All columns are aligned to the left.
    pub fn new(headings: &[&str]) -> Self {
        Self {
            columns: headings
                .iter()
                .map(|heading| ((*heading).to_owned(), Align::Left))
                .collect(),
            rows: Vec::new(),
        }
    }

    /// Sets the alignment of one column.
    #[must_use]
    pub fn align(mut self, column: usize, align: Align) -> Self {
        if let Some(column) = self.columns.get_mut(column) {
            column.1 = align;
        }
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

    /// Renders the table as text of at most `width` columns.
    pub fn render(&self, width: u16) -> String {
        let mut table = comfy_table::Table::new();
        table
            .load_style(STYLE)
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(width);
        table.set_header(self.columns.iter().map(|(heading, _)| heading));
        for row in &self.rows {
            table.add_row(row.iter().enumerate().map(|(place, text)| {
                let align = self
                    .columns
                    .get(place)
                    .map_or(Align::Left, |column| column.1);
                Cell::new(text).set_alignment(match align {
                    Align::Left => CellAlignment::Left,
                    Align::Right => CellAlignment::Right,
                })
            }));
        }
        let mut text = String::new();
        for line in table.lines() {
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Table {
        let mut table = Table::new(&["Task", "Resource"]).align(0, Align::Right);
        table.row(["1 (success)", "a resource with a rather long name"]);
        table.row(["12 (blocked)", "web"]);
        table
    }

    #[test]
    fn a_wide_table_takes_what_it_needs() {
        insta::assert_snapshot!(sample().render(200), @"
        ───────────────────────────────────────────────────
         Task           Resource
        ───────────────────────────────────────────────────
          1 (success)   a resource with a rather long name
         12 (blocked)   web
        ───────────────────────────────────────────────────
        ");
    }

    #[test]
    fn a_narrow_table_wraps_its_cells() {
        let text = sample().render(30);
        assert!(
            text.lines().all(|line| line.chars().count() <= 30),
            "{text}"
        );
        insta::assert_snapshot!(text, @"
        ──────────────────────────────
         Task           Resource
        ──────────────────────────────
          1 (success)   a resource
                        with a rather
                        long name
         12 (blocked)   web
        ──────────────────────────────
        ");
    }
}
