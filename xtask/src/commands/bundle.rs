//! `cargo xtask bundle`: packs this program and grade binaries for a machine without Rust.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use streamlings_grade::supervise::Supervisor;
use streamlings_grade::{Finding, diagnosis};

use crate::bundle::archive::Files;
use crate::bundle::packed::Packed;
use crate::bundle::{Content, FORMAT, MANIFEST, Manifest, Member, PROBE, PROGRAM, PROGRAMS, glibc};
use crate::cli::{BundleArguments, check_output};
use crate::course::{Course, Exercise};
use crate::exit::Exit;
use crate::grading::{Graded, Part, Whose, build_parts};
use crate::progress::Progress;
use crate::submission::handed_in::{HandedIn, listed, shown};
use crate::submission::room::{self, Room};
use crate::submission::{Grading, class};
use crate::text::{self, counted};

/// Builds what was asked for, and writes the archive.
///
/// # Errors
/// Where an exercise is not known, the grader's own checkout does not compile, or a file cannot be
/// read or written.
pub fn run(root: &Path, arguments: &BundleArguments) -> anyhow::Result<Exit> {
    let course = Course::read(root)?;
    let exercises = course.select(&arguments.names)?;
    check_output("--output", &arguments.output)?;
    let mut files = Files::default();
    for exercise in &course.exercises {
        let folder = Path::new("exercises").join(&exercise.folder);
        for name in ["exercise.toml", "README.md"] {
            let file = root.join(&folder).join(name);
            if file.exists() {
                let path = Path::new("course").join(&folder).join(name);
                files.text(path.to_string_lossy(), std::fs::read(file)?);
            }
        }
    }
    let whose = if arguments.solutions { Whose::Solution } else { Whose::Learner };
    // Where the archive goes there is room for what goes into it.
    let folder = arguments.output.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let temporary = tempfile::tempdir_in(folder)
        .with_context(|| format!("{} cannot be written", arguments.output.display()))?;
    let mut packed = Packed::default();
    let (content, what) = match &arguments.submissions {
        Some(folder) => {
            let packing =
                Packing { files: &mut files, packed: &mut packed, folder: temporary.path() };
            (
                of_class(&course, exercises, &class::folders(&course, folder)?, packing)?,
                "submissions",
            )
        }
        None => (of_checkout(&course, &exercises, whose, &mut files)?, "exercises"),
    };
    files.program(PROGRAM, &own_program(temporary.path())?);
    let needed: Vec<_> = files.programs().map(glibc::needed).collect::<Result<_, _>>()?;
    let glibc = needed.into_iter().flatten().chain(packed.glibc).max();
    let glibc = glibc.map(|version| version.to_string());
    files.text("README.txt", readme(glibc.as_deref()));
    let manifest = Manifest {
        format: FORMAT,
        streamlings: env!("CARGO_PKG_VERSION").to_owned(),
        glibc: glibc.clone(),
        content,
        files: files.digests()?,
    };
    files.text(MANIFEST, serde_json::to_vec_pretty(&manifest)?);
    let size = files.write(&arguments.output)?;

    let (total, settled) = count(&manifest.content);
    let mut said = format!(
        "{}: {:.1} MB; {total} of the {what} packed\n",
        arguments.output.display(),
        size as f64 / 1e6
    );
    if settled > 0 {
        said += &format!(
            "{} will be reported, and not run: not handed in, refused, or not compiling\n",
            counted(settled, "exercise")
        );
    }
    said += &format!("The other machine needs {}.\n", needs(glibc.as_deref()));
    let name = arguments.output.file_name().unwrap_or_default().display();
    said += &format!("There: tar xzf {name} && streamlings-bundle/check\n");
    text::print(&said)?;
    Ok(Exit::Success)
}

/// Packs the checkout's own code.
fn of_checkout(
    course: &Course,
    exercises: &[&Exercise],
    whose: Whose,
    files: &mut Files,
) -> anyhow::Result<Content> {
    let mut packed = BTreeMap::new();
    for (exercise, part) in exercises.iter().zip(build_parts(course, exercises, whose)?) {
        let src = whose.package(exercise).folder.join("src");
        files.folder(&Path::new("course").join(&src), &course.root.join(&src))?;
        let part = match part {
            Part::Program(program) => {
                let path = format!("{PROGRAMS}{}", exercise.name);
                files.program(&path, &program);
                Part::Program(path.into())
            }
            settled => settled,
        };
        packed.insert(exercise.name.clone(), part);
    }
    Ok(Content::Own { whose, exercises: packed })
}

/// What a class is packed into.
struct Packing<'a> {
    files: &'a mut Files,
    packed: &'a mut Packed,
    /// For what has to be kept until the archive is written.
    folder: &'a Path,
}

