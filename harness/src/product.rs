//! A square matrix product, ready to be launched again and again.

use std::sync::Arc;

use cudarc::driver::{
    CudaFunction, CudaSlice, CudaStream, DriverError, LaunchConfig, PushKernelArg,
};

use crate::{Gpu, launch_config};

/// `C = A · B` for `n` × `n` matrices of f32.
pub struct Product {
    n: u32,
    a: CudaSlice<f32>,
    b: CudaSlice<f32>,
    c: CudaSlice<f32>,
    kernel: CudaFunction,
    config: LaunchConfig,
}

impl Product {
    /// Puts two matrices on the device; their values do not matter for timing.
    ///
    /// # Errors
    /// The driver's own.
    pub fn new(gpu: &Gpu, n: u32) -> Result<Product, DriverError> {
        let elements = n as usize * n as usize;
        let values: Vec<f32> = (0..elements).map(|i| (i % 251) as f32 / 251.0 - 0.5).collect();
        let kernel = crate::kernels::find("matmul").ok_or_else(not_found)?;
        let size = u64::from(n);
        let product = Product {
            n,
            a: gpu.stream.clone_htod(&values)?,
            b: gpu.stream.clone_htod(&values)?,
            c: gpu.stream.alloc_zeros(elements)?,
            kernel: gpu.kernel("matmul")?,
            config: launch_config(kernel, &[0, 0, 0, size, size, size]),
        };
        gpu.stream.synchronize()?;
        Ok(product)
    }

    /// Launches the product on a stream; returns as soon as the launch does.
    ///
    /// # Errors
    /// The driver's own.
    pub fn launch(&mut self, stream: &Arc<CudaStream>) -> Result<(), DriverError> {
        let mut launch = stream.launch_builder(&self.kernel);
        launch.arg(&mut self.c).arg(&self.a).arg(&self.b);
        launch.arg(&self.n).arg(&self.n).arg(&self.n);
        #[expect(unsafe_code, reason = "a launch is unsafe in cudarc")]
        // SAFETY: the arguments are those of `matmul`, and each matrix has n × n elements.
        unsafe {
            launch.launch(self.config)?
        };
        Ok(())
    }

    /// The matrices' side.
    pub fn n(&self) -> u32 {
        self.n
    }

    /// Floating-point operations of one product: 2 n³.
    pub fn flops(&self) -> f64 {
        2.0 * f64::from(self.n).powi(3)
    }

    /// The result; waits for it.
    ///
    /// # Errors
    /// The driver's own.
    pub fn download(&self, stream: &Arc<CudaStream>) -> Result<Vec<f32>, DriverError> {
        stream.clone_dtoh(&self.c)
    }
}

fn not_found() -> DriverError {
    DriverError(cudarc::driver::sys::CUresult::CUDA_ERROR_NOT_FOUND)
}
