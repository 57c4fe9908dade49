// Kernels that make something happen rather than compute something.

#include "common.cuh"

// Keeps its stream busy for `ns` nanoseconds, by the device's own clock. One thread does it, the
// others return at once, so that the time is the same on any grid.
extern "C" __global__ void spin(unsigned long long ns) {
    if (first() != 0) return;
    unsigned long long start, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    do {
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    } while (now - start < ns);
}

// Writes one float to the address given, whatever it is.
extern "C" __global__ void poke(float* at, float value) {
    if (first() == 0) *at = value;
}
