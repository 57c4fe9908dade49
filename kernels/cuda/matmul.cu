// Matrix products, row-major fp32, and the transpose.
//
// A block makes a tile of c and walks along k in slabs: while it multiplies one slab out of shared
// memory, the next is on its way from global memory to registers, and then goes to the other half
// of the shared memory. A thread makes patches of 4 x 4 elements, so that all of its reads from
// shared memory are 16 bytes wide, and those of neighbouring threads are neighbours.
//
// Large products are made of large tiles, with the most arithmetic per read; what these do not
// fill, and small products, are made of small tiles, which check every address.
//
// Any grid gives the same result. A block has at most THREADS threads; with fewer, each thread
// makes one element after another, slowly.

#include "common.cuh"

constexpr unsigned THREADS = 128;

// The threads of a warp and the warps of a block, along m and n.
constexpr unsigned LANES_M = 8, LANES_N = 4;
constexpr unsigned WARPS_M = 2, WARPS_N = 2;

// What a block makes at a time: PATCHES_M x PATCHES_N patches a thread, from slabs of SLAB. Only if
// it is `GUARDED` may it reach out of the matrices, and be of any alignment.
template <unsigned PATCHES_M_, unsigned PATCHES_N_, unsigned SLAB_, bool GUARDED_>
struct Tile {
    static constexpr unsigned PATCHES_M = PATCHES_M_, PATCHES_N = PATCHES_N_;
    static constexpr unsigned M = WARPS_M * LANES_M * PATCHES_M * 4;
    static constexpr unsigned N = WARPS_N * LANES_N * PATCHES_N * 4;
    static constexpr unsigned SLAB = SLAB_;
    static constexpr bool GUARDED = GUARDED_;

    // Two slabs of each operand: one is multiplied while the other is filled. The inner index is
    // that of c; four floats of padding keep the transposing stores of a warp in different banks.
    struct Shared {
        float a[2][SLAB][M + 4];
        float b[2][SLAB][N + 4];
    };
};

using Large = Tile<2, 4, 8, false>;  // 128 x 128
using Small = Tile<1, 2, 16, true>;  // 64 x 64

// From so many large tiles on, an aligned product is made of them. (The advised launch counts on
// it: kernels/src/matmul.rs.)
constexpr unsigned MANY = 64;

// An operand, seen as elements (i, k): i counts the rows of c for the left operand and the columns
// of c for the right one. In memory (i, k) is data[i * ld + k] if `K_INNER`, else
// data[k * ld + i].
template <bool K_INNER>
struct Operand {
    const float* data;
    unsigned ld;
    unsigned count;  // of i
    unsigned depth;  // of k

    __device__ const float* address(size_t i, size_t k) const {
        return data + (K_INNER ? i * ld + k : k * ld + i);
    }

    // Element (i, k), or 0 outside of the matrix.
    __device__ float at(size_t i, size_t k) const {
        return (i < count) & (k < depth) ? *address(i, k) : 0.0f;
    }
};

// A thread's part in bringing the slabs of one operand, SLAB x WIDTH elements, to shared memory one
// after another: some groups of four neighbouring elements.
template <bool GUARDED, unsigned SLAB, unsigned WIDTH, bool K_INNER>
struct Walk {
    static constexpr unsigned GROUPS = WIDTH * SLAB / 4 / THREADS;
    static_assert(GROUPS * THREADS * 4 == WIDTH * SLAB, "every thread brings as much");

    Operand<K_INNER> from;
    size_t i0;      // where the tile begins
    size_t k0 = 0;  // where the next slab begins
    const float* next[GROUPS];
    float4 groups[GROUPS];

    // Where group `g` begins in the slab.
    static __device__ unsigned group_i(unsigned g) {
        unsigned group = threadIdx.x + g * THREADS;
        return K_INNER ? group / (SLAB / 4) : group % (WIDTH / 4) * 4;
    }
    static __device__ unsigned group_k(unsigned g) {
        unsigned group = threadIdx.x + g * THREADS;
        return K_INNER ? group % (SLAB / 4) * 4 : group / (WIDTH / 4);
    }

