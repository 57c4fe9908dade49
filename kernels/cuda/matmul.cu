// Matrix products, row-major fp32, and the transpose.
//
// A block of 256 threads makes a tile of c, TILE_M x TILE_N, and walks along k in slabs of SLAB:
// while it multiplies one slab out of shared memory, the next is on its way from global memory in
// registers, and goes to the other half of the shared memory. A thread makes 8 x 8 elements, as
// 2 x 2 patches of 4 x 4, so that all of its reads from shared memory are 16 bytes wide and those
// of a warp's threads lie side by side.
//
// Any grid gives the same result. A block must have at most 256 threads; with fewer, each thread
// makes one element after another, slowly.

#include "common.cuh"

constexpr unsigned THREADS = 256;
constexpr unsigned TILE_M = 128;
constexpr unsigned TILE_N = 128;
constexpr unsigned SLAB = 8;
// A row of a slab in shared memory; the four floats of padding keep the transposing stores of a
// warp in different banks.
constexpr unsigned ROW = 128 + 4;

// An operand: element (i, k), where i counts rows of c for the left one and columns of c for the
// right one, is data[i * ld + k] if `K_INNER`, else data[k * ld + i].
template <bool K_INNER>
struct Operand {
    const float* data;
    unsigned ld;     // the length of a row in memory
    unsigned count;  // of i
    unsigned depth;  // of k

    __device__ float at(size_t i, size_t k) const {
        return K_INNER ? data[i * ld + k] : data[k * ld + i];
    }

    // Whether every 16-byte read at a multiple of four elements is aligned.
    __device__ bool aligned() const { return ((size_t)data % 16 == 0) & (ld % 4 == 0); }

    // Each thread's four neighbouring elements of the slab: (i, k) relative to the tile.
    static __device__ unsigned my_i() {
        return K_INNER ? threadIdx.x / 2 : threadIdx.x % 32 * 4;
    }
    static __device__ unsigned my_k() {
        return K_INNER ? threadIdx.x % 2 * 4 : threadIdx.x / 32;
    }

    // Fetches them for the tile that begins at i0 and the slab that begins at k0; with `EDGE`,
    // elements outside of the matrix are 0 and the address needs no alignment.
    template <bool EDGE>
    __device__ float4 fetch(size_t i0, size_t k0) const {
        size_t i = i0 + my_i(), k = k0 + my_k();
        if (!EDGE) {
            return *(const float4*)(data + (K_INNER ? i * ld + k : k * ld + i));
        } else {
            float four[4];
#pragma unroll
            for (unsigned e = 0; e < 4; e++) {
                size_t ie = K_INNER ? i : i + e, ke = K_INNER ? k + e : k;
                four[e] = (ie < count) & (ke < depth) ? at(ie, ke) : 0.0f;
            }
            return make_float4(four[0], four[1], four[2], four[3]);
        }
    }

    // Stores them to shared memory, where i is always the inner index.
    static __device__ void store(float (*slab)[ROW], float4 four) {
        unsigned i = my_i(), k = my_k();
        if (K_INNER) {
            slab[k][i] = four.x;
            slab[k + 1][i] = four.y;
            slab[k + 2][i] = four.z;
            slab[k + 3][i] = four.w;
        } else {
            *(float4*)&slab[k][i] = four;
        }
    }
};

struct Shared {
    float a[2][SLAB][ROW];
    float b[2][SLAB][ROW];
};

// Eight elements of a slab's row: four from `at`, four from `at + apart`.
static __device__ inline void read8(float (&to)[8], const float* at, unsigned apart) {
    *(float4*)&to[0] = *(const float4*)at;
    *(float4*)&to[4] = *(const float4*)(at + apart);
}

