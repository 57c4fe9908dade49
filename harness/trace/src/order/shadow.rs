//! What was done to each byte, as far as it still matters.
//!
//! Memory is cut into segments at the borders of accesses and buffers. A segment remembers, for each
//! *class* of access, the newest: a class is a lane, a kind, a place in the program, and whether the
//! access is of the memory's present life or of a former one. The newest is enough, because whoever is
//! ordered after it is ordered after the others of its lane; so every later access is in effect
//! compared with every access before it, while what is remembered is bounded by the program's text
//! and not by how long it runs.

use std::collections::BTreeMap;

use super::clock::{Clock, Epoch};
use crate::model::{AccessKind, Range, Seq, StreamId};

/// An interned description of an access: what did it, from which line, to which buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OriginId(pub u32);

/// One stretch between being handed out and being handed out again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct LifeId(pub u32);

/// An interned buffer name; 0 is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct BufferName(pub u32);

/// An access as it is remembered.
#[derive(Clone, Copy, Debug)]
pub struct Remembered {
    /// As an operation of its lane.
    pub epoch: Epoch,
    /// What it did.
    pub kind: AccessKind,
    /// What did it, and where.
    pub origin: OriginId,
    /// In which life of the memory.
    pub life: LifeId,
    /// The call or mark.
    pub seq: Seq,
}

impl Remembered {
    fn same_class(&self, other: &Remembered) -> bool {
        self.epoch.lane == other.epoch.lane
            && self.origin == other.origin
            && self.kind == other.kind
    }
}

/// What is known of a stretch of memory now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tenant {
    /// Its life.
    pub life: LifeId,
    /// Its name.
    pub name: BufferName,
    /// Where the buffer begins.
    pub base: u64,
    /// The stream that a caching allocator handed it out for.
    pub own: Option<StreamId>,
}

#[derive(Clone, Debug)]
struct Segment {
    end: u64,
    tenant: Tenant,
    history: Vec<Remembered>,
}

impl Segment {
    /// Where life changes, of each class of former lives only the newest is kept.
    fn set_tenant(&mut self, tenant: Tenant) {
        if self.tenant.life != tenant.life {
            let mut kept: Vec<Remembered> = Vec::with_capacity(self.history.len());
            for access in self.history.drain(..) {
                match kept.iter_mut().find(|other| other.same_class(&access)) {
                    Some(other) if other.epoch.at < access.epoch.at => *other = access,
                    Some(_) => {}
                    None => kept.push(access),
                }
            }
            self.history = kept;
        }
        self.tenant = tenant;
    }
}

/// The histories of all memory.
#[derive(Debug, Default)]
pub struct Shadow {
    segments: BTreeMap<u64, Segment>,
    remembered: usize,
}

impl Shadow {
    /// Nothing was touched yet.
    pub fn new() -> Shadow {
        Shadow::default()
    }

    /// How many accesses are remembered.
    pub fn len(&self) -> usize {
        self.remembered
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.remembered == 0
    }

    /// Compares an access with all before it that it conflicts with and that `clock`, which is what
    /// the accessing operation knows, does not cover; then remembers it. `describe` interns what the
    /// access is to a tenant; `conflict` gets the range in common, the tenant, and the two accesses,
    /// the earlier first.
    pub fn access(
        &mut self,
        range: Range,
        kind: AccessKind,
        (epoch, seq): (Epoch, Seq),
        clock: &Clock,
        mut describe: impl FnMut(&Tenant) -> OriginId,
        mut conflict: impl FnMut(Range, &Tenant, &Remembered, &Remembered),
    ) {
        self.on(range, |start, segment| {
            let origin = describe(&segment.tenant);
            let now = Remembered { epoch, kind, origin, life: segment.tenant.life, seq };
            let mut place = None;
            for (index, other) in segment.history.iter().enumerate() {
                if (kind.writes() || other.kind.writes()) && !clock.covers(other.epoch) {
                    conflict(Range { start, end: segment.end }, &segment.tenant, other, &now);
                }
                if other.life == now.life && other.same_class(&now) {
                    place = Some(index);
                }
            }
            match place {
                Some(index) => {
                    segment.history[index] = now;
                    0
                }
                None => {
                    segment.history.push(now);
                    1
                }
            }
        });
    }

