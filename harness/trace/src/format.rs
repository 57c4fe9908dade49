//! The trace file.
//!
//! ```text
//! magic      8 bytes   "STRMLING"
//! version    u32       FORMAT_VERSION, raised with every change of the encoding
//! header     frame     a Header
//! items      frame*    one Item each
//! end        u32 0     an empty frame: the writer closed the trace
//! ```
//!
//! A frame is its length in bytes (u32) and that many bytes of [postcard]. All integers outside of
//! postcard are little-endian. Frames make a cut file readable up to the cut, which is how the trace
//! of a program that crashed is judged.

use std::io::{self, ErrorKind, Read, Write};

use crate::model::{Header, Item, Trace};

/// The first eight bytes of every trace.
pub const MAGIC: [u8; 8] = *b"STRMLING";

/// The version of the encoding that this crate writes, and the only one that it reads.
///
/// Raise it with every change of [`crate::model`] or of this module: a snapshot test fails if the
/// bytes change and the version does not.
pub const FORMAT_VERSION: u32 = 2;

/// The longest frame that is believed, in bytes. A longer one is a damaged length, and is not
/// allocated.
const FRAME_LIMIT: u32 = 1 << 28;

/// Why a trace could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file does not begin like a trace.
    #[error(
        "not a streamlings trace (it does not begin with `STRMLING`); give the file that the run wrote"
    )]
    NotATrace,
    /// Another version wrote it.
    #[error(
        "the trace has format version {found}, and this program reads version {FORMAT_VERSION}; {}",
        if *found > FORMAT_VERSION { "update and rebuild streamlings" } else { "record the run again" }
    )]
    Version {
        /// The version in the file.
        found: u32,
    },
    /// The file ends within its header.
    #[error("the trace is cut off in its header; record the run again")]
    CutOffInHeader,
    /// The file ends within an item.
    #[error(
        "the trace is cut off in the middle of item {item}: the program was killed while it wrote, \
         or the disk is full; the {item} items before it are good"
    )]
    CutOff {
        /// How many whole items come before.
        item: u64,
    },
    /// The file ends between two items, without the end mark.
    #[error(
        "the trace ends after item {items} without its end mark: the program ended without closing \
         it (a crash, or a kill); the items before are good"
    )]
    NotClosed {
        /// How many items there are.
        items: u64,
    },
    /// The header does not decode.
    #[error("the header of the trace is damaged ({reason}); record the run again")]
    DamagedHeader {
        /// What the decoder said.
        reason: String,
    },
    /// An item does not decode.
    #[error("item {item} of the trace is damaged ({reason}); record the run again")]
    Damaged {
        /// How many whole items come before.
        item: u64,
        /// What the decoder said.
        reason: String,
    },
    /// Reading failed.
    #[error("the trace could not be read: {0}")]
    Io(#[from] io::Error),
}

impl ReadError {
    /// Whether the items that were read before this error are a true prefix of the record, so that
    /// they can be judged as such: the file was cut or not closed.
    pub fn is_cut(&self) -> bool {
        matches!(self, ReadError::CutOff { .. } | ReadError::NotClosed { .. })
    }
}

