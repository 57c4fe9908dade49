//! What options take.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::ValueEnum;

use crate::exit::UsageError;

/// A file for a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Also {
    /// How it is written.
    pub format: Format,
    /// Where.
    pub file: PathBuf,
}

impl std::str::FromStr for Also {
    type Err = String;

    fn from_str(text: &str) -> Result<Also, String> {
        let (format, file) = text.split_once('=').ok_or("give FORMAT=FILE")?;
        let known = || {
            let all = Format::value_variants().iter().filter_map(ValueEnum::to_possible_value);
            all.map(|format| format.get_name().to_owned()).collect::<Vec<_>>().join(", ")
        };
        let format = Format::from_str(format, false)
            .map_err(|_| format!("there is no format `{format}`; there are {}", known()))?;
        if file.is_empty() {
            Err("give FORMAT=FILE".to_owned())
        } else {
            Ok(Also { format, file: file.into() })
        }
    }
}

/// The form of an answer that is no report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Answer {
    /// For reading.
    Human,
    /// One JSON document.
    Json,
}

/// A report's format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For reading.
    Human,
    /// One JSON document; of several submissions, one a line.
    Json,
    /// JUnit XML.
    Junit,
    /// Annotations for GitHub Actions, and the job's summary.
    Github,
    /// A Markdown table.
    Markdown,
    /// Comma-separated values, a row for each submission.
    Csv,
}

/// What `trace` writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PictureFormat {
    /// One page that fetches nothing.
    Html,
    /// A trace file for Perfetto and Chrome.
    Perfetto,
    /// Text for the terminal.
    Text,
}

/// What `STREAMLINGS_DEVICE` is set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DeviceChoice {
    /// A GPU if there is one, else the emulated device.
    Auto,
    /// A GPU, or no device.
    Gpu,
    /// The emulated device.
    Emulated,
}

impl DeviceChoice {
    /// As the driver takes it. `auto` leaves a choice that was made in the environment alone.
    pub fn variable(self) -> Option<&'static str> {
        match self {
            DeviceChoice::Auto => None,
            DeviceChoice::Gpu => Some("gpu"),
            DeviceChoice::Emulated => Some("emulated"),
        }
    }
}

/// A number of seconds, of which there has to be some part.
pub fn seconds(text: &str) -> Result<Duration, String> {
    text.parse()
        .ok()
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .filter(|limit| !limit.is_zero())
        .ok_or_else(|| "give a number of seconds above 0".to_owned())
}

/// What repeats a run, or a sitting of the quiz.
pub fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "a seed is a whole number from 0 to 2^64 - 1".to_owned())
}

/// Sees to it, before any work is done, that the file that an option names can be written.
///
/// # Errors
/// Where there is no folder for it, or it is a folder itself.
pub fn check_output(option: &str, file: &Path) -> Result<(), UsageError> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    if file.is_dir() {
        return Err(UsageError(format!("{option}: {} is a folder", file.display())));
    }
    match folder.filter(|folder| !folder.is_dir()) {
        Some(folder) => {
            Err(UsageError(format!("{option}: there is no folder {}", folder.display())))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_s_file_has_a_format() {
        let also = Also { format: Format::Junit, file: "a=b.xml".into() };
        assert_eq!("junit=a=b.xml".parse(), Ok(also));
        for wrong in ["junit", "junit=", "xml=file", "=file"] {
            assert!(wrong.parse::<Also>().is_err(), "{wrong}");
        }
        let unknown = "xml=file".parse::<Also>().expect_err("there is no such format");
        assert!(unknown.contains("`xml`; there are human, json, junit"), "{unknown}");
    }

    #[test]
    fn what_is_no_seed_is_told_what_one_is() {
        assert_eq!(seed("18446744073709551615"), Ok(u64::MAX));
        for wrong in ["abc", "-1", "1.5", "18446744073709551616", ""] {
            let why = seed(wrong).expect_err("it is no seed");
            assert!(why.starts_with("a seed is a whole number from 0 to "), "{why}");
        }
    }

    #[test]
    fn time_limits_are_seconds() {
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        for wrong in ["0", "-1", "soon", "inf", "NaN", "1e400"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }
}
