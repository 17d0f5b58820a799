//! The options of `history replay`.

use clap::Args;

/// The limits of a speed other than 0.
const MIN_SPEED: f64 = 0.001;
const MAX_SPEED: f64 = 1e6;

/// Show a finished job again, as its display showed it
///
/// Times, output and errors are those of the record. Output that was not recorded is missing.
#[derive(Debug, Args)]
pub(in crate::cli) struct ReplayArgs {
    /// The job to show: its id, the beginning of its id, or the id of a task
    pub(in crate::cli) job: String,
    /// Speed compared with the job itself; 0 shows everything at once [default: at most 20 s]
    #[arg(long, value_name = "FACTOR", value_parser = speed)]
    pub(in crate::cli) speed: Option<f64>,
    /// The ensemble: a file, a folder, an alias or a name of the project
    #[arg(
        long,
        value_name = "PATH",
        default_value = "",
        hide_default_value = true
    )]
    pub(in crate::cli) ensemble: String,
    /// The environment to use
    #[arg(long, value_name = "NAME")]
    pub(in crate::cli) use_environment: Option<String>,
}

/// Parses the factor of a speed.
fn speed(text: &str) -> Result<f64, String> {
    let speed = text.parse::<f64>().ok();
    let speed = speed.filter(|speed| *speed == 0.0 || (MIN_SPEED..=MAX_SPEED).contains(speed));
    speed.ok_or_else(|| "write a number such as 2 or 0.5; 0 shows everything at once".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_speed_is_a_factor_from_zero() {
        assert_eq!(speed("0"), Ok(0.0));
        assert_eq!(speed("2.5"), Ok(2.5));
        for text in ["-1", "fast", "", "inf", "NaN", "2x", "1e9", "1e-9"] {
            assert!(speed(text).is_err(), "{text}");
        }
    }
}
