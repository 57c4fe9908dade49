//! What sets runs apart, in a few rows: figures, how long the host was held, waits, races.

use super::{Picture, Run, time};
use crate::text::counted;

/// A row: what, and how it is in each run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// What is compared.
    pub what: String,
    /// In the order of the runs.
    pub values: Vec<String>,
}

/// The rows, the cases' own figures first; none for a single run.
pub fn rows(picture: &Picture) -> Vec<Row> {
    if picture.runs.len() < 2 {
        return Vec::new();
    }
    let mut names: Vec<&str> = Vec::new();
    for figure in picture.runs.iter().flat_map(|run| &run.figures) {
        if !names.contains(&&figure.what[..]) {
            names.push(&figure.what);
        }
    }
    let mut rows: Vec<Row> = Vec::new();
    let mut row = |what: &str, value: &dyn Fn(&Run) -> String| {
        let values = picture.runs.iter().map(value).collect();
        rows.push(Row { what: what.to_owned(), values });
    };
    for name in names {
        row(name, &|run| {
            let figure = run.figures.iter().find(|figure| figure.what == name);
            figure.map_or_else(|| "-".to_owned(), |figure| figure.value.clone())
        });
    }
    row("the host was held", &|run| {
        let held = run.timeline.held();
        let times: usize = held.iter().map(|held| held.times).sum();
        let total: i64 = held.iter().map(|held| held.total).sum();
        match times {
            0 => "never".to_owned(),
            _ => format!("{}, {}", counted(times, "time"), time(total)),
        }
    });
    row("stream waits", &|run| run.timeline.arrows.len().to_string());
    row("races", &|run| run.timeline.races.len().to_string());
    // What there is none of needs no row.
    rows.retain(|row| row.values.iter().any(|value| value != "0"));
    rows
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::super::{Figure, model::Timeline};
    use super::*;

    #[test]
    fn runs_are_compared_by_what_sets_them_apart() {
        let mut picture = sample::picture();
        let [yours, solutions] = &mut picture.runs[..] else { panic!("there are two") };
        // Without its waits, races and downloads, and its figure under another name.
        let mut trace = sample::trace();
        trace.items.truncate(trace.items.len() / 2);
        solutions.timeline = Timeline::of(&trace);
        solutions.figures[0].what = "mean took".to_owned();
        yours.figures.push(Figure { what: "answer".to_owned(), value: "41 of 42".to_owned() });
        let rows: Vec<String> = rows(&picture)
            .iter()
            .map(|row| format!("{}: {}", row.what, row.values.join(" | ")))
            .collect();
        assert_eq!(
            rows,
            [
                "sum took: 0.1000 ms | -",
                "answer: 41 of 42 | -",
                "mean took: - | 0.1000 ms",
                "the host was held: 1 time, 241.000 us | never",
                "stream waits: 1 | 0",
                "races: 1 | 0",
            ]
        );
        let cut = picture.runs[1].clone();
        picture.runs = vec![cut.clone(), cut];
        let rows = super::rows(&picture);
        let names: Vec<&str> = rows.iter().map(|row| row.what.as_str()).collect();
        assert_eq!(names, ["mean took", "the host was held"]);
        picture.runs.truncate(1);
        assert_eq!(super::rows(&picture), []);
    }
}
