//! Which glibc a program needs: the newest version that its dynamic symbols name.

use std::fmt;
use std::path::Path;

use anyhow::Context;
use object::Endianness;
use object::read::elf::{ElfFile64, FileHeader};

/// A version of glibc.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(Vec<u32>);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self.0.iter().map(u32::to_string).collect();
        f.write_str(&parts.join("."))
    }
}

impl Version {
    /// From the name of a symbol version: `GLIBC_2.34`.
    fn of_symbols(name: &str) -> Option<Version> {
        let numbers = name.strip_prefix("GLIBC_")?.split('.').map(|part| part.parse().ok());
        numbers.collect::<Option<Vec<u32>>>().map(Version)
    }
}

/// The oldest glibc that a program runs with; none if it asks for no version.
///
/// # Errors
/// Where it cannot be read, or is no program for this machine.
pub fn needed(program: &Path) -> anyhow::Result<Option<Version>> {
    let shown = || format!("{} cannot be read as a program", program.display());
    let bytes = std::fs::read(program).with_context(shown)?;
    of_elf(&bytes).with_context(shown)
}

fn of_elf(bytes: &[u8]) -> object::read::Result<Option<Version>> {
    let file = ElfFile64::<Endianness>::parse(bytes)?;
    let endian = file.elf_header().endian()?;
    let sections = file.elf_section_table();
    let mut newest = None;
    let Some((mut needs, strings)) = sections.gnu_verneed(endian, bytes)? else {
        return Ok(None);
    };
    let strings = sections.strings(endian, bytes, strings)?;
    while let Some((_, mut versions)) = needs.next()? {
        while let Some(version) = versions.next()? {
            let name = version.name(endian, strings)?;
            let version = std::str::from_utf8(name).ok().and_then(Version::of_symbols);
            newest = newest.max(version);
        }
    }
    Ok(newest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        let version = |name| Version::of_symbols(name);
        assert!(version("GLIBC_2.9") < version("GLIBC_2.34"));
        assert!(version("GLIBC_2.2.5") < version("GLIBC_2.3"));
        assert_eq!(version("GLIBC_PRIVATE"), None);
        assert_eq!(version("GCC_4.2.0"), None);
        assert_eq!(version("GLIBC_2.34").expect("it is one").to_string(), "2.34");
    }

    #[test]
    fn this_very_program_says_what_it_needs() {
        let program = std::env::current_exe().expect("it has a file");
        let needed = needed(&program).expect("it can be read").expect("it needs some glibc");
        // The baseline of x86-64.
        assert!(needed >= Version(vec![2, 2, 5]), "{needed}");
        assert!(of_elf(b"no program").is_err());
    }
}
