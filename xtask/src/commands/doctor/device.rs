//! The GPU as the system shows it: device nodes, the driver library, the kernel module.

use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Item;

/// The oldest driver that knows CUDA 12.0.
const OLDEST_DRIVER: u32 = 525;
const LIBRARY: &str = "libcuda.so.1";
/// Where WSL2 keeps the driver library.
const WSL: &str = "usr/lib/wsl/lib";

/// The system that is looked at; tests make one of their own.
pub struct System {
    /// What `/` is.
    root: PathBuf,
    /// Environment variables.
    variable: fn(&str) -> Option<String>,
    /// What `ldconfig -p` prints: the libraries that the loader knows.
    loader: fn() -> String,
}

impl Default for System {
    fn default() -> System {
        System {
            root: PathBuf::from("/"),
            variable: |name| std::env::var(name).ok(),
            loader: || {
                // Not on every user's path.
                let programs = ["ldconfig", "/sbin/ldconfig", "/usr/sbin/ldconfig"];
                let list = programs.iter().find_map(|p| Command::new(p).arg("-p").output().ok());
                list.map_or(String::new(), |list| {
                    String::from_utf8_lossy(&list.stdout).into_owned()
                })
            },
        }
    }
}

/// What was found.
pub struct Gpu {
    /// Whether there is a GPU, usable or not.
    pub has_hardware: bool,
    /// The findings.
    pub items: Vec<Item>,
}

/// Looks.
pub fn look(system: &System) -> Gpu {
    let nodes = nodes(system);
    let module = kernel_module(system);
    let is_wsl = is_wsl(system);
    let has_hardware = !nodes.is_empty() || module.is_some();
    let mut items = Vec::new();
    if is_wsl {
        items.push(match system.root.join("dev/dxg").exists() {
            true => Item::good("WSL2", "/dev/dxg is there: Windows passes its GPUs on"),
            // A Windows without a GPU is no fault.
            false => Item::good("WSL2", "no /dev/dxg: Windows passes no GPU on"),
        });
    }
    match (has_hardware, &module) {
        (false, _) => items.push(Item::good("GPU", "this machine shows none")),
        (true, Some(version)) => items.push(driver_version(version)),
        (true, None) => {}
    }
    if has_hardware {
        items.push(permissions(system, &nodes, is_wsl));
        items.push(library(system));
    }
    items.extend(visible_devices(system, has_hardware));
    Gpu { has_hardware, items }
}

/// The device nodes of GPUs.
fn nodes(system: &System) -> Vec<PathBuf> {
    let entries = system.root.join("dev").read_dir().into_iter().flatten().flatten();
    let mut nodes: Vec<PathBuf> = entries
        .filter(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            let number = name.strip_prefix("nvidia").unwrap_or_default();
            let is_gpu = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit());
            is_gpu || ["nvidiactl", "nvidia-uvm", "dxg"].contains(&name.as_str())
        })
        .map(|entry| entry.path())
        .collect();
    nodes.sort();
    nodes
}

/// A path of the system, as it is named there.
fn shown(system: &System, path: &Path) -> String {
    Path::new("/").join(path.strip_prefix(&system.root).unwrap_or(path)).display().to_string()
}

/// The version of NVIDIA's kernel module, as `535.104.05`.
fn kernel_module(system: &System) -> Option<String> {
    let text = std::fs::read_to_string(system.root.join("proc/driver/nvidia/version")).ok()?;
    let is_version =
        |word: &&str| word.contains('.') && word.split('.').all(|part| part.parse::<u32>().is_ok());
    text.lines().next()?.split_whitespace().find(is_version).map(str::to_owned)
}

fn is_wsl(system: &System) -> bool {
    let version = std::fs::read_to_string(system.root.join("proc/version")).unwrap_or_default();
    version.to_lowercase().contains("microsoft")
}

fn driver_version(version: &str) -> Item {
    let major: u32 = version.split('.').next().and_then(|part| part.parse().ok()).unwrap_or(0);
    if major < OLDEST_DRIVER {
        let found = format!("{version}; the exercises need {OLDEST_DRIVER} (CUDA 12.0) or newer");
        return Item::bad("NVIDIA driver", found, "Update the NVIDIA driver.");
    }
    Item::good("NVIDIA driver", version)
}

