// Kernels that compare and choose. A mask is a float per element: 0 where false, anything else
// where true. An index is an `unsigned`, in a buffer of as many 4-byte elements.

#include "common.cuh"

constexpr unsigned MAX_THREADS = 1024;

// mask[i] = 1 where x[i] > threshold, else 0.
extern "C" __global__ void greater(float* mask, const float* x, float threshold, unsigned n) {
    for (size_t i = first(); i < n; i += stride()) mask[i] = x[i] > threshold ? 1.0f : 0.0f;
}

// out[i] = a[i] where mask[i] is true, else b[i].
extern "C" __global__ void where(float* out, const float* mask, const float* a, const float* b,
                                 unsigned n) {
    for (size_t i = first(); i < n; i += stride()) out[i] = mask[i] != 0.0f ? a[i] : b[i];
}

// out[i] = x[index[i]], or 0 where index[i] is no element of x[len].
extern "C" __global__ void gather(float* out, const float* x, const unsigned* index, unsigned n,
                                  unsigned len) {
    for (size_t i = first(); i < n; i += stride()) out[i] = index[i] < len ? x[index[i]] : 0.0f;
}

// index[0 .. count[0]] = the places where mask[0 .. n] is true, ascending; the rest of
// index[0 .. n] is n, which is no place. Block 0 does it: each thread looks at a run of neighbours.
extern "C" __global__ void nonzero(unsigned* index, unsigned* count, const float* mask,
                                   unsigned n) {
    if (blockIdx.x != 0) return;
    __shared__ unsigned before[MAX_THREADS + 1];  // true elements in the runs of earlier threads
    size_t run = ((size_t)n + blockDim.x - 1) / blockDim.x;
    size_t begin = run * threadIdx.x;
    size_t end = begin + run < n ? begin + run : n;

    unsigned found = 0;
    for (size_t i = begin; i < end; i++) found += mask[i] != 0.0f;
    before[threadIdx.x + 1] = found;
    __syncthreads();
    if (threadIdx.x == 0) {
        before[0] = 0;
        for (unsigned t = 0; t < blockDim.x; t++) before[t + 1] += before[t];
        count[0] = before[blockDim.x];
    }
    __syncthreads();

    unsigned next = before[threadIdx.x];
    for (size_t i = begin; i < end; i++) {
        if (mask[i] != 0.0f) index[next++] = (unsigned)i;
    }
    for (size_t i = before[blockDim.x] + (size_t)threadIdx.x; i < n; i += blockDim.x) index[i] = n;
}

// count[0] = how many elements of the mask are true. Block 0 does it.
extern "C" __global__ void count(unsigned* count, const float* mask, unsigned n) {
    if (blockIdx.x != 0) return;
    __shared__ unsigned total;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    unsigned found = 0;
    for (size_t i = threadIdx.x; i < n; i += blockDim.x) found += mask[i] != 0.0f;
    atomicAdd(&total, found);
    __syncthreads();
    if (threadIdx.x == 0) count[0] = total;
}
