// Kernels that make each element of their output from the same element of their inputs. The output
// may be an input of the same shape.

#include "common.cuh"

// out[i] = value
extern "C" __global__ void fill(float* out, float value, unsigned n) {
    for (size_t i = first(); i < n; i += stride()) out[i] = value;
}

// out[i] = x[i]
extern "C" __global__ void copy(float* out, const float* x, unsigned n) {
    for (size_t i = first(); i < n; i += stride()) out[i] = x[i];
}

// out[i] = x[i] * factor
extern "C" __global__ void scale(float* out, const float* x, float factor, unsigned n) {
    for (size_t i = first(); i < n; i += stride()) out[i] = x[i] * factor;
}

// out[i] = a[i] + b[i]
extern "C" __global__ void add(float* out, const float* a, const float* b, unsigned n) {
    for (size_t i = first(); i < n; i += stride()) out[i] = a[i] + b[i];
}

// out[i] = a[i] - b[i]
extern "C" __global__ void sub(float* out, const float* a, const float* b, unsigned n) {
    for (size_t i = first(); i < n; i += stride()) out[i] = a[i] - b[i];
}

// out[i] = a[i] * b[i]
extern "C" __global__ void mul(float* out, const float* a, const float* b, unsigned n) {
    for (size_t i = first(); i < n; i += stride()) out[i] = a[i] * b[i];
}

// y[i] += a * x[i]: a step of gradient descent with a = -rate, an accumulation with a = 1.
extern "C" __global__ void axpy(float* y, const float* x, float a, unsigned n) {
    for (size_t i = first(); i < n; i += stride()) y[i] = y[i] + a * x[i];
}

// out[i] = max(x[i], 0); NaN stays NaN.
extern "C" __global__ void relu(float* out, const float* x, unsigned n) {
    for (size_t i = first(); i < n; i += stride()) out[i] = x[i] < 0.0f ? 0.0f : x[i];
}

// grad_x[i] = grad_out[i] where x[i] > 0, else 0.
extern "C" __global__ void relu_backward(float* grad_x, const float* grad_out, const float* x,
                                         unsigned n) {
    for (size_t i = first(); i < n; i += stride()) grad_x[i] = x[i] > 0.0f ? grad_out[i] : 0.0f;
}

// grad_y[i] = upstream[0] * (y[i] - target[i]) * 2 / n: the gradient of `mse`, times the gradient
// that reaches it.
extern "C" __global__ void mse_backward(float* grad_y, const float* y, const float* target,
                                        const float* upstream, unsigned n) {
    float factor = upstream[0] * (2.0f / (float)n);
    for (size_t i = first(); i < n; i += stride()) grad_y[i] = (y[i] - target[i]) * factor;
}

// out[i] = x[0] * factor: the gradient of `sum` (factor = 1) and of `mean` (factor = 1 / n).
extern "C" __global__ void broadcast(float* out, const float* x, float factor, unsigned n) {
    float value = x[0] * factor;
    for (size_t i = first(); i < n; i += stride()) out[i] = value;
}

// out[r][c] = x[r][c] + bias[c], row-major.
extern "C" __global__ void bias_add(float* out, const float* x, const float* bias, unsigned rows,
                                    unsigned cols) {
    size_t n = (size_t)rows * cols;
    for (size_t i = first(); i < n; i += stride()) out[i] = x[i] + bias[i % cols];
}