fn permissions(system: &System, nodes: &[PathBuf], is_wsl: bool) -> Item {
    let what = "device nodes";
    if nodes.is_empty() {
        let remedy = "In a container, pass the GPU in (`docker run --gpus all`); else run \
            `nvidia-modprobe` or `nvidia-smi` once as root.";
        return Item::bad(what, "the driver is loaded, and there is no /dev/nvidia*", remedy);
    }
    for node in nodes {
        let name = shown(system, node);
        // A node is opened, and nothing is asked of it.
        let opened = OpenOptions::new().read(true).write(true).open(node);
        match opened.map_err(|error| error.kind()) {
            Ok(_) => {}
            Err(ErrorKind::PermissionDenied) => {
                let remedy = format!(
                    "See `ls -l {name}`: add your user to the group that may open it \
                     (`sudo usermod -aG GROUP $USER`, then log in again); in a container, allow \
                     the device."
                );
                return Item::bad(what, format!("you may not open {name}"), remedy);
            }
            Err(error) => {
                let remedy = "See `dmesg` and `nvidia-smi`: the driver does not answer. Loading \
                    the module anew, or a reboot, may help.";
                return Item::bad(what, format!("{name} cannot be opened ({error})"), remedy);
            }
        }
    }
    let has = |name: &str| nodes.iter().any(|node| node.ends_with(name));
    if !is_wsl && !has("nvidia-uvm") {
        let remedy = "Run `sudo nvidia-modprobe -u -c=0`; in a container, allow /dev/nvidia-uvm.";
        return Item::bad(what, "there is no /dev/nvidia-uvm", remedy);
    }
    let are_devices = |node: &PathBuf| {
        node.metadata().is_ok_and(|metadata| metadata.file_type().is_char_device())
    };
    let count = nodes.iter().filter(|node| are_devices(node)).count();
    Item::good(what, format!("you may open all {} ({count} devices)", nodes.len()))
}

/// Which driver library the loader takes.
fn library(system: &System) -> Item {
    let what = "driver library";
    let place = match find_library(system) {
        Some(place) => place,
        None => {
            let remedy = "Install the driver's libraries (on Debian `libcuda1`, on Ubuntu \
                `libnvidia-compute-NNN` of your driver's version), or add their folder to \
                LD_LIBRARY_PATH.";
            return Item::bad(what, format!("no {LIBRARY} is found"), remedy);
        }
    };
    let name = shown(system, &place);
    if place.iter().any(|part| part == "stubs") {
        let remedy = "Remove the `stubs` folder from LD_LIBRARY_PATH: it is only for linking.";
        return Item::bad(what, format!("{name} is a stub without a driver in it"), remedy);
    }
    match std::fs::canonicalize(&place) {
        Ok(real) if real != place => {
            Item::good(what, format!("{name} -> {}", shown(system, &real)))
        }
        Ok(_) => Item::good(what, name),
        Err(error) => {
            let remedy = "Install the NVIDIA driver anew: the link leads nowhere.";
            Item::bad(what, format!("{name} cannot be read ({error})"), remedy)
        }
    }
}

/// In the order in which it is looked for.
fn find_library(system: &System) -> Option<PathBuf> {
    if let Some(chosen) = (system.variable)("STREAMLINGS_LIBCUDA") {
        return Some(PathBuf::from(chosen));
    }
    let path = (system.variable)("LD_LIBRARY_PATH").unwrap_or_default();
    // A folder that is named like ours, if the tests' system is looked at.
    let folders = path.split(':').filter(|folder| !folder.is_empty());
    let listed =
        folders.map(|folder| system.root.join(folder.trim_start_matches('/')).join(LIBRARY));
    let exists = |path: &PathBuf| path.symlink_metadata().is_ok();
    let known = || {
        let list = (system.loader)();
        let lines = list.lines().filter(|line| line.trim_start().starts_with(LIBRARY));
        // On 64 bits, one for 32 may be listed, too.
        let line = lines.clone().find(|line| line.contains("x86-64"))?;
        let (_, path) = line.split_once("=> ")?;
        Some(system.root.join(path.trim().trim_start_matches('/')))
    };
    let fixed = [WSL, "usr/lib/x86_64-linux-gnu", "usr/lib64", "usr/lib", "usr/local/nvidia/lib64"];
    listed
        .into_iter()
        .find(exists)
        .or_else(known)
        .or_else(|| fixed.iter().map(|f| system.root.join(f).join(LIBRARY)).find(exists))
}

