// What the kernels share. A kernel works through its elements in a grid-stride loop, so that its
// result does not depend on the grid: `for (size_t i = first(); i < n; i += stride())`. Grids and
// blocks have one dimension, x.
//
// Compiled without contraction (ptx.py says so): a product and a sum are rounded one by one, as
// the host twins round them. `fmaf` stands where one rounding is wanted.

#pragma once

// This thread's first element.
static __device__ inline size_t first() {
    return (size_t)blockIdx.x * blockDim.x + threadIdx.x;
}

// From one element of a thread to its next: the number of threads in the grid.
static __device__ inline size_t stride() {
    return (size_t)gridDim.x * blockDim.x;
}
