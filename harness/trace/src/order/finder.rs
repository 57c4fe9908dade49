//! From conflicting accesses to races: who is who, each race once, and the story of reused memory.

use rustc_hash::FxHashMap;

use super::clock::{Clock, Epoch, Lane, LaneIndex};
use super::edges::Edges;
use super::report::{self, Missing, Race, Reuse, What};
use super::shadow::{BufferName, LifeId, OriginId, Remembered, Shadow, Tenant};
use crate::model::{AccessKind, Frame, NameId, Range, Seq, Stack, StackId, StreamId, ThreadId};
use crate::names::Names;

/// One access of an operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Act {
    pub range: Range,
    pub kind: AccessKind,
    pub deed: Deed,
    pub assumed: bool,
}

/// What it is done by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Deed {
    Kernel(NameId),
    Upload,
    Download,
    Copy,
    Memset,
    Alloc,
    Free,
    Host,
}

/// A call or mark.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    pub seq: Seq,
    pub thread: ThreadId,
    pub stack: Option<StackId>,
}

/// A line of the learner's; 0 is none. Stacks that end in the same line are one site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
struct Site(u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Origin {
    deed: Deed,
    site: Site,
    name: BufferName,
    assumed: bool,
    /// Whether it is on the stream that the block was handed out for.
    own: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LifeKind {
    /// From a caching allocator, for this stream.
    Block(StreamId),
    /// From the driver.
    Memory,
}

#[derive(Clone, Debug)]
struct Life {
    kind: LifeKind,
    name: BufferName,
    out: Point,
    uses: Vec<(StreamId, Point)>,
    back: Option<Point>,
}

#[derive(Clone, Copy, Debug)]
struct Party {
    seq: Seq,
    lane: Lane,
    kind: AccessKind,
    origin: Origin,
    /// The buffer's name, its life's if it had none of its own yet.
    name: BufferName,
}

#[derive(Debug)]
struct Found {
    example: Example,
    count: u64,
    /// The access that was counted last.
    last: Seq,
}

/// How much an occurrence of a race says about what is wrong, the least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Telling {
    /// The earlier access is of a former life of the memory, on the block's own stream. Whatever that stream
    /// did in the life that followed came after it, and mostly races, too.
    FormerOnOwn,
    /// Both are of one life.
    OneLife,
    /// The memory was handed out again while another stream than its own may still have used it.
    Reuse,
}

/// One occurrence of a race, told in its report: the first of those that say most.
#[derive(Debug)]
struct Example {
    telling: Telling,
    range: Range,
    base: u64,
    earlier: Party,
    later: Party,
    missing: Missing,
    reuse: Option<(Life, Life)>,
}

impl Found {
    /// A later access ran into it; once, in however many stretches of memory.
    fn meet(&mut self, seq: Seq) {
        if self.last != seq {
            self.count = self.count.saturating_add(1);
            self.last = seq;
        }
    }
}

/// Two races are the same when both lines agree; where lines are not known, when buffer, kind and
/// stream of both accesses do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Key {
    Lines(Site, Site),
    Named([(BufferName, AccessKind, Option<StreamId>); 2]),
}

/// The classes of two accesses, with their lives where those name the buffer.
type Pair = [(OriginId, LaneIndex, AccessKind, LifeId); 2];

#[derive(Debug, Default)]
pub(super) struct Finder {
    origins: FxHashMap<Origin, OriginId>,
    origin: Vec<Origin>,
    /// What was interned last: the next is often the same.
    last_origin: Option<(Origin, OriginId)>,
    sites: FxHashMap<(Option<String>, u32), Site>,
    site_frames: Vec<Frame>,
    stack_sites: FxHashMap<StackId, Site>,
    buffer_names: FxHashMap<String, BufferName>,
    buffer_name: Vec<String>,
    lives: FxHashMap<LifeId, Life>,
    last_life: u32,
    found: Vec<Found>,
    by_key: FxHashMap<Key, usize>,
    /// The same for pairs of accesses that were seen before: what `by_key` says, found faster. A
    /// lane's index may come to mean another, so it is emptied when that happens.
    by_pair: FxHashMap<Pair, usize>,
    /// Kept for its storage.
    conflicts: Vec<(Range, Tenant, Remembered, Remembered)>,
}