fn visible_devices(system: &System, has_hardware: bool) -> Option<Item> {
    let what = "CUDA_VISIBLE_DEVICES";
    let value = (system.variable)(what)?;
    // Everything from the first that is no device on is hidden.
    let first = value.split(',').next().unwrap_or_default().trim();
    let hides_all = first.is_empty() || first.starts_with('-') || first == "NoDevFiles";
    Some(match hides_all && has_hardware {
        true => Item::bad(what, format!("`{value}` hides every GPU"), "Unset it."),
        false => Item::good(what, format!("`{value}`")),
    })
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    const OPEN: &str =
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.10  Release Build  (x)\n";
    const CLOSED: &str =
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  470.57.02  Tue Jul 13 16:14:05 UTC 2021\n";

    /// A system with these files.
    fn system(files: &[(&str, &str)]) -> (TempDir, System) {
        let root = tempfile::tempdir().expect("a temporary folder");
        for (path, text) in files {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().expect("it has one")).expect("it can be made");
            std::fs::write(path, text).expect("it can be written");
        }
        let none = System { root: root.path().to_owned(), variable: |_| None, loader: String::new };
        (root, none)
    }

    /// The findings, a line each, faults marked.
    fn found(system: &System) -> Vec<String> {
        let line = |item: &Item| {
            let mark = if item.remedy.is_some() { "FAULT " } else { "" };
            format!("{mark}{}: {}", item.what, item.found)
        };
        look(system).items.iter().map(line).collect()
    }

    const NODES: [(&str, &str); 4] = [
        ("dev/nvidia0", ""),
        ("dev/nvidiactl", ""),
        ("dev/nvidia-uvm", ""),
        ("dev/nvidia-caps/nvidia-cap1", ""),
    ];

    #[test]
    fn a_machine_without_a_gpu_has_no_fault() {
        let (_root, mut bare) = system(&[("dev/null", "")]);
        assert_eq!(found(&bare), ["GPU: this machine shows none"]);
        bare.variable = |name| (name == "CUDA_VISIBLE_DEVICES").then(String::new);
        assert_eq!(found(&bare)[1], "CUDA_VISIBLE_DEVICES: ``");
    }

    #[test]
    fn a_machine_with_a_gpu_has_nodes_a_driver_and_a_library() {
        let library = "usr/lib/x86_64-linux-gnu/libcuda.so.1";
        let files =
            [&NODES[..], &[("proc/driver/nvidia/version", OPEN), (library, "ELF")]].concat();
        let (_root, mut gpu) = system(&files);
        let wanted = [
            "NVIDIA driver: 570.86.10",
            "device nodes: you may open all 3 (0 devices)",
            "driver library: /usr/lib/x86_64-linux-gnu/libcuda.so.1",
        ];
        assert_eq!(found(&gpu), wanted);

        gpu.variable = |name| (name == "CUDA_VISIBLE_DEVICES").then(|| "-1".to_owned());
        assert_eq!(found(&gpu)[3], "FAULT CUDA_VISIBLE_DEVICES: `-1` hides every GPU");
        gpu.variable = |name| (name == "CUDA_VISIBLE_DEVICES").then(|| "1,0".to_owned());
        assert_eq!(found(&gpu)[3], "CUDA_VISIBLE_DEVICES: `1,0`");
    }

    #[test]
    fn what_is_missing_is_named() {
        let (_root, old) = system(&[("proc/driver/nvidia/version", CLOSED)]);
        let wanted = [
            "FAULT NVIDIA driver: 470.57.02; the exercises need 525 (CUDA 12.0) or newer",
            "FAULT device nodes: the driver is loaded, and there is no /dev/nvidia*",
            "FAULT driver library: no libcuda.so.1 is found",
        ];
        assert_eq!(found(&old), wanted);

        let (_root, no_uvm) = system(&NODES[..2]);
        assert_eq!(found(&no_uvm)[0], "FAULT device nodes: there is no /dev/nvidia-uvm");
        assert!(look(&no_uvm).has_hardware);
    }

    #[test]
    fn the_library_is_found_in_the_loaders_order() {
        let stub = "cuda/lib64/stubs/libcuda.so.1";
        let listed = "opt/nvidia/libcuda.so.1";
        let wsl = "usr/lib/wsl/lib/libcuda.so.1";
        let files = [&NODES[..], &[(stub, ""), (listed, ""), (wsl, "")]].concat();
        let (_root, mut system) = system(&files);
        let place = |system: &System| found(system)[1].clone();
        assert_eq!(place(&system), "driver library: /usr/lib/wsl/lib/libcuda.so.1");
        system.loader = || {
            "\tlibcuda.so.1 (libc6) => /opt/32/libcuda.so.1\n\
             \tlibcuda.so.1 (libc6,x86-64) => /opt/nvidia/libcuda.so.1\n"
                .to_owned()
        };
        assert_eq!(place(&system), "driver library: /opt/nvidia/libcuda.so.1");
        system.variable =
            |name| (name == "LD_LIBRARY_PATH").then(|| ":/cuda/lib64/stubs".to_owned());
        let wanted = "FAULT driver library: /cuda/lib64/stubs/libcuda.so.1 is a stub without a \
            driver in it";
        assert_eq!(place(&system), wanted);
    }

    #[test]
    fn wsl_is_told_apart() {
        let kernel = "Linux version 5.15.153.1-microsoft-standard-WSL2 (gcc)\n";
        let library = "usr/lib/wsl/lib/libcuda.so.1";
        let (_root, wsl) = system(&[("proc/version", kernel), ("dev/dxg", ""), (library, "")]);
        let wanted = [
            "WSL2: /dev/dxg is there: Windows passes its GPUs on",
            "device nodes: you may open all 1 (0 devices)",
            "driver library: /usr/lib/wsl/lib/libcuda.so.1",
        ];
        assert_eq!(found(&wsl), wanted);
        let (_root, bare) = system(&[("proc/version", kernel)]);
        assert_eq!(found(&bare)[1], "GPU: this machine shows none");
    }
}