/// Packs what a class handed in. Equal sources are built once.
fn of_class(
    course: &Course,
    exercises: Vec<&Exercise>,
    folders: &[PathBuf],
    mut packing: Packing<'_>,
) -> anyhow::Result<Content> {
    let grading = Grading::prepare(course, exercises, Supervisor::default(), false)?;
    if let Some(probe) = grading.any_program() {
        packing.files.program(PROBE, probe);
    }
    let progress = Progress::told("building", "submissions");
    progress.steps(folders.len());
    let mut built = HashMap::new();
    let mut submissions = Vec::new();
    for folder in folders {
        let member = member(&grading, folder, &mut built, &mut packing, &progress);
        // As when they are graded: a fault of the grader's with one submission ends no other's.
        submissions.push(member.unwrap_or_else(|error| {
            let finding = Finding::new(diagnosis::SETUP_FAILED, format!("{error:#}"));
            let settled = |exercise: &&Exercise| {
                let cases = grading.cases(exercise);
                (exercise.name.clone(), Part::Settled(Graded::all_as(cases, &finding)))
            };
            Member {
                folder: Path::new("submissions").join(room::folder_name(&listed(folder))),
                name: shown(&listed(folder)),
                ignored: Vec::new(),
                remarks: Vec::new(),
                exercises: grading.exercises.iter().map(settled).collect(),
            }
        }));
        progress.step();
    }
    let cases = grading.exercises.iter().map(|e| (e.name.clone(), grading.cases(e).to_vec()));
    let deltas = std::mem::take(&mut packing.packed.deltas);
    Ok(Content::Class { cases: cases.collect(), submissions, deltas })
}

/// Packs one submission; `built` has what was packed by the key of its sources.
fn member(
    grading: &Grading<'_>,
    folder: &Path,
    built: &mut HashMap<String, Part>,
    packing: &mut Packing<'_>,
    progress: &Progress,
) -> anyhow::Result<Member> {
    let handed_in = HandedIn::find(grading.course, &grading.exercises, folder)?;
    let room = Room::make(grading.folder(), &handed_in.listed)?;
    let folder = Path::new("submissions").join(room::folder_name(&handed_in.listed));
    let mut exercises = BTreeMap::new();
    for exercise in &grading.exercises {
        progress.say(format!("{}: {}", handed_in.name, exercise.label()));
        let part = match grading.sources(exercise, &handed_in) {
            Err(finding) => Part::Settled(Graded::all_as(grading.cases(exercise), &finding)),
            Ok(sources) => {
                room.put(grading.course, exercise, &sources)?;
                let source = exercise.source();
                let packed = folder.join(&source);
                packing.files.folder(&packed, &room.workspace().join(&source))?;
                let key = sources.key(exercise);
                match built.get(&key) {
                    Some(part) => part.clone(),
                    None => {
                        let name = format!("{}-{}", exercise.name, &key[..16]);
                        let Packing { files, packed, folder } = packing;
                        let part = match grading.build(exercise, &room)? {
                            Part::Program(program) => Part::Program(
                                packed.pack(exercise, &name, &program, folder, files)?,
                            ),
                            settled => settled,
                        };
                        built.insert(key, part.clone());
                        part
                    }
                }
            }
        };
        exercises.insert(exercise.name.clone(), part);
    }
    let remarks = handed_in.remarks().to_vec();
    Ok(Member { name: handed_in.name, folder, ignored: handed_in.ignored, remarks, exercises })
}

/// How many exercises or submissions there are, and how many exercises have no program.
fn count(content: &Content) -> (usize, usize) {
    let settled = |exercises: &BTreeMap<String, Part>| {
        exercises.values().filter(|part| matches!(part, Part::Settled(_))).count()
    };
    match content {
        Content::Own { exercises, .. } => (exercises.len(), settled(exercises)),
        Content::Class { submissions, .. } => {
            (submissions.len(), submissions.iter().map(|member| settled(&member.exercises)).sum())
        }
    }
}

/// This program without its line tables, which nobody asks it for; as it is where there is no objcopy.
fn own_program(folder: &Path) -> anyhow::Result<PathBuf> {
    let whole = std::env::current_exe()?;
    let stripped = folder.join(PROGRAM);
    let status = Command::new("objcopy").arg("--strip-debug").arg(&whole).arg(&stripped).status();
    Ok(if status.is_ok_and(|status| status.success()) { stripped } else { whole })
}

fn needs(glibc: Option<&str>) -> String {
    let glibc = glibc.map_or(String::new(), |version| format!(" and glibc {version} or newer"));
    format!("Linux on x86-64{glibc}; for a GPU, its driver (525 or newer)")
}

fn readme(glibc: Option<&str>) -> String {
    format!(
        "streamlings: exercises on CUDA streams, built to be graded on another machine.\n\
         \n\
         It needs {needs}.\n\
         It needs no Rust, no CUDA toolkit, and no network.\n\
         \n\
         ./check                    grades everything\n\
         ./check --device gpu       the same, on a GPU or not at all\n\
         ./check --format junit     for CI; also json, github, markdown, csv\n\
         ./check --help             the other options, and the exit codes\n\
         \n\
         `ldd --version` says which glibc a machine has. manifest.json says what is in the bundle;\n\
         ./check refuses one that is not whole.\n",
        needs = needs(glibc)
    )
}
