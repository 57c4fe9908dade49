//! Every kernel of `kernels/` against its host twin, on whatever device there is: on the emulated one
//! this tests how twins are called, on a GPU that they compute what the kernels do.

use std::error::Error;
use std::ffi::c_void;

use streamlings::cudarc::driver::{DevicePtr, sys};
use streamlings::kernels::{self, Args, Kernel, ParamKind, Role};
use streamlings::{CudaSlice, Gpu, launch_config};

/// Sizes for the integer parameters, by turns: a few of each kind, odd ones and zero included.
const SIZES: &[[u32; 3]] =
    &[[64, 64, 64], [1, 1, 1], [33, 17, 65], [200, 129, 31], [0, 5, 7], [256, 128, 512]];

/// Values that are exact in f32, some of them equal, and as bits small integers now and then.
fn values(count: usize, seed: u64) -> Vec<f32> {
    let mut x = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..count)
        .map(|_| {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            match x % 5 {
                0 => f32::from_bits((x >> 8) as u32 % 300),
                1 => 0.0,
                _ => ((x >> 8) % 1000) as f32 / 8.0 - 60.0,
            }
        })
        .collect()
}

/// The products add in an order of their own; everything else gives the twin's exact bits.
fn tolerance(kernel: &Kernel, sizes: [u32; 3]) -> f32 {
    if kernel.name.starts_with("matmul") { sizes[2] as f32 * 4e-3 } else { 0.0 }
}

fn check(gpu: &Gpu, kernel: &Kernel, sizes: [u32; 3], seed: u64) -> Result<(), Box<dyn Error>> {
    let mut integers = sizes.iter().copied().cycle();
    let mut words: Vec<u64> = kernel
        .params
        .iter()
        .map(|param| match param.kind {
            ParamKind::U32 => u64::from(integers.next().unwrap_or(0)),
            ParamKind::U64 => 1000,
            ParamKind::F32 => u64::from((seed as f32 + 0.5).to_bits()),
            ParamKind::Pointer { .. } => 0,
        })
        .collect();

    let mut buffers: Vec<(usize, Role, Vec<f32>, CudaSlice<f32>)> = Vec::new();
    for (index, param) in kernel.params.iter().enumerate() {
        let ParamKind::Pointer { role, elements } = param.kind else { continue };
        let host = values(elements(&Args(&words)) as usize, seed + index as u64);
        // An empty extent still needs an address.
        let source = if host.is_empty() { &[0.0][..] } else { &host };
        buffers.push((index, role, host.clone(), gpu.stream.clone_htod(source)?));
    }
    for (index, _, _, device) in &buffers {
        words[*index] = device.device_ptr(&gpu.stream).0;
    }

    let mut expected: Vec<Vec<f32>> = buffers.iter().map(|(_, _, host, _)| host.clone()).collect();
    (kernel.twin)(&Args(&words), &mut expected);

    let config = launch_config(kernel, &words);
    let ((gx, gy, gz), (bx, by, bz)) = (config.grid_dim, config.block_dim);
    let mut params: Vec<*mut c_void> =
        words.iter_mut().map(|word| std::ptr::from_mut(word).cast()).collect();
    let function = gpu.kernel(kernel.name)?;
    // SAFETY: the table's arguments, each buffer as long as the table says; the function outlives the
    // launch, which is waited for.
    let result = unsafe {
        sys::cuLaunchKernel(
            function.cu_function(),
            gx,
            gy,
            gz,
            bx,
            by,
            bz,
            0,
            gpu.stream.cu_stream(),
            params.as_mut_ptr(),
            std::ptr::null_mut(),
        )
    };
    assert_eq!(result, sys::CUresult::CUDA_SUCCESS, "{} {sizes:?}", kernel.name);
    gpu.stream.synchronize()?;

    for ((_, role, host, device), expected) in buffers.iter().zip(&expected) {
        let got = gpu.stream.clone_dtoh(device)?;
        let expected = if *role == Role::Read { host } else { expected };
        for (at, (got, expected)) in got.iter().zip(expected).enumerate() {
            let near = (got - expected).abs() <= tolerance(kernel, sizes);
            // Which of the many NaNs a division gives is not specified.
            let both_nan = got.is_nan() && expected.is_nan();
            assert!(
                got.to_bits() == expected.to_bits() || near || both_nan,
                "{} {sizes:?}: element {at} is {got}, the twin says {expected}",
                kernel.name
            );
        }
    }
    Ok(())
}

#[test]
fn every_kernel_does_what_its_twin_does() -> Result<(), Box<dyn Error>> {
    let gpu = Gpu::new()?;
    for kernel in kernels::TABLE {
        for (seed, sizes) in SIZES.iter().enumerate() {
            check(&gpu, kernel, *sizes, seed as u64)?;
        }
    }
    Ok(())
}
