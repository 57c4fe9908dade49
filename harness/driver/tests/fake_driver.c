/* A libcuda.so.1 that does nothing, for the tests of the forwarding path.
 *
 * FAKE_INIT is what cuInit returns, FAKE_VERSION what cuDriverGetVersion tells. It lacks most of the API. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int Result;
typedef void *Handle;

static int setting(const char *name, int otherwise) {
    const char *text = getenv(name);
    return text ? atoi(text) : otherwise;
}

Result cuInit(unsigned flags) { (void)flags; return setting("FAKE_INIT", 0); }
Result cuDriverGetVersion(int *version) { *version = setting("FAKE_VERSION", 13000); return 0; }
Result cuGetErrorName(Result error, const char **name) {
    static char text[32];
    snprintf(text, sizeof text, "FAKE_ERROR_%d", error);
    *name = text;
    return 0;
}
Result cuDeviceGet(int *device, int ordinal) { *device = ordinal; return 0; }
Result cuDeviceGetName(char *name, int length, int device) {
    (void)device;
    strncpy(name, "fake GPU", length);
    return 0;
}
Result cuStreamCreate(Handle *stream, unsigned flags) { (void)flags; *stream = (Handle)0x40; return 0; }
/* A wait of a fifth of a second. */
Result cuStreamSynchronize(Handle stream) { (void)stream; usleep(200000); return 0; }
Result cuStreamQuery(Handle stream) { (void)stream; return 600; }
/* Not recorded, and with more arguments than there are registers. */
Result cuTensorMapEncodeTiled(Handle map, int type, unsigned rank, void *address, const void *dims,
                              const void *strides, const void *box, const void *element, int interleave,
                              int swizzle, int promotion, int fill) {
    return map == (Handle)1 && type == 2 && rank == 3 && address == (void *)4 && dims == (void *)5 &&
                   strides == (void *)6 && box == (void *)7 && element == (void *)8 && interleave == 9 &&
                   swizzle == 10 && promotion == 11 && fill == 12
               ? 0
               : 1;
}