impl Finder {
    pub fn stack(&mut self, id: StackId, stack: &Stack) {
        let Some(frame) = stack.at() else { return };
        let key = (frame.file.clone(), frame.line);
        let next = Site(index(self.site_frames.len()).saturating_add(1));
        let site = *self.sites.entry(key).or_insert(next);
        if site == next {
            self.site_frames.push(frame.clone());
        }
        self.stack_sites.insert(id, site);
    }

    /// Compares an access with what is remembered, and remembers it.
    pub fn touch(
        &mut self,
        shadow: &mut Shadow,
        edges: &Edges,
        clock: &Clock,
        act: &Act,
        epoch: Epoch,
        point: Point,
    ) {
        let site = self.site(point.stack);
        let stream = edges.lane(epoch.lane).and_then(Lane::stream);
        let Finder { origins, origin, last_origin, conflicts, .. } = self;
        let describe = |tenant: &Tenant| {
            let this = Origin {
                deed: act.deed,
                site,
                name: tenant.name,
                assumed: act.assumed,
                own: tenant.own.is_some() && tenant.own == stream,
            };
            if let Some((last, id)) = last_origin
                && *last == this
            {
                return *id;
            }
            let next = OriginId(index(origin.len()));
            let id = *origins.entry(this).or_insert(next);
            if id == next {
                origin.push(this);
            }
            *last_origin = Some((this, id));
            id
        };
        let conflict = |range: Range, tenant: &Tenant, one: &Remembered, two: &Remembered| {
            conflicts.push((range, *tenant, *one, *two));
        };
        shadow.access(act.range, act.kind, (epoch, point.seq), clock, describe, conflict);
        if !self.conflicts.is_empty() {
            self.conflicting(edges, clock);
        }
    }

    fn conflicting(&mut self, edges: &Edges, clock: &Clock) {
        let mut conflicts = std::mem::take(&mut self.conflicts);
        for (range, tenant, earlier, later) in conflicts.drain(..) {
            let pair = [earlier, later].map(|access| {
                let origin = self.origin.get(access.origin.0 as usize);
                let named = origin.is_some_and(|origin| origin.name != BufferName(0));
                let life = if named { LifeId(0) } else { access.life };
                (access.origin, access.epoch.lane, access.kind, life)
            });
            let telling = self.telling(&earlier, &later);
            let known = self.by_pair.get(&pair).and_then(|index| self.found.get_mut(*index));
            if let Some(found) = known
                && found.example.telling >= telling
                && (found.last != later.seq || found.count > 1)
            {
                found.meet(later.seq);
                continue;
            }
            let partly = clock.get(earlier.epoch.lane) > 0;
            let (Some(earlier_party), Some(later_party)) =
                (self.party(edges, &earlier), self.party(edges, &later))
            else {
                continue;
            };
            let missing = match (earlier_party.lane, edges.known_to(earlier.epoch)) {
                (Lane::Stream(..), Some(thread)) => Missing::OtherThreadWaited(thread),
                _ => missing(earlier_party.lane, later_party.lane, partly),
            };
            let key = match (earlier_party.origin.site, later_party.origin.site) {
                (one, two) if one != Site(0) && two != Site(0) => Key::Lines(one, two),
                _ => Key::Named(
                    [earlier_party, later_party]
                        .map(|party| (party.name, party.kind, party.lane.stream())),
                ),
            };
            let reuse = (telling != Telling::OneLife)
                .then(|| self.lives.get(&earlier.life).zip(self.lives.get(&later.life)))
                .flatten()
                .map(|(former, now)| (former.clone(), now.clone()));
            let example = Example {
                telling,
                range,
                base: tenant.base,
                earlier: earlier_party,
                later: later_party,
                missing,
                reuse,
            };
            let index = *self.by_key.entry(key).or_insert(self.found.len());
            match self.found.get_mut(index) {
                Some(found) => {
                    // The same access in the next stretch of the same bytes.
                    let same = found.last == later.seq && found.count == 1;
                    if same && found.example.range.end == range.start {
                        found.example.range.end = range.end;
                    }
                    found.meet(later.seq);
                    // All of it at once: the lines may be those of another buffer too.
                    if found.example.telling < telling {
                        found.example = example;
                    }
                }
                None => self.found.push(Found { example, count: 1, last: later.seq }),
            }
            self.by_pair.insert(pair, index);
        }
        self.conflicts = conflicts;
    }

