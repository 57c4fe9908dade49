//! Device memory: addresses that the host cannot follow, the bytes behind them, and who has which.
//!
//! The addresses handed out come from a range without access, so a host that follows one faults, as
//! with a real card. The bytes are in a second range of the same layout, which only the executor
//! touches. Addresses of page-locked host memory are device addresses too (unified addressing).

use std::collections::{BTreeMap, HashMap};

use super::engine::OpId;
use crate::sys::*;

/// The stream that an operation or a block belongs to: a handle, or one made up for a default stream.
pub type StreamKey = usize;

/// What fresh memory holds: a quiet NaN that is easy to recognise.
pub const POISON: u32 = 0x7fc0_dead;

/// Sizes are rounded up to this, which is also the alignment of every address.
const GRAIN: u64 = 512;

/// For a stream, the last operation of each other stream that is known to come before it.
pub type Knows = HashMap<StreamKey, OpId>;

/// A live allocation.
#[derive(Clone, Copy, Debug)]
pub struct Live {
    /// Its length as asked for.
    pub length: u64,
    /// Its length as taken.
    taken: u64,
    /// From cuMemAllocAsync.
    pub stream_ordered: bool,
}

/// Memory that was freed, and what must have happened before it may be used again.
#[derive(Clone, Copy, Debug)]
struct Free {
    start: u64,
    length: u64,
    /// The stream and the operation behind which it was freed; `None` if nothing is pending.
    behind: Option<(StreamKey, OpId)>,
}

/// Who asks for memory: a stream with what it knows, or the host.
pub enum For<'a> {
    /// cuMemAlloc: only memory that nothing uses any more.
    Host,
    /// cuMemAllocAsync on this stream.
    Stream(StreamKey, &'a Knows),
}

/// Device memory.
pub struct Arena {
    /// First address handed out.
    base: u64,
    /// First byte behind it.
    bytes: usize,
    capacity: u64,
    /// Nothing beyond this offset was ever handed out.
    bump: u64,
    live: BTreeMap<u64, Live>,
    free: Vec<Free>,
    /// Ranges that cuMemAllocAsync ever had: they stay mapped when freed, as a real pool's do.
    pooled: BTreeMap<u64, u64>,
    /// Page-locked host memory, by address: length, flags, and whether it is ours to free.
    pub pinned: BTreeMap<u64, Pinned>,
}

/// Page-locked host memory.
#[derive(Clone, Copy, Debug)]
pub struct Pinned {
    /// In bytes.
    pub length: u64,
    /// As given to cuMemHostAlloc.
    pub flags: u32,
    /// From cuMemHostAlloc or cuMemAllocHost, not cuMemHostRegister.
    pub allocated: bool,
}

fn reserve(length: u64, access: i32) -> std::io::Result<usize> {
    // SAFETY: a fresh anonymous mapping; nothing of ours lies where the kernel puts it.
    let address = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            length as usize,
            access,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    if address == libc::MAP_FAILED {
        return Err(std::io::Error::last_os_error());
    }
    Ok(address as usize)
}

impl Arena {
    /// Reserves address space for `capacity` bytes; memory is taken only when it is touched.
    pub fn new(capacity: u64) -> std::io::Result<Arena> {
        Ok(Arena {
            base: reserve(capacity, libc::PROT_NONE)? as u64,
            bytes: reserve(capacity, libc::PROT_READ | libc::PROT_WRITE)?,
            capacity,
            bump: 0,
            live: BTreeMap::new(),
            free: Vec::new(),
            pooled: BTreeMap::new(),
            pinned: BTreeMap::new(),
        })
    }

    /// In bytes.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Bytes that are not handed out.
    pub fn available(&self) -> u64 {
        self.capacity - self.live.values().map(|live| live.taken).sum::<u64>()
    }

