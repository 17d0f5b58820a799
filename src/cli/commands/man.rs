//! `man`.

use crate::cli::output::Output;

/// Prints the manual page.
pub(in crate::cli) fn man(command: clap::Command, output: &Output) -> u8 {
    let mut page = Vec::new();
    match clap_mangen::Man::new(command).render(&mut page) {
        Ok(()) => {
            output.answer(&String::from_utf8_lossy(&page));
            0
        }
        Err(_) => 70,
    }
}