    fn telling(&self, earlier: &Remembered, later: &Remembered) -> Telling {
        // Nobody was seen to hand out memory of life 0.
        if earlier.life == later.life || [earlier.life, later.life].contains(&LifeId(0)) {
            return Telling::OneLife;
        }
        match self.origin.get(earlier.origin.0 as usize) {
            Some(Origin { own: true, .. }) => Telling::FormerOnOwn,
            _ => Telling::Reuse,
        }
    }

    fn party(&self, edges: &Edges, access: &Remembered) -> Option<Party> {
        let origin = *self.origin.get(access.origin.0 as usize)?;
        let name = match origin.name {
            BufferName(0) => self.lives.get(&access.life).map_or(BufferName(0), |life| life.name),
            name => name,
        };
        let lane = edges.lane(access.epoch.lane)?;
        Some(Party { seq: access.seq, lane, kind: access.kind, origin, name })
    }

    // Lives and names.

    /// The memory is handed out.
    pub fn begin_life(&mut self, shadow: &mut Shadow, range: Range, kind: LifeKind, out: Point) {
        self.last_life = self.last_life.saturating_add(1);
        let life = LifeId(self.last_life);
        let mut name = BufferName(0);
        let own = match kind {
            LifeKind::Block(stream) => Some(stream),
            LifeKind::Memory => None,
        };
        shadow.tenant(range, |tenant| {
            // The driver's memory may have been named just before the call that makes it; a block is
            // named after it was handed out.
            let kept = if kind == LifeKind::Memory { tenant.name } else { BufferName(0) };
            if tenant.base == range.start {
                name = kept;
            }
            *tenant = Tenant { life, name: kept, base: range.start, own };
        });
        self.lives.insert(life, Life { kind, name, out, uses: Vec::new(), back: None });
    }

    /// A block is handed out again: what the streams recorded on it did to it before it was handed back
    /// is over.
    pub fn settle(&mut self, shadow: &mut Shadow, edges: &Edges, range: Range) {
        let lives = &self.lives;
        shadow.settle(range, |tenant, access| {
            let Some(life) = lives.get(&tenant.life) else { return false };
            let stream = edges.lane(access.epoch.lane).and_then(Lane::stream);
            matches!(life.kind, LifeKind::Block(_))
                && access.life == tenant.life
                && life.back.is_some_and(|back| access.seq < back.seq)
                && life.uses.iter().any(|(on, _)| Some(*on) == stream)
        });
    }

    /// The driver takes the memory back.
    pub fn end_life(&mut self, shadow: &mut Shadow, range: Range, back: Point) {
        self.block_back(shadow, range, back);
        shadow.tenant(range, |tenant| *tenant = Tenant::default());
    }

    /// A caching allocator takes it back.
    pub fn block_back(&mut self, shadow: &mut Shadow, range: Range, back: Point) {
        for tenant in shadow.tenants(range) {
            if let Some(life) = self.lives.get_mut(&tenant.life) {
                life.back.get_or_insert(back);
            }
        }
    }

    pub fn block_use(&mut self, shadow: &mut Shadow, range: Range, stream: StreamId, point: Point) {
        for tenant in shadow.tenants(range) {
            let Some(life) = self.lives.get_mut(&tenant.life) else { continue };
            match life.uses.iter_mut().find(|(on, _)| *on == stream) {
                Some(known) => known.1 = point,
                None => life.uses.push((stream, point)),
            }
        }
    }

