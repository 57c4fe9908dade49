//! What a case's process may use of the machine: limits, and, for code that nobody here has read, which
//! files it may touch and that it has no network.
//!
//! A process confines itself, with rights that any user has: Landlock for files, signals and other
//! processes' memory, a seccomp filter for the network. Neither can be undone, and both hold for
//! whatever the process starts. Where a kernel lacks one, [`Isolation`] says so.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::PathBuf;

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetStatus, Scope, path_beneath_rules,
};
use nix::libc;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use rustix::io::Errno;
use rustix::thread::{
    CapabilitySet, CapabilitySets, remove_capability_from_bounding_set, set_capabilities,
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};
use serde::{Deserialize, Serialize};

/// What a case's processes may take, all together unless said otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Bytes of memory in use. (What is only reserved is free: CUDA reserves more than any machine has.)
    pub memory: u64,
    /// Processes.
    pub processes: usize,
    /// The size of any one file that they write, in bytes.
    pub file: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { memory: 4 << 30, processes: 64, file: 1 << 30 }
    }
}

/// Which files a process may use; everything else is closed to it, the network too.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    /// Files and folders that it may read, and programs that it may run. Those that are not there are
    /// passed over.
    pub read: Vec<PathBuf>,
    /// Files and folders that it may write, too.
    pub write: Vec<PathBuf>,
}

impl Confinement {
    /// What any program needs that is linked against the system's libraries: them, and `/proc`. Other
    /// processes' memory and environment stay closed in spite of it.
    pub fn system() -> Confinement {
        let read = [
            "/usr",
            "/bin",
            "/sbin",
            "/lib",
            "/lib32",
            "/lib64",
            "/opt",
            "/nix/store",
            "/proc",
            "/sys",
            "/etc/ld.so.cache",
            "/etc/ld.so.conf",
            "/etc/ld.so.conf.d",
            "/etc/alternatives",
            "/etc/localtime",
            "/dev/urandom",
            "/dev/random",
        ];
        let write = ["/dev/null", "/dev/zero", "/dev/full"];
        let paths = |paths: &[&str]| paths.iter().map(PathBuf::from).collect();
        Confinement { read: paths(&read), write: paths(&write) }
    }

    /// The same, and what the driver of a GPU needs.
    pub fn with_gpu(mut self) -> Confinement {
        let in_dev = |name: &str| name.starts_with("nvidia") || name == "dri" || name == "dxg";
        let devices = std::fs::read_dir("/dev").into_iter().flatten().flatten();
        let devices = devices.filter(|entry| entry.file_name().to_str().is_some_and(in_dev));
        self.write.extend(devices.map(|entry| entry.path()));
        self.write.push("/dev/shm".into());
        // The driver names the threads that it starts.
        self.write.push("/proc/self/task".into());
        self.read.extend(["/etc/nvidia", "/run/nvidia-persistenced"].map(PathBuf::from));
        self
    }
}

/// What of a [`Confinement`] the kernel enforces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Isolation {
    /// Files outside are closed.
    pub files: bool,
    /// So are other processes: their signals and their memory.
    pub processes: bool,
    /// There is no network.
    pub network: bool,
}

impl fmt::Display for Isolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            ("files outside its folder", self.files),
            ("other processes", self.processes),
            ("the network", self.network),
        ];
        let named = |wanted: bool| -> Vec<&str> {
            parts.iter().filter(|(_, closed)| *closed == wanted).map(|(name, _)| *name).collect()
        };
        match (named(true), named(false)) {
            (closed, open) if open.is_empty() => {
                write!(f, "a submission cannot reach {}", closed.join(", "))
            }
            (closed, open) if closed.is_empty() => {
                write!(f, "none: a submission can reach {}", open.join(", "))
            }
            (closed, open) => write!(
                f,
                "in part: a submission cannot reach {}, but it can reach {}",
                closed.join(", "),
                open.join(", ")
            ),
        }
    }
}