    /// From here on the bytes belong to someone else, or have another name.
    pub fn tenant(&mut self, range: Range, mut change: impl FnMut(&mut Tenant)) {
        let mut delta = 0isize;
        self.on(range, |_, segment| {
            let mut tenant = segment.tenant;
            change(&mut tenant);
            let before = segment.history.len();
            segment.set_tenant(tenant);
            delta += segment.history.len() as isize - before as isize;
            0
        });
        self.remembered = self.remembered.saturating_add_signed(delta);
    }

    /// Forgets the accesses that `over` names: they are known to be done, by a way of their own.
    pub fn settle(&mut self, range: Range, mut over: impl FnMut(&Tenant, &Remembered) -> bool) {
        let mut settled = 0;
        self.on(range, |_, segment| {
            let (before, tenant) = (segment.history.len(), segment.tenant);
            segment.history.retain(|access| !over(&tenant, access));
            settled += before - segment.history.len();
            0
        });
        self.remembered -= settled;
    }

    /// Who has the bytes of a range now, one after the other.
    pub fn tenants(&self, range: Range) -> impl Iterator<Item = Tenant> {
        let before = self.segments.range(..range.start).next_back();
        let inside = self.segments.range(range.start..range.end.max(range.start));
        before
            .filter(move |(_, s)| s.end > range.start)
            .into_iter()
            .chain(inside)
            .map(|(_, s)| s.tenant)
    }

    /// Forgets the accesses that `floor` covers: nothing that can still come is unordered with them.
    /// `lives` is told which lives are still spoken of.
    pub fn prune(&mut self, floor: &Clock, mut lives: impl FnMut(LifeId)) {
        self.remembered = 0;
        let mut last: Option<(u64, Tenant, bool)> = None;
        let mut merged: Vec<u64> = Vec::new();
        let mut ends: Vec<(u64, u64)> = Vec::new();
        for (start, segment) in &mut self.segments {
            segment.history.retain(|access| !floor.covers(access.epoch));
            if segment.history.capacity() > 64 {
                segment.history.shrink_to(2 * segment.history.len());
            }
            self.remembered += segment.history.len();
            lives(segment.tenant.life);
            segment.history.iter().for_each(|access| lives(access.life));
            // Neighbours that nothing tells apart any more become one again.
            let quiet = segment.history.is_empty();
            match last {
                Some((end, tenant, true)) if quiet && end == *start && tenant == segment.tenant => {
                    merged.push(*start);
                    if let Some(grown) = ends.last_mut() {
                        grown.1 = segment.end;
                    }
                }
                _ => ends.push((*start, segment.end)),
            }
            last = Some((segment.end, segment.tenant, quiet));
        }
        for start in merged {
            self.segments.remove(&start);
        }
        for (start, end) in ends {
            if let Some(segment) = self.segments.get_mut(&start) {
                segment.end = end;
            }
        }
        self.segments.retain(|_, segment| {
            !segment.history.is_empty() || segment.tenant != Tenant::default()
        });
    }

    /// Runs over the segments that make up a range, making and cutting them as needed; `act` says by
    /// how many its history grew.
    fn on(&mut self, range: Range, mut act: impl FnMut(u64, &mut Segment) -> usize) {
        if range.is_empty() {
            return;
        }
        // Nearly always the range is one whole segment.
        if let Some(segment) = self.segments.get_mut(&range.start)
            && segment.end == range.end
        {
            self.remembered += act(range.start, segment);
            return;
        }
        self.cut(range.start);
        self.cut(range.end);
        let mut at = range.start;
        let mut gaps = Vec::new();
        for (start, segment) in self.segments.range_mut(range.start..range.end) {
            if at < *start {
                gaps.push(Range { start: at, end: *start });
            }
            self.remembered += act(*start, segment);
            at = segment.end;
        }
        if at < range.end {
            gaps.push(Range { start: at, end: range.end });
        }
        for gap in gaps {
            let mut segment =
                Segment { end: gap.end, tenant: Tenant::default(), history: Vec::new() };
            self.remembered += act(gap.start, &mut segment);
            self.segments.insert(gap.start, segment);
        }
    }

    /// Makes `at` a border.
    fn cut(&mut self, at: u64) {
        let Some((start, segment)) = self.segments.range_mut(..at).next_back() else { return };
        if segment.end <= at || *start == at {
            return;
        }
        let mut rest = segment.clone();
        segment.end = at;
        self.remembered += rest.history.len();
        rest.history.shrink_to_fit();
        self.segments.insert(at, rest);
    }
}
