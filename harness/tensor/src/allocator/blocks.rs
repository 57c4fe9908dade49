//! The allocator's bookkeeping: size classes, segments, blocks, free lists. Pure: knows no driver.
//!
//! The rules are those of PyTorch's caching allocator:
//!
//! - Sizes are rounded up to [`ROUNDING`]. Up to [`MOST_SMALL`] an allocation is small, else large.
//!   A [`Pool`] belongs to one stream and one of the two classes; blocks never change pools.
//! - A request takes the smallest free block of its pool that is big enough, the one at the lowest
//!   address of several. What is left over becomes a free block of its own: in a small pool if it is
//!   at least [`ROUNDING`], in a large one if it is more than [`MOST_SMALL`].
//! - Where no block is big enough, a new segment comes from the driver, of [`segment_size`] bytes.
//! - A block that comes back is merged with its free neighbours in the segment.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

/// Every block's size is a multiple of this, and so is its address.
pub const ROUNDING: u64 = 512;
/// The largest small allocation: 1 MiB.
pub const MOST_SMALL: u64 = 1 << 20;
/// The segment that small allocations share: 2 MiB.
pub const SMALL_SEGMENT: u64 = 2 << 20;
/// The segment that large allocations share: 20 MiB.
pub const LARGE_SEGMENT: u64 = 20 << 20;
/// From here on an allocation has a segment of its own: 10 MiB.
pub const OWN_SEGMENT: u64 = 10 << 20;
/// To which such a segment is rounded up: 2 MiB.
pub const OWN_ROUNDING: u64 = 2 << 20;

/// The size of the block for a request of `bytes`; `None` where that overflows.
pub fn block_size(bytes: u64) -> Option<u64> {
    bytes.max(1).checked_next_multiple_of(ROUNDING)
}

/// The size of the segment that is allocated for a block of `size` bytes.
pub fn segment_size(size: u64) -> Option<u64> {
    if size <= MOST_SMALL {
        Some(SMALL_SEGMENT)
    } else if size < OWN_SEGMENT {
        Some(LARGE_SEGMENT)
    } else {
        size.checked_next_multiple_of(OWN_ROUNDING)
    }
}

/// A block, by its number; used again once the block is merged into another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BlockId(u32);

/// A stream's pool of one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolId(u32);

#[derive(Clone, Copy, Debug)]
struct Block {
    start: u64,
    size: u64,
    pool: PoolId,
    free: bool,
    /// Neighbours within the segment.
    before: Option<BlockId>,
    after: Option<BlockId>,
}

/// Free blocks, smallest first, then lowest address.
type Pool = BTreeSet<(u64, u64, BlockId)>;

/// All blocks.
#[derive(Debug, Default)]
pub struct Blocks {
    blocks: Vec<Block>,
    unused: Vec<BlockId>,
    pools: Vec<Pool>,
    by_stream: FxHashMap<(usize, bool), PoolId>,
}

impl Blocks {
    /// The pool of a stream for blocks of a size.
    pub fn pool(&mut self, stream: usize, size: u64) -> PoolId {
        let Blocks { pools, by_stream, .. } = self;
        *by_stream.entry((stream, size <= MOST_SMALL)).or_insert_with(|| {
            pools.push(Pool::new());
            PoolId(pools.len() as u32 - 1)
        })
    }

    /// Where a block starts and how long it is.
    pub fn range(&self, block: BlockId) -> (u64, u64) {
        let block = self.at(block);
        (block.start, block.size)
    }

    /// Takes the block that fits best, and splits off what it has too much.
    pub fn take(&mut self, pool: PoolId, size: u64) -> Option<BlockId> {
        let free = &mut self.pools[pool.0 as usize];
        let best = *free.range((size, 0, BlockId(0))..).next()?;
        free.remove(&best);
        let id = best.2;
        self.at_mut(id).free = false;
        self.split(id, size);
        Some(id)
    }

    /// Adds a free block that is a whole segment.
    pub fn add_segment(&mut self, pool: PoolId, start: u64, size: u64) {
        let block = Block { start, size, pool, free: true, before: None, after: None };
        let id = self.new_block(block);
        self.pools[pool.0 as usize].insert((size, start, id));
    }

    /// Takes a block back.
    pub fn give(&mut self, id: BlockId) {
        let mut block = *self.at(id);
        if let Some((gone, before)) = self.take_free(block.before) {
            block.start = before.start;
            block.size += before.size;
            block.before = before.before;
            self.unused.push(gone);
        }
        if let Some((gone, after)) = self.take_free(block.after) {
            block.size += after.size;
            block.after = after.after;
            self.unused.push(gone);
        }
        block.free = true;
        *self.at_mut(id) = block;
        self.link(block.before, Some(id), block.after);
        self.pools[block.pool.0 as usize].insert((block.size, block.start, id));
    }