    pub fn name(&mut self, shadow: &mut Shadow, range: Range, name: &str) {
        let id = match self.buffer_names.get(name) {
            Some(id) => *id,
            None => {
                self.buffer_name.push(name.into());
                let id = BufferName(index(self.buffer_name.len()));
                self.buffer_names.insert(name.into(), id);
                id
            }
        };
        let lives = &mut self.lives;
        shadow.tenant(range, |tenant| {
            tenant.name = id;
            tenant.base = range.start;
            if let Some(life) = lives.get_mut(&tenant.life)
                && life.name == BufferName(0)
            {
                life.name = id;
            }
        });
    }

    /// Forgets the lives that nothing speaks of any more.
    pub fn keep_lives(&mut self, live: impl Fn(LifeId) -> bool) {
        self.by_pair.clear();
        self.lives.retain(|life, _| live(*life));
    }

    // Reports.

    pub fn races(&self, names: &Names) -> Vec<Race> {
        self.found.iter().map(|found| self.race(&found.example, found.count, names)).collect()
    }

    fn race(&self, found: &Example, count: u64, names: &Names) -> Race {
        let earlier = self.access(&found.earlier, names);
        let later = self.access(&found.later, names);
        // Of memory that nobody was seen to hand out, the start is not known.
        let base = match found.base {
            0 => found.range.start,
            base => base.min(found.range.start),
        };
        let reuse = found.reuse.as_ref().map(|(former, now)| Reuse {
            block: matches!(former.kind, LifeKind::Block(_)),
            own: found.telling == Telling::FormerOnOwn,
            former: self.buffer(former.name),
            out: self.point(&former.out),
            uses: former
                .uses
                .iter()
                .map(|(stream, point)| (names.stream(*stream), self.point(point)))
                .collect(),
            back: former.back.as_ref().map(|back| self.point(back)),
            again: self.point(&now.out),
            now: self.buffer(now.name),
        });
        Race {
            buffer: later.buffer.clone().or_else(|| earlier.buffer.clone()),
            range: found.range,
            bytes: Range { start: found.range.start - base, end: found.range.end - base },
            earlier,
            later,
            count,
            missing: found.missing,
            reuse,
        }
    }

    fn access(&self, party: &Party, names: &Names) -> report::Access {
        let what = match party.origin.deed {
            Deed::Kernel(kernel) => What::Kernel(names.text(kernel).into()),
            Deed::Upload => What::Upload,
            Deed::Download => What::Download,
            Deed::Copy => What::Copy,
            Deed::Memset => What::Memset,
            Deed::Alloc => What::Alloc,
            Deed::Free => What::Free,
            Deed::Host => What::Host,
        };
        let actor = match party.lane {
            Lane::Stream(stream, _) => names.stream(stream),
            Lane::Host(_) => "the host".into(),
        };
        report::Access {
            seq: party.seq,
            lane: party.lane,
            kind: party.kind,
            what,
            assumed: party.origin.assumed,
            at: self.frame(party.origin.site),
            buffer: self.buffer(party.name),
            actor,
        }
    }

    fn point(&self, point: &Point) -> report::Point {
        report::Point { seq: point.seq, at: self.frame(self.site(point.stack)) }
    }

    fn site(&self, stack: Option<StackId>) -> Site {
        stack.and_then(|stack| self.stack_sites.get(&stack)).copied().unwrap_or_default()
    }

    fn frame(&self, site: Site) -> Option<Frame> {
        self.site_frames.get((site.0 as usize).checked_sub(1)?).cloned()
    }

    fn buffer(&self, name: BufferName) -> Option<String> {
        self.buffer_name.get((name.0 as usize).checked_sub(1)?).cloned()
    }
}

fn missing(earlier: Lane, later: Lane, partly: bool) -> Missing {
    match (earlier, later) {
        (Lane::Stream(one, _), Lane::Stream(two, _)) if one == two => Missing::OverlappingCalls,
        (Lane::Stream(..), Lane::Stream(..)) if partly => Missing::LaterStreamWait,
        (Lane::Stream(..), Lane::Stream(..)) => Missing::StreamWait,
        (Lane::Stream(..), Lane::Host(_)) if partly => Missing::LaterHostWait,
        (Lane::Stream(..), Lane::Host(_)) => Missing::HostWait,
        (Lane::Host(_), _) => Missing::Threads,
    }
}

fn index(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