    __device__ Walk(Operand<K_INNER> from, size_t i0) : from(from), i0(i0) {
#pragma unroll
        for (unsigned g = 0; g < GROUPS; g++) next[g] = from.address(i0 + group_i(g), group_k(g));
    }

    // Starts to read the next slab, and goes on to the one after it unless this is the `last`.
    __device__ void fetch(bool last) {
        size_t step = last ? 0 : SLAB;
#pragma unroll
        for (unsigned g = 0; g < GROUPS; g++) {
            if (GUARDED) {
                size_t i = i0 + group_i(g), k = k0 + group_k(g);
                size_t along_i = !K_INNER, along_k = K_INNER;
                groups[g].x = from.at(i, k);
                groups[g].y = from.at(i + along_i, k + along_k);
                groups[g].z = from.at(i + 2 * along_i, k + 2 * along_k);
                groups[g].w = from.at(i + 3 * along_i, k + 3 * along_k);
            } else {
                groups[g] = *(const float4*)next[g];
                next[g] += K_INNER ? step : step * from.ld;
            }
        }
        k0 += step;
    }

    // Stores what was read.
    __device__ void store(float (&slab)[SLAB][WIDTH + 4]) const {
#pragma unroll
        for (unsigned g = 0; g < GROUPS; g++) {
            unsigned i = group_i(g), k = group_k(g);
            if (K_INNER) {
                slab[k][i] = groups[g].x;
                slab[k + 1][i] = groups[g].y;
                slab[k + 2][i] = groups[g].z;
                slab[k + 3][i] = groups[g].w;
            } else {
                *(float4*)&slab[k][i] = groups[g];
            }
        }
    }
};

// Reads a thread's part of a slab's row: groups of four, `apart` elements apart.
template <unsigned COUNT>
static __device__ void read(float (&to)[COUNT], const float* row, unsigned apart) {
#pragma unroll
    for (unsigned p = 0; p < COUNT / 4; p++) {
        *(float4*)&to[p * 4] = *(const float4*)(row + p * apart);
    }
}

