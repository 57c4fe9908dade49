// Kernels that make few numbers of many. The same input gives the same bits on every run, grid and
// block, and on the host: the order of the additions is fixed.
//
// Those with a single result are done by block 0; the other blocks return at once.

#include "common.cuh"

// Partial sums, whatever the number of threads: each thread takes every blockDim.x-th of them.
constexpr unsigned LANES = 1024;

// The sum of term(0) to term(n - 1), for thread 0. Lane l adds up terms l, l + LANES, ...; then
// the lanes are added pairwise, each to the one half of the remaining lanes further on.
template <typename Term>
static __device__ float block_sum(unsigned n, Term term) {
    __shared__ float lanes[LANES];
    for (unsigned lane = threadIdx.x; lane < LANES; lane += blockDim.x) {
        float sum = 0.0f;
        for (size_t i = lane; i < n; i += LANES) sum += term(i);
        lanes[lane] = sum;
    }
    for (unsigned half = LANES / 2; half > 0; half /= 2) {
        __syncthreads();
        for (unsigned lane = threadIdx.x; lane < half; lane += blockDim.x) {
            lanes[lane] += lanes[lane + half];
        }
    }
    return lanes[0];
}

// out[0] = the sum of x; 0 of nothing.
extern "C" __global__ void sum(float* out, const float* x, unsigned n) {
    if (blockIdx.x != 0) return;
    float total = block_sum(n, [=](size_t i) { return x[i]; });
    if (threadIdx.x == 0) out[0] = total;
}

// out[0] = the mean of x; NaN of nothing.
extern "C" __global__ void mean(float* out, const float* x, unsigned n) {
    if (blockIdx.x != 0) return;
    float total = block_sum(n, [=](size_t i) { return x[i]; });
    if (threadIdx.x == 0) out[0] = total / (float)n;
}

// loss[0] = the mean of (y[i] - target[i])^2; NaN of nothing.
extern "C" __global__ void mse(float* loss, const float* y, const float* target, unsigned n) {
    if (blockIdx.x != 0) return;
    float total = block_sum(n, [=](size_t i) {
        float difference = y[i] - target[i];
        return difference * difference;
    });
    if (threadIdx.x == 0) loss[0] = total / (float)n;
}

// out[c] = the sum of column c of x[rows][cols], from the first row to the last: the gradient of
// `bias_add` for its bias.
extern "C" __global__ void column_sum(float* out, const float* x, unsigned rows, unsigned cols) {
    for (size_t c = first(); c < cols; c += stride()) {
        float sum = 0.0f;
        for (size_t r = 0; r < rows; r++) sum += x[r * cols + c];
        out[c] = sum;
    }
}
