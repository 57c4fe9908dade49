//! The matrix product on the host, for twins that have to keep up with a device: matrixmultiply
//! behind a safe function, the one place of this crate with `unsafe`.

/// A row-major matrix, or one that is stored as its transpose.
#[derive(Clone, Copy)]
pub(crate) struct Matrix<'a> {
    data: &'a [f32],
    rows: usize,
    cols: usize,
    row_stride: usize,
    col_stride: usize,
}

impl<'a> Matrix<'a> {
    /// `rows` x `cols`, stored row after row.
    pub(crate) fn new(data: &'a [f32], rows: usize, cols: usize) -> Self {
        Matrix { data, rows, cols, row_stride: cols, col_stride: 1 }
    }

    /// `rows` x `cols`, stored column after column.
    pub(crate) fn transposed(data: &'a [f32], rows: usize, cols: usize) -> Self {
        Matrix { data, rows, cols, row_stride: 1, col_stride: rows }
    }
}

/// `c = a b`, row-major.
///
/// # Panics
///
/// Panics where `a` and `b` do not fit together, or where a slice is not as long as its matrix.
pub(crate) fn product(c: &mut [f32], a: Matrix, b: Matrix) {
    let (m, n, k) = (a.rows, b.cols, a.cols);
    assert_eq!(a.cols, b.rows, "columns of a and rows of b");
    assert_eq!(Some(c.len()), m.checked_mul(n), "elements of c");
    assert_eq!(Some(a.data.len()), m.checked_mul(k), "elements of a");
    assert_eq!(Some(b.data.len()), k.checked_mul(n), "elements of b");
    // No stride of a matrix with elements exceeds its length; one without is not looked at.
    if c.is_empty() || k == 0 {
        c.fill(0.0);
        return;
    }
    // SAFETY: the slices hold m x n, m x k and k x n elements, and the strides are those of a dense
    // matrix of that size, so every element that matrixmultiply touches is inside of its slice; all
    // strides fit an isize, as no slice is longer. c is borrowed mutably, so it overlaps no input.
    #[expect(unsafe_code, reason = "matrixmultiply takes pointers and strides")]
    unsafe {
        matrixmultiply::sgemm(
            m,
            k,
            n,
            1.0,
            a.data.as_ptr(),
            a.row_stride as isize,
            a.col_stride as isize,
            b.data.as_ptr(),
            b.row_stride as isize,
            b.col_stride as isize,
            0.0,
            c.as_mut_ptr(),
            n as isize,
            1,
        );
    }
}