    /// Takes `length` bytes; `pending` says whether an operation is still to be completed.
    pub fn alloc(
        &mut self,
        length: usize,
        wanted: For<'_>,
        pending: impl Fn(OpId) -> bool,
    ) -> Result<DevicePtr, CUresult> {
        if length == 0 {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        let Some(taken) = (length as u64).checked_next_multiple_of(GRAIN) else {
            return Err(CUDA_ERROR_OUT_OF_MEMORY);
        };
        let stream_ordered = matches!(wanted, For::Stream(..));
        let start = match self.reuse(taken, &wanted, &pending) {
            Some(start) => start,
            None if self.bump + taken <= self.capacity => {
                self.bump += taken;
                self.bump - taken
            }
            None => {
                self.merge(&pending);
                self.reuse(taken, &wanted, &pending).ok_or(CUDA_ERROR_OUT_OF_MEMORY)?
            }
        };
        self.live.insert(start, Live { length: length as u64, taken, stream_ordered });
        if stream_ordered {
            let end = self.pooled.entry(start).or_insert(start + taken);
            *end = (*end).max(start + taken);
        }
        Ok(self.base + start)
    }

    /// The smallest free block that may be used now; the newest of equals, as a real pool gives back
    /// what was just freed.
    fn reuse(
        &mut self,
        taken: u64,
        wanted: &For<'_>,
        pending: &impl Fn(OpId) -> bool,
    ) -> Option<u64> {
        let usable = |free: &Free| match (free.behind, wanted) {
            (None, _) => true,
            (Some((_, op)), _) if !pending(op) => true,
            (Some((stream, _)), For::Stream(own, _)) if stream == *own => true,
            (Some((stream, op)), For::Stream(_, knows)) => {
                knows.get(&stream).is_some_and(|known| *known >= op)
            }
            (Some(_), For::Host) => false,
        };
        let (index, _) = self
            .free
            .iter()
            .enumerate()
            .filter(|(_, free)| free.length >= taken && usable(free))
            .min_by_key(|(index, free)| (free.length, std::cmp::Reverse(*index)))?;
        let block = &mut self.free[index];
        let start = block.start;
        block.start += taken;
        block.length -= taken;
        if block.length == 0 {
            self.free.remove(index);
        }
        Some(start)
    }

    /// Joins neighbouring blocks that nothing uses any more.
    fn merge(&mut self, pending: &impl Fn(OpId) -> bool) {
        for block in &mut self.free {
            block.behind = block.behind.filter(|(_, op)| pending(*op));
        }
        self.free.sort_by_key(|block| block.start);
        self.free.dedup_by(|next, block| {
            let joins = block.behind.is_none()
                && next.behind.is_none()
                && block.start + block.length == next.start;
            if joins {
                block.length += next.length;
            }
            joins
        });
    }

    /// The live allocation that starts at `address`.
    pub fn at(&self, address: DevicePtr) -> Option<Live> {
        self.live.get(&address.checked_sub(self.base)?).copied()
    }

    /// Gives an allocation back, to be used again once `behind` has happened.
    pub fn free(&mut self, address: DevicePtr, behind: Option<(StreamKey, OpId)>) {
        let Some(start) = address.checked_sub(self.base) else { return };
        if let Some(live) = self.live.remove(&start) {
            self.free.push(Free { start, length: live.taken, behind });
        }
    }

    /// The live allocation that holds `address`: its first address and its length.
    pub fn holder(&self, address: DevicePtr) -> Option<(DevicePtr, u64)> {
        let offset = address.checked_sub(self.base)?;
        let (start, live) = self.live.range(..=offset).next_back()?;
        (offset < start + live.length).then_some((self.base + start, live.length))
    }

    /// The page-locked block that holds `address`.
    pub fn pinned_holder(&self, address: u64) -> Option<(u64, Pinned)> {
        let (start, pinned) = self.pinned.range(..=address).next_back()?;
        (address < start + pinned.length).then_some((*start, *pinned))
    }

    /// Whether an address lies in device memory at all.
    pub fn is_device(&self, address: u64) -> bool {
        address >= self.base && address < self.base + self.capacity
    }

    /// Where the bytes of a range are, if a kernel or a copy may touch all of it: inside one live
    /// allocation, one page-locked block, or memory that stream-ordered allocations once had.
    pub fn locate(&self, address: DevicePtr, length: u64) -> Option<usize> {
        let end = address.checked_add(length)?;
        if let Some((start, whole)) = self.holder(address)
            && end <= start + whole
        {
            return Some(self.bytes + (address - self.base) as usize);
        }
        if let Some((start, pinned)) = self.pinned_holder(address)
            && end <= start + pinned.length
        {
            return Some(address as usize);
        }
        let (mut reached, end) = (address.checked_sub(self.base)?, end - self.base);
        let first = reached;
        while reached < end {
            let (_, pool_end) = self.pooled.range(..=reached).next_back()?;
            if *pool_end <= reached {
                return None;
            }
            reached = *pool_end;
        }
        // Beyond its own allocation while that is live: not tolerated.
        if self
            .live
            .range(..=first)
            .next_back()
            .is_some_and(|(start, live)| first < start + live.length)
        {
            return None;
        }
        Some(self.bytes + first as usize)
    }

    /// Where the bytes of an allocation are, for the poison.
    pub fn bytes_of(&self, address: DevicePtr) -> usize {
        self.bytes + (address - self.base) as usize
    }
}
