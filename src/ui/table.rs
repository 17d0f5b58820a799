//! Tables that fit a width.

use comfy_table::{Cell, CellAlignment, ContentArrangement, LineStyle, TableStyle};

use super::words;

/// Lines above and below the headings and at the end, none between rows.
const STYLE: TableStyle = TableStyle::new()
    .top_border(line('─'))
    .header_separator(line('─'))
    .bottom_border(line('─'));

const fn line(of: char) -> LineStyle {
    LineStyle::none().fill(of).junction(of)
}

/// On which side the cells of a column stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Align {
    /// Text.
    #[default]
    Left,
    /// Numbers.
    Right,
}

/// Rows under headings.
#[derive(Debug, Clone)]
pub struct Table {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows; all columns stand on the left.
    pub fn new(headings: &[&str]) -> Self {
        Self {
            columns: headings
                .iter()
                .map(|heading| ((*heading).to_owned(), Align::Left))
                .collect(),
            rows: Vec::new(),
        }
    }

    /// Sets the side of one column.
    #[must_use]
    pub fn align(mut self, column: usize, align: Align) -> Self {
        if let Some(column) = self.columns.get_mut(column) {
            column.1 = align;
        }
        self
    }

    /// Adds a row; what would steer the terminal is left out of its cells.
    pub fn row(&mut self, cells: impl IntoIterator<Item = impl AsRef<str>>) {
        let cells = cells.into_iter();
        self.rows.push(
            cells
                .map(|cell| words::one_line(cell.as_ref()).into_owned())
                .collect(),
        );
    }

    /// The table as text of at most `width` columns, each line ended.
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