// The tile of c that begins at (m0, n0).
template <typename Tile, bool A_K_INNER, bool B_K_INNER>
static __device__ void tile(typename Tile::Shared& shared, float* c, Operand<A_K_INNER> a,
                            Operand<B_K_INNER> b, size_t m0, size_t n0) {
    constexpr unsigned ROWS = Tile::PATCHES_M * 4, COLUMNS = Tile::PATCHES_N * 4, SLAB = Tile::SLAB;

    // This thread's first element; its patches are LANES_M * 4 rows and LANES_N * 4 columns apart.
    unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    unsigned m = (warp / WARPS_N * Tile::PATCHES_M * LANES_M + lane / LANES_N) * 4;
    unsigned n = (warp % WARPS_N * Tile::PATCHES_N * LANES_N + lane % LANES_N) * 4;

    Walk<Tile::GUARDED, SLAB, Tile::M, A_K_INNER> walk_a(a, m0);
    Walk<Tile::GUARDED, SLAB, Tile::N, B_K_INNER> walk_b(b, n0);
    unsigned slabs = a.depth / SLAB + (a.depth % SLAB != 0);
    walk_a.fetch(slabs <= 1);
    walk_b.fetch(slabs <= 1);
    walk_a.store(shared.a[0]);
    walk_b.store(shared.b[0]);
    __syncthreads();

    float sums[ROWS][COLUMNS] = {};
    unsigned half = 0;
    for (; slabs > 0; slabs--) {
        // The last turn brings its own slab again, for nothing: that is cheaper than a branch.
        walk_a.fetch(slabs <= 2);
        walk_b.fetch(slabs <= 2);
#pragma unroll 8
        for (unsigned k = 0; k < SLAB; k++) {
            float left[ROWS], right[COLUMNS];
            read(left, &shared.a[half][k][m], LANES_M * 4);
            read(right, &shared.b[half][k][n], LANES_N * 4);
#pragma unroll
            for (unsigned i = 0; i < ROWS; i++) {
                // To and fro, so that a row begins with the register that the one before ended with:
                // on an H200 6 % faster than always from the left.
#pragma unroll
                for (unsigned step = 0; step < COLUMNS; step++) {
                    unsigned j = i % 2 == 0 ? step : COLUMNS - 1 - step;
                    sums[i][j] = fmaf(left[i], right[j], sums[i][j]);
                }
            }
        }
        half ^= 1;
        walk_a.store(shared.a[half]);
        walk_b.store(shared.b[half]);
        __syncthreads();
    }

#pragma unroll
    for (unsigned i = 0; i < ROWS; i++) {
        size_t row = m0 + m + i / 4 * (LANES_M * 4) + i % 4;
#pragma unroll
        for (unsigned j = 0; j < COLUMNS; j += 4) {
            size_t column = n0 + n + j * LANES_N;
            float* to = c + row * b.count + column;
            if (!Tile::GUARDED) {
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

// How many pieces of `size` cover `whole`.
static __device__ inline size_t pieces(unsigned whole, unsigned size) {
    return ((size_t)whole + size - 1) / size;
}

// c = a b, tile after tile.
template <bool A_K_INNER, bool B_K_INNER>
static __device__ void product(float* c, const float* a_data, const float* b_data, unsigned m,
                               unsigned n, unsigned k) {
    __shared__ __align__(16) union Shared {
        Large::Shared large;
        Small::Shared small;
    } shared;

    Operand<A_K_INNER> a{a_data, A_K_INNER ? k : m, m, k};
    Operand<B_K_INNER> b{b_data, B_K_INNER ? k : n, n, k};
    if (blockDim.x != THREADS) {
        for (size_t i = first(); i < (size_t)m * n; i += stride()) {
            float sum = 0.0f;
            for (size_t inner = 0; inner < k; inner++) {
                sum = fmaf(a.at(i / n, inner), b.at(i % n, inner), sum);
            }
            c[i] = sum;
        }
        return;
    }

    bool aligned = ((size_t)c % 16 == 0) & ((size_t)a_data % 16 == 0) & ((size_t)b_data % 16 == 0)
                   & (m % 4 == 0) & (n % 4 == 0) & (k % Large::SLAB == 0) & (k > 0);
    bool large = aligned & (pieces(m, Large::M) * pieces(n, Large::N) >= MANY);
    unsigned tile_m = Small::M, tile_n = Small::N;
    if (large) tile_m = Large::M, tile_n = Large::N;
    size_t across = pieces(n, tile_n), tiles = pieces(m, tile_m) * across;
    for (size_t t = blockIdx.x; t < tiles; t += gridDim.x) {
        size_t m0 = t / across * tile_m, n0 = t % across * tile_n;
        if (large & (m0 + Large::M <= m) & (n0 + Large::N <= n)) {
            tile<Large>(shared.large, c, a, b, m0, n0);
            continue;
        }
        for (size_t m1 = m0; m1 < m0 + tile_m & m1 < m; m1 += Small::M) {
            for (size_t n1 = n0; n1 < n0 + tile_n & n1 < n; n1 += Small::N) {
                tile<Small>(shared.small, c, a, b, m1, n1);
            }
        }
    }
}

// c[m][n] = a[m][k] b[k][n]
extern "C" __global__ void __launch_bounds__(THREADS, 2)
matmul(float* c, const float* a, const float* b, unsigned m, unsigned n, unsigned k) {
    product<true, false>(c, a, b, m, n, k);
}

// c[m][n] = aT b, where a is a[k][m] and b is b[k][n].
extern "C" __global__ void __launch_bounds__(THREADS, 2)
matmul_tn(float* c, const float* a, const float* b, unsigned m, unsigned n, unsigned k) {
    product<false, false>(c, a, b, m, n, k);
}

// c[m][n] = a bT, where a is a[m][k] and b is b[n][k].
extern "C" __global__ void __launch_bounds__(THREADS, 2)
matmul_nt(float* c, const float* a, const float* b, unsigned m, unsigned n, unsigned k) {
    product<true, true>(c, a, b, m, n, k);
}

// out[c][r] = x[rows][cols] at [r][c]
extern "C" __global__ void transpose(float* out, const float* x, unsigned rows, unsigned cols) {
    size_t n = (size_t)rows * cols;
    for (size_t i = first(); i < n; i += stride()) out[i] = x[i % rows * cols + i / rows];
}