/// Sets the limits that the kernel itself keeps for this process.
pub(super) fn limit(limits: &Limits) {
    let lower = |resource, to: u64| {
        let hard = getrlimit(resource).map_or(libc::RLIM_INFINITY, |(_, hard)| hard);
        // Where the system refuses, the guard's own watch still holds.
        let _ = setrlimit(resource, to.min(hard), to.min(hard));
    };
    lower(Resource::RLIMIT_CORE, 0);
    lower(Resource::RLIMIT_FSIZE, limits.file);
    // The kernel counts all processes of the user, threads too, and for root it does not count. So this
    // is only a stop for what multiplies faster than the guard looks.
    let own = std::fs::read_dir("/proc").map_or(0, |entries| entries.count() as u64);
    lower(Resource::RLIMIT_NPROC, 16 * (own + limits.processes as u64));
    // Before the kernel runs out of memory it ends this process rather than another.
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
}

/// Gives up what root may do beyond what its own files allow: with it a process could read the
/// environment of others in spite of Landlock. Nobody else has any of it.
fn drop_capabilities() -> io::Result<()> {
    for capability in CapabilitySet::all().iter() {
        match remove_capability_from_bounding_set(capability) {
            // Those of another kernel, and those of nobody, are not there.
            Ok(()) | Err(Errno::INVAL | Errno::PERM) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    Ok(set_capabilities(None, sets)?)
}

/// Closes to this process what the confinement does not name. Must be called while it has one thread.
///
/// # Errors
/// Where the kernel has the means and refuses them.
pub(super) fn confine(confinement: &Confinement) -> io::Result<Isolation> {
    drop_capabilities()?;
    let abi = ABI::V6;
    let other = |error: &dyn fmt::Display| io::Error::other(error.to_string());
    let status = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(abi))
        .and_then(|ruleset| ruleset.handle_access(AccessNet::from_all(abi)))
        .and_then(|ruleset| ruleset.scope(Scope::from_all(abi)))
        .and_then(|ruleset| ruleset.create())
        .and_then(|ruleset| {
            ruleset.add_rules(path_beneath_rules(&confinement.read, AccessFs::from_read(abi)))
        })
        .and_then(|ruleset| {
            ruleset.add_rules(path_beneath_rules(&confinement.write, AccessFs::from_all(abi)))
        })
        .and_then(|ruleset| ruleset.restrict_self())
        .map_err(|error| other(&error))?;
    let network = match filter() {
        Some(filter) => {
            seccompiler::apply_filter(&filter).map_err(|error| other(&error))?;
            true
        }
        None => false,
    };
    Ok(Isolation {
        files: status.ruleset != RulesetStatus::NotEnforced,
        processes: status.ruleset == RulesetStatus::FullyEnforced,
        network,
    })
}

/// Refuses what reaches the network or gets around this filter, with "not permitted".
fn filter() -> Option<BpfProgram> {
    let domain = |of: i32| {
        SeccompCondition::new(
            0,
            SeccompCmpArgLen::Dword,
            SeccompCmpOp::Ne,
            u64::from(of.unsigned_abs()),
        )
    };
    // Sockets within the machine are left: the GPU's driver asks its daemons through them.
    let socket = SeccompRule::new(vec![domain(libc::AF_UNIX).ok()?]).ok()?;
    let refused = [
        // Would do all of the above without a system call for each.
        libc::SYS_io_uring_setup,
        // Other processes, and this one's own code.
        libc::SYS_ptrace,
        libc::SYS_process_vm_readv,
        libc::SYS_process_vm_writev,
        libc::SYS_pidfd_getfd,
        // Other views of the system.
        libc::SYS_unshare,
        libc::SYS_setns,
        libc::SYS_mount,
        libc::SYS_bpf,
        libc::SYS_keyctl,
        libc::SYS_add_key,
        libc::SYS_request_key,
    ];
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        refused.into_iter().map(|number| (number, Vec::new())).collect();
    rules.insert(libc::SYS_socket, vec![socket]);
    let filter = SeccompFilter::new(
        rules,
        SeccompAction::Allow,
        SeccompAction::Errno(libc::EPERM.unsigned_abs()),
        TargetArch::x86_64,
    );
    filter.ok()?.try_into().ok()
}
