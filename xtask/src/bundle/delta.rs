//! How one program differs from another that was linked from nearly the same parts.
//!
//! Two learners' programs are the same code and line tables, at other places: what one of them has more moves
//! all that comes behind it, and with that most addresses. So a program is described byte by byte as its
//! difference from the *base* under some shift: where only addresses differ, that is mostly zeros, and the few
//! other bytes repeat, which deflate takes for next to nothing. (The idea is that of bsdiff. For the search, which
//! there takes ten seconds a program, a table of blocks is enough here.)
//!
//! A delta is one zlib stream of little-endian words of 8 bytes: the number of stretches; for each the byte
//! of the program where it begins, and the shift to the base; then the differences.

use std::io::{Error, ErrorKind, Read, Write};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;

/// The base's blocks that are in the table.
const BLOCK: usize = 16;
/// How large the table is, as a power of two: twice the blocks of a program of 30 MB.
const TABLE: u32 = 22;
/// So much at a time is compared.
const CHUNK: usize = 64;
/// Another shift is looked for where fewer than these of a chunk are equal,
const ENOUGH: usize = CHUNK * 3 / 4;
/// and taken if in so many bytes
const AHEAD: usize = 256;
/// so many more are equal.
const BETTER: usize = 16;

/// What other programs are compared with.
#[derive(Debug)]
pub struct Base {
    bytes: Vec<u8>,
    /// For each hash, where the last block with it is.
    table: Vec<Option<u32>>,
}

impl Base {
    /// With these bytes.
    pub fn new(bytes: Vec<u8>) -> Base {
        let mut table = vec![None; 1 << TABLE];
        for (index, block) in bytes.chunks_exact(BLOCK).enumerate() {
            // A program beyond 4 GiB is only compressed worse.
            table[slot(block)] = u32::try_from(index * BLOCK).ok();
        }
        Base { bytes, table }
    }

    /// The delta of another program.
    ///
    /// # Errors
    /// None: it is written to memory.
    pub fn delta(&self, program: &[u8]) -> std::io::Result<Vec<u8>> {
        let stretches = self.stretches(program);
        let mut out = ZlibEncoder::new(Vec::new(), Compression::default());
        out.write_all(&(stretches.len() as u64).to_le_bytes())?;
        for (from, shift) in &stretches {
            out.write_all(&(*from as u64).to_le_bytes())?;
            out.write_all(&shift.to_le_bytes())?;
        }
        let mut differences = program.to_vec();
        each_chunk(&mut differences, &stretches, &self.bytes, |chunk, base| {
            match *chunk == *base {
                true => chunk.fill(0),
                false => chunk
                    .iter_mut()
                    .zip(base)
                    .for_each(|(byte, base)| *byte = byte.wrapping_sub(*base)),
            }
        });
        out.write_all(&differences)?;
        out.finish()
    }

    /// Where in the program each shift begins. (The byte at `at` stands at `at + shift` in the base.)
    fn stretches(&self, program: &[u8]) -> Vec<(usize, i64)> {
        let mut stretches = vec![(0, 0)];
        let mut shift = 0;
        for at in (0..program.len()).step_by(CHUNK) {
            let equal = |length, shift| {
                let part = &program[at..program.len().min(at + length)];
                self.equal(part, at as i64 + shift)
            };
            if equal(CHUNK, shift) >= ENOUGH.min(program.len() - at) {
                continue;
            }
            let (before, mut best, mut last) = (shift, equal(AHEAD, shift) + BETTER, shift);
            for (index, block) in program[at..].windows(BLOCK).take(CHUNK).enumerate() {
                let Some(found) = self.table[slot(block)] else { continue };
                let other = i64::from(found) - (at + index) as i64;
                if other == last || self.bytes[found as usize..][..BLOCK] != *block {
                    continue;
                }
                last = other;
                let count = equal(AHEAD, other);
                if count > best {
                    (shift, best) = (other, count);
                }
            }
            if shift != before {
                // The first one may end before it has begun.
                stretches.pop_if(|(from, _)| *from == at);
                stretches.push((at, shift));
            }
        }
        stretches
    }

    /// How many bytes are equal to the base's from `at` on.
    fn equal(&self, part: &[u8], at: i64) -> usize {
        let base = usize::try_from(at).ok().and_then(|at| self.bytes.get(at..));
        let Some(base) = base else { return 0 };
        let base = &base[..base.len().min(part.len())];
        match part[..base.len()] == *base {
            true => base.len(),
            false => part.iter().zip(base).filter(|(byte, base)| byte == base).count(),
        }
    }
}

