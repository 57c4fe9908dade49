//! Printing a tensor as PyTorch does, which needs its values.

use std::fmt;

use crate::tensor::Tensor;

/// From so many elements on, only the ends of each dimension are printed.
const MOST: usize = 1000;
/// How many at each end.
const EDGE: usize = 3;

/// Prints the values, which holds the host until they are there. A tensor of more than 1000 elements
/// is printed by the first and last 3 of each dimension.
impl fmt::Display for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.to_host() {
            Ok(host) => {
                write!(f, "tensor(")?;
                dimension(f, &host, self.shape(), self.numel() > MOST, 1)?;
                write!(f, ")")
            }
            Err(error) => write!(f, "tensor(<{error}>)"),
        }
    }
}

fn dimension(
    f: &mut fmt::Formatter<'_>,
    values: &[f32],
    shape: &[usize],
    short: bool,
    depth: usize,
) -> fmt::Result {
    let Some((&length, inner)) = shape.split_first() else {
        return match values.first() {
            Some(value) => write!(f, "{value:.4}"),
            None => Ok(()),
        };
    };
    let size: usize = inner.iter().product();
    write!(f, "[")?;
    let mut first = true;
    for index in 0..length {
        let middle = short && length > 2 * EDGE && index >= EDGE && index < length - EDGE;
        if middle && index > EDGE {
            continue;
        }
        if !first {
            write!(f, ",")?;
            match inner.is_empty() {
                true => write!(f, " ")?,
                false => write!(f, "\n{:width$}", "", width = "tensor(".len() + depth)?,
            }
        }
        first = false;
        if middle {
            write!(f, "...")?;
        } else {
            let values = values.get(index * size..(index + 1) * size).unwrap_or_default();
            dimension(f, values, inner, short, depth + 1)?;
        }
    }
    write!(f, "]")
}
