//! The table and the committed PTX describe the same kernels.

use std::collections::BTreeMap;

use streamlings_kernels::{Args, PTX, TABLE, find};

/// The parameter sizes in bytes of each kernel that the PTX declares, in order.
fn entries() -> BTreeMap<&'static str, Vec<usize>> {
    PTX.split(".entry ")
        .skip(1)
        .map(|entry| {
            let (name, rest) = entry.split_once('(').expect("a parameter list after the name");
            let (params, _) = rest.split_once(')').expect("the end of the parameter list");
            let sizes = params.split(',').filter(|param| !param.trim().is_empty()).map(size);
            (name.trim(), sizes.collect())
        })
        .collect()
}

/// The size of a parameter such as `.param .u64 add_param_0`.
fn size(param: &str) -> usize {
    let kind = param.split_whitespace().nth(1).expect("a type after .param");
    let bits = kind.trim_start_matches(|c: char| !c.is_ascii_digit());
    bits.parse::<usize>().unwrap_or_else(|_| panic!("a scalar type, not {kind}")) / 8
}

#[test]
fn table_and_ptx_declare_the_same_parameters() {
    let table: BTreeMap<_, Vec<_>> = TABLE
        .iter()
        .map(|kernel| (kernel.name, kernel.params.iter().map(|p| p.kind.size()).collect()))
        .collect();
    assert_eq!(table.len(), TABLE.len(), "a name twice in the table");
    assert_eq!(table, entries());
}

#[test]
fn ptx_is_for_cuda_11_8_and_maxwell() {
    let directives: Vec<_> =
        PTX.lines().filter(|l| l.starts_with(".version") || l.starts_with(".target")).collect();
    assert_eq!(directives, [".version 7.8", ".target sm_52"]);
}

#[test]
fn find_knows_every_kernel_and_no_other() {
    for kernel in TABLE {
        assert_eq!(find(kernel.name).map(|found| found.name), Some(kernel.name));
    }
    assert!(find("no such kernel").is_none());
}

/// A launch with more threads a block than `.maxntid` fails.
#[test]
fn advised_blocks_are_those_that_the_kernels_were_compiled_for() {
    let args = [1; 8];
    let mut bounded = Vec::new();
    for entry in PTX.split(".entry ").skip(1) {
        let name = entry.split('(').next().expect("a name");
        let kernel = find(name).expect("an entry of the table");
        let Some((_, bound)) = entry.split_once(".maxntid ") else { continue };
        let bound: Vec<u32> = bound
            .lines()
            .next()
            .into_iter()
            .flat_map(|bound| bound.split(','))
            .map(|threads| threads.trim().parse().expect("a number of threads"))
            .collect();
        assert_eq!((kernel.launch)(&Args(&args)).block[..], bound, "{name}");
        bounded.push(name);
    }
    assert_eq!(bounded, ["matmul", "matmul_tn", "matmul_nt"]);
}