/// The program of `size` bytes that a delta describes.
///
/// # Errors
/// Where the delta is damaged.
pub fn restored(base: &[u8], delta: &[u8], size: u64) -> std::io::Result<Vec<u8>> {
    let damaged = || Error::new(ErrorKind::InvalidData, "the delta is damaged");
    let size = usize::try_from(size).map_err(|_| damaged())?;
    let mut delta = ZlibDecoder::new(delta);
    let mut word = || {
        let mut bytes = [0; 8];
        delta.read_exact(&mut bytes).map(|()| bytes)
    };
    let mut stretches: Vec<(usize, i64)> = Vec::new();
    for _ in 0..u64::from_le_bytes(word()?) {
        let from = usize::try_from(u64::from_le_bytes(word()?)).map_err(|_| damaged())?;
        let in_order = stretches.last().is_none_or(|(last, _)| *last < from);
        if !in_order || from > size {
            return Err(damaged());
        }
        stretches.push((from, i64::from_le_bytes(word()?)));
    }
    let mut program = vec![0; size];
    delta.read_exact(&mut program)?;
    each_chunk(&mut program, &stretches, base, |chunk, base| {
        match *chunk == [0; CHUNK][..chunk.len()] {
            true => chunk.copy_from_slice(base),
            false => {
                chunk.iter_mut().zip(base).for_each(|(byte, base)| *byte = byte.wrapping_add(*base))
            }
        }
    });
    Ok(program)
}

/// Goes through a program and the part of the base that each piece of it is compared with. What is compared
/// with nothing is left out.
fn each_chunk(
    program: &mut [u8],
    stretches: &[(usize, i64)],
    base: &[u8],
    mut change: impl FnMut(&mut [u8], &[u8]),
) {
    let ends = stretches.iter().skip(1).map(|(from, _)| *from).chain([program.len()]);
    let bounds: Vec<usize> = ends.collect();
    for ((from, shift), to) in stretches.iter().zip(bounds) {
        for at in (*from..to).step_by(CHUNK) {
            let chunk = &mut program[at..to.min(at + CHUNK)];
            let begin = (at as i64).checked_add(*shift).and_then(|at| usize::try_from(at).ok());
            let Some(base) = begin.and_then(|begin| base.get(begin..)) else { continue };
            let length = chunk.len().min(base.len());
            change(&mut chunk[..length], &base[..length]);
        }
    }
}

fn slot(block: &[u8]) -> usize {
    let word = |at: usize| block[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    // The multiplier is the golden ratio's, as in Fibonacci hashing.
    let mixed = (word(0) ^ word(8).rotate_left(29)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> (u64::BITS - TABLE)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that nothing compresses.
    fn noise(count: usize) -> Vec<u8> {
        let mut state = 7_u64;
        let next = |_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 32) as u8
        };
        (0..count).map(next).collect()
    }

    fn size_of_delta(base: &[u8], program: &[u8]) -> usize {
        let delta = Base::new(base.to_vec()).delta(program).expect("it is written to memory");
        let restored = restored(base, &delta, program.len() as u64);
        assert!(restored.is_ok_and(|restored| restored == program));
        delta.len()
    }

    #[test]
    fn what_comes_out_is_what_went_in() {
        let base = noise(10_000);
        for program in [
            vec![],
            vec![1],
            noise(10_001),
            base[5000..].to_vec(),
            [&base[9000..], &base, &base[..77]].concat(),
            base.iter().rev().copied().collect(),
        ] {
            size_of_delta(&base, &program);
            size_of_delta(&[], &program);
        }
    }

    #[test]
    fn what_has_moved_costs_next_to_nothing() {
        // Every 24th word is an address, of something behind what is put in.
        let mut base = noise(240_000);
        let mut program = base.clone();
        for at in (0..base.len()).step_by(24) {
            let address = 0x40_0000 + at as u64 * 7;
            base[at..at + 8].copy_from_slice(&address.to_le_bytes());
            program[at..at + 8].copy_from_slice(&(address + 0x1230).to_le_bytes());
        }
        program.splice(100_000..100_000, noise(1000));
        let size = size_of_delta(&base, &program);
        assert!(size < base.len() / 20, "{size}");
    }

    #[test]
    fn a_damaged_delta_is_told_of() {
        let base = noise(10_000);
        let program = noise(9000);
        let delta = Base::new(base.clone()).delta(&program).expect("it is written to memory");
        assert!(restored(&base, &delta[..delta.len() / 2], 9000).is_err());
        assert!(restored(&base, &delta, 9001).is_err());
        assert!(restored(&base, b"nothing", 9000).is_err());
        let with = |stretches: &[(u64, i64)]| {
            let mut out = ZlibEncoder::new(Vec::new(), Compression::fast());
            let mut words = vec![stretches.len() as u64];
            words.extend(stretches.iter().flat_map(|(from, shift)| [*from, shift.cast_unsigned()]));
            let bytes: Vec<u8> =
                words.into_iter().flat_map(u64::to_le_bytes).chain([0; 8]).collect();
            out.write_all(&bytes).and_then(|()| out.finish()).expect("it is written to memory")
        };
        assert!(restored(&base, &with(&[(0, 0)]), 8).is_ok_and(|bytes| bytes == base[..8]));
        assert!(
            restored(&base, &with(&[(0, i64::MAX), (4, -9)]), 8).is_ok_and(|bytes| bytes == [0; 8])
        );
        for wrong in [&[(9, 0)][..], &[(4, 0), (4, 1)], &[(u64::MAX, 0)]] {
            assert!(restored(&base, &with(wrong), 8).is_err(), "{wrong:?}");
        }
    }
}