/// Why a trace could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// An item is too large for a frame.
    #[error("an item of the trace takes {bytes} bytes, more than a frame can hold")]
    TooLong {
        /// Its encoded length.
        bytes: usize,
    },
    /// The encoder failed.
    #[error("an item of the trace could not be encoded: {0}")]
    Encode(#[from] postcard::Error),
    /// Writing failed.
    #[error("the trace could not be written: {0}")]
    Io(#[from] io::Error),
}

/// Writes a trace, item by item. Give it a buffered writer.
#[derive(Debug)]
pub struct Writer<W: Write> {
    out: W,
    frame: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Begins a trace: writes magic, version and header.
    ///
    /// # Errors
    /// If writing fails.
    pub fn new(mut out: W, header: &Header) -> Result<Writer<W>, WriteError> {
        out.write_all(&MAGIC)?;
        out.write_all(&FORMAT_VERSION.to_le_bytes())?;
        let mut writer = Writer { out, frame: Vec::new() };
        writer.frame(header)?;
        Ok(writer)
    }

    /// Appends an item.
    ///
    /// # Errors
    /// If writing fails, or the item does not fit a frame.
    pub fn write(&mut self, item: &Item) -> Result<(), WriteError> {
        self.frame(item)
    }

    /// Writes through to the file, so that a crash after this point loses nothing before it.
    ///
    /// # Errors
    /// If writing fails.
    pub fn flush(&mut self) -> Result<(), WriteError> {
        Ok(self.out.flush()?)
    }

    /// Writes the end mark, flushes, and gives the writer back.
    ///
    /// # Errors
    /// If writing fails.
    pub fn finish(mut self) -> Result<W, WriteError> {
        self.out.write_all(&0u32.to_le_bytes())?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn frame<T: serde::Serialize>(&mut self, value: &T) -> Result<(), WriteError> {
        self.frame.clear();
        postcard::to_io(value, &mut self.frame)?;
        let bytes = self.frame.len();
        let length = u32::try_from(bytes).ok().filter(|length| *length <= FRAME_LIMIT);
        let length = length.ok_or(WriteError::TooLong { bytes })?;
        self.out.write_all(&length.to_le_bytes())?;
        self.out.write_all(&self.frame)?;
        Ok(())
    }
}

/// Reads a trace, item by item. Give it a buffered reader.
///
/// After an error the iterator ends.
#[derive(Debug)]
pub struct Reader<R: Read> {
    input: R,
    header: Header,
    frame: Vec<u8>,
    items: u64,
    ended: bool,
}

impl<R: Read> Reader<R> {
    /// Opens a trace: reads magic, version and header.
    ///
    /// # Errors
    /// If this is no trace, one of another version, or its header is cut or damaged.
    pub fn new(mut input: R) -> Result<Reader<R>, ReadError> {
        let mut magic = [0; 8];
        match fill(&mut input, &mut magic)? {
            Filled::Whole if magic == MAGIC => {}
            _ => return Err(ReadError::NotATrace),
        }
        let found = match length(&mut input)? {
            Some(found) => found,
            None => return Err(ReadError::CutOffInHeader),
        };
        if found != FORMAT_VERSION {
            return Err(ReadError::Version { found });
        }
        let mut frame = Vec::new();
        match length(&mut input)? {
            Some(bytes) if bytes > FRAME_LIMIT => {
                return Err(ReadError::DamagedHeader { reason: too_long(bytes) });
            }
            Some(bytes) if read_frame(&mut input, &mut frame, bytes)? => {}
            _ => return Err(ReadError::CutOffInHeader),
        }
        let header = decode(&frame).map_err(|reason| ReadError::DamagedHeader { reason })?;
        Ok(Reader { input, header, frame, items: 0, ended: false })
    }

    /// What is known about the trace before its first item.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Reads all the items into memory.
    ///
    /// # Errors
    /// The first that an item gives.
    pub fn into_trace(mut self) -> Result<Trace, ReadError> {
        let items = self.by_ref().collect::<Result<Vec<Item>, ReadError>>()?;
        Ok(Trace { header: self.header, items })
    }

    /// Reads as many items as there are into memory, with the error that ended them if one did: how
    /// the trace of a program that crashed is read.
    pub fn into_prefix(mut self) -> (Trace, Option<ReadError>) {
        let mut trace = Trace::new(self.header.clone());
        for item in self.by_ref() {
            match item {
                Ok(item) => trace.items.push(item),
                Err(error) => return (trace, Some(error)),
            }
        }
        (trace, None)
    }

    fn item(&mut self) -> Result<Option<Item>, ReadError> {
        let item = self.items;
        let mut prefix = [0; 4];
        let bytes = match fill(&mut self.input, &mut prefix)? {
            Filled::Whole => u32::from_le_bytes(prefix),
            Filled::Part => return Err(ReadError::CutOff { item }),
            Filled::Nothing => return Err(ReadError::NotClosed { items: item }),
        };
        if bytes == 0 {
            return Ok(None);
        }
        if bytes > FRAME_LIMIT {
            return Err(ReadError::Damaged { item, reason: too_long(bytes) });
        }
        if !read_frame(&mut self.input, &mut self.frame, bytes)? {
            return Err(ReadError::CutOff { item });
        }
        let decoded = decode(&self.frame).map_err(|reason| ReadError::Damaged { item, reason })?;
        self.items += 1;
        Ok(Some(decoded))
    }
}

impl<R: Read> Iterator for Reader<R> {
    type Item = Result<Item, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let next = self.item().transpose();
        self.ended = !matches!(next, Some(Ok(_)));
        next
    }
}

fn too_long(bytes: u32) -> String {
    format!("a length of {bytes} bytes")
}

fn decode<T: serde::de::DeserializeOwned>(frame: &[u8]) -> Result<T, String> {
    match postcard::take_from_bytes(frame) {
        Ok((value, [])) => Ok(value),
        Ok((_, rest)) => Err(format!("{} bytes too many", rest.len())),
        Err(error) => Err(error.to_string()),
    }
}

enum Filled {
    Whole,
    Part,
    Nothing,
}

fn fill(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<Filled> {
    let mut filled = 0;
    while filled < buffer.len() {
        match input.read(&mut buffer[filled..]) {
            Ok(0) if filled == 0 => return Ok(Filled::Nothing),
            Ok(0) => return Ok(Filled::Part),
            Ok(read) => filled += read,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Filled::Whole)
}

fn length(input: &mut impl Read) -> io::Result<Option<u32>> {
    let mut bytes = [0; 4];
    Ok(matches!(fill(input, &mut bytes)?, Filled::Whole).then(|| u32::from_le_bytes(bytes)))
}

/// Whether the whole frame was there. Grows with what is read, so a damaged length costs nothing.
fn read_frame(input: &mut impl Read, frame: &mut Vec<u8>, bytes: u32) -> io::Result<bool> {
    frame.clear();
    let read = input.by_ref().take(u64::from(bytes)).read_to_end(frame)?;
    Ok(read == bytes as usize)
}

#[cfg(test)]
mod tests;