    /// Removes the segments of which nothing is in use; their addresses.
    pub fn take_whole_segments(&mut self) -> Vec<u64> {
        let mut starts = Vec::new();
        let Blocks { blocks, pools, unused, .. } = self;
        for pool in pools {
            pool.retain(|(_, start, id)| {
                let block = blocks[id.0 as usize];
                let whole = block.before.is_none() && block.after.is_none();
                if whole {
                    starts.push(*start);
                    unused.push(*id);
                }
                !whole
            });
        }
        starts
    }

    fn at(&self, id: BlockId) -> &Block {
        &self.blocks[id.0 as usize]
    }

    fn at_mut(&mut self, id: BlockId) -> &mut Block {
        &mut self.blocks[id.0 as usize]
    }

    /// Takes a neighbour off its free list, if it is free.
    fn take_free(&mut self, id: Option<BlockId>) -> Option<(BlockId, Block)> {
        let id = id?;
        let block = *self.at(id);
        if !block.free {
            return None;
        }
        self.pools[block.pool.0 as usize].remove(&(block.size, block.start, id));
        Some((id, block))
    }

    fn new_block(&mut self, block: Block) -> BlockId {
        match self.unused.pop() {
            Some(id) => {
                *self.at_mut(id) = block;
                id
            }
            None => {
                self.blocks.push(block);
                BlockId(self.blocks.len() as u32 - 1)
            }
        }
    }

    fn link(&mut self, before: Option<BlockId>, id: Option<BlockId>, after: Option<BlockId>) {
        if let Some(before) = before {
            self.at_mut(before).after = id;
        }
        if let Some(after) = after {
            self.at_mut(after).before = id;
        }
    }

    fn split(&mut self, id: BlockId, size: u64) {
        let block = *self.at(id);
        let rest = block.size - size;
        let small = size <= MOST_SMALL;
        let worth = if small { rest >= ROUNDING } else { rest > MOST_SMALL };
        if !worth {
            return;
        }
        let start = block.start + size;
        let rest = Block { start, size: rest, free: true, before: Some(id), ..block };
        let rest_id = self.new_block(rest);
        self.link(Some(id), Some(rest_id), block.after);
        self.at_mut(id).size = size;
        self.pools[block.pool.0 as usize].insert((rest.size, start, rest_id));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What must hold of the blocks of all segments: they lie end to end, no two free ones beside
    /// each other, and the free lists hold the free ones.
    fn check(blocks: &Blocks, segments: &[(u64, u64)], held: &[BlockId]) {
        let mut listed: Vec<BlockId> =
            blocks.pools.iter().flatten().map(|(_, _, id)| *id).collect();
        let mut found = held.len();
        for (start, size) in segments {
            let first = (0..blocks.blocks.len() as u32)
                .map(BlockId)
                .find(|id| {
                    let live = listed.contains(id) || held.contains(id);
                    live && blocks.at(*id).start == *start
                })
                .expect("a segment begins with a block");
            let (mut next, mut at, mut was_free, mut before) = (Some(first), *start, false, None);
            while let Some(id) = next {
                let block = blocks.at(id);
                assert_eq!((block.start, block.before), (at, before));
                assert_eq!(block.free, !held.contains(&id));
                assert!(!(was_free && block.free), "two free neighbours");
                if block.free {
                    assert!(listed.contains(&id));
                    listed.retain(|other| *other != id);
                } else {
                    found -= 1;
                }
                (at, was_free, before) = (at + block.size, block.free, Some(id));
                next = block.after;
            }
            assert_eq!(at, start + size);
        }
        assert!(listed.is_empty() && found == 0);
    }

    proptest! {
        #[test]
        fn blocks_fill_their_segments(
            steps in prop::collection::vec((any::<bool>(), 0_usize..2, 0_u64..30, 0_usize..100), 1..80),
        ) {
            let mut blocks = Blocks::default();
            let mut segments: Vec<(u64, u64)> = Vec::new();
            let mut held: Vec<BlockId> = Vec::new();
            for (take, stream, exponent, pick) in steps {
                if take || held.is_empty() {
                    let bytes = (1 << (exponent % 25)) + pick as u64;
                    let size = block_size(bytes).expect("small");
                    let pool = blocks.pool(stream, size);
                    let block = blocks.take(pool, size).unwrap_or_else(|| {
                        let segment = segment_size(size).expect("small");
                        // Segments of the driver's lie anywhere; here, with a gap.
                        let start = segments.last().map_or(1 << 30, |(s, size)| s + size + 4096);
                        segments.push((start, segment));
                        blocks.add_segment(pool, start, segment);
                        blocks.take(pool, size).expect("a new segment is big enough")
                    });
                    let (start, got) = blocks.range(block);
                    prop_assert!(got >= size && start % ROUNDING == 0);
                    prop_assert!(got - size <= MOST_SMALL, "too much was not split off");
                    held.push(block);
                } else {
                    blocks.give(held.swap_remove(pick % held.len()));
                }
                check(&blocks, &segments, &held);
            }
            for block in held.drain(..) {
                blocks.give(block);
            }
            check(&blocks, &segments, &[]);
            let mut whole = blocks.take_whole_segments();
            whole.sort_unstable();
            prop_assert_eq!(whole, segments.iter().map(|(start, _)| *start).collect::<Vec<_>>());
        }
    }
}