// The tile of c that begins at (m0, n0).
template <bool EDGE, typename A, typename B>
static __device__ void tile(Shared& shared, float* c, A a, B b, size_t m0, size_t n0) {
    // 4 x 2 warps, each 32 x 64 elements of c, made by 4 x 8 threads.
    unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    unsigned m = warp / 2 * 32 + lane / 8 * 4;  // and m + 16
    unsigned n = warp % 2 * 64 + lane % 8 * 4;  // and n + 32

    float sums[8][8] = {};
    A::store(shared.a[0], a.template fetch<EDGE>(m0, 0));
    B::store(shared.b[0], b.template fetch<EDGE>(n0, 0));
    __syncthreads();

    unsigned half = 0;
    for (size_t k0 = 0; k0 < a.depth; k0 += SLAB) {
        bool more = k0 + SLAB < a.depth;
        float4 next_a, next_b;
        if (more) {
            next_a = a.template fetch<EDGE>(m0, k0 + SLAB);
            next_b = b.template fetch<EDGE>(n0, k0 + SLAB);
        }
#pragma unroll
        for (unsigned k = 0; k < SLAB; k++) {
            float left[8], right[8];
            read8(left, &shared.a[half][k][m], 16);
            read8(right, &shared.b[half][k][n], 32);
#pragma unroll
            for (unsigned i = 0; i < 8; i++) {
#pragma unroll
                for (unsigned j = 0; j < 8; j++) sums[i][j] = fmaf(left[i], right[j], sums[i][j]);
            }
        }
        if (more) {
            half ^= 1;
            A::store(shared.a[half], next_a);
            B::store(shared.b[half], next_b);
            __syncthreads();
        }
    }

#pragma unroll
    for (unsigned i = 0; i < 8; i++) {
        size_t row = m0 + m + (i / 4 * 16 + i % 4);
#pragma unroll
        for (unsigned j = 0; j < 8; j += 4) {
            size_t column = n0 + n + j * 8;
            float* to = c + row * b.count + column;
            if (!EDGE) {
                *(float4*)to = *(float4*)&sums[i][j];
            } else if (row < a.count) {
#pragma unroll
                for (unsigned e = 0; e < 4; e++) {
                    if (column + e < b.count) to[e] = sums[i][j + e];
                }
            }
        }
    }
}

// c = a b, tile after tile.
template <typename A, typename B>
static __device__ void product(float* c, A a, B b) {
    __shared__ Shared shared;
    if (blockDim.x != THREADS) {
        size_t elements = (size_t)a.count * b.count;
        for (size_t i = first(); i < elements; i += stride()) {
            float sum = 0.0f;
            for (size_t k = 0; k < a.depth; k++) {
                sum = fmaf(a.at(i / b.count, k), b.at(i % b.count, k), sum);
            }
            c[i] = sum;
        }
        return;
    }
    bool wide = a.aligned() & b.aligned() & ((size_t)c % 16 == 0) & (b.count % 4 == 0)
                & (a.depth % SLAB == 0) & (a.depth > 0);
    size_t across = ((size_t)b.count + TILE_N - 1) / TILE_N;
    size_t tiles = ((size_t)a.count + TILE_M - 1) / TILE_M * across;
    for (size_t t = blockIdx.x; t < tiles; t += gridDim.x) {
        size_t m0 = t / across * TILE_M, n0 = t % across * TILE_N;
        if (wide & (m0 + TILE_M <= a.count) & (n0 + TILE_N <= b.count)) {
            tile<false>(shared, c, a, b, m0, n0);
        } else {
            tile<true>(shared, c, a, b, m0, n0);
        }
        __syncthreads();
    }
}

// c[m][n] = a[m][k] b[k][n]
extern "C" __global__ void __launch_bounds__(THREADS, 2)
matmul(float* c, const float* a, const float* b, unsigned m, unsigned n, unsigned k) {
    product(c, Operand<true>{a, k, m, k}, Operand<false>{b, n, n, k});
}

// c[m][n] = aT b, where a is a[k][m] and b is b[k][n].
extern "C" __global__ void __launch_bounds__(THREADS, 2)
matmul_tn(float* c, const float* a, const float* b, unsigned m, unsigned n, unsigned k) {
    product(c, Operand<false>{a, m, m, k}, Operand<false>{b, n, n, k});
}

// c[m][n] = a bT, where a is a[m][k] and b is b[n][k].
extern "C" __global__ void __launch_bounds__(THREADS, 2)
matmul_nt(float* c, const float* a, const float* b, unsigned m, unsigned n, unsigned k) {
    product(c, Operand<true>{a, k, m, k}, Operand<true>{b, k, n, k});
}

// out[c][r] = x[rows][cols] at [r][c]
extern "C" __global__ void transpose(float* out, const float* x, unsigned rows, unsigned cols) {
    size_t n = (size_t)rows * cols;
    for (size_t i = first(); i < n; i += stride()) out[i] = x[i % rows * cols + i / rows];
}
