//! Programs on the crates that learners use run on this driver.

use std::ffi::CString;
use std::time::Instant;

use cudarc::driver::{CudaContext, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;

// Links the driver in; cudarc and cust name its symbols only.
use streamlings_driver as _;

fn one_block() -> LaunchConfig {
    LaunchConfig { grid_dim: (4, 1, 1), block_dim: (128, 1, 1), shared_mem_bytes: 0 }
}

#[test]
fn a_cudarc_program_runs() -> Result<(), Box<dyn std::error::Error>> {
    let context = CudaContext::new(0)?;
    let stream = context.new_stream()?;
    let module = context.load_module(Ptx::from_src(streamlings_kernels::PTX))?;
    let (fill, spin) = (module.load_function("fill")?, module.load_function("spin")?);

    let mut x = stream.alloc_zeros::<f32>(1000)?;
    let began = Instant::now();
    // SAFETY: `spin` takes one integer; `fill` writes `n` floats, as many as `x` has.
    unsafe {
        stream.launch_builder(&spin).arg(&20_000_000_u64).launch(one_block())?;
        stream.launch_builder(&fill).arg(&mut x).arg(&2.5_f32).arg(&1000_u32).launch(one_block())?;
    }
    let launched = began.elapsed();
    let back = stream.clone_dtoh(&x)?;
    let done = began.elapsed();

    assert!(back.iter().all(|value| *value == 2.5), "{:?}", &back[..4]);
    assert!(launched * 4 < done, "launches took {launched:?}, the work {done:?}");
    Ok(())
}

#[test]
fn a_cust_program_runs() -> Result<(), Box<dyn std::error::Error>> {
    use cust::memory::CopyDestination;

    let _context = cust::quick_init()?;
    let module = cust::module::Module::from_ptx(streamlings_kernels::PTX, &[])?;
    let stream = cust::stream::Stream::new(cust::stream::StreamFlags::NON_BLOCKING, None)?;
    let x = cust::memory::DeviceBuffer::from_slice(&[1.0_f32; 500])?;
    let y = cust::memory::DeviceBuffer::from_slice(&[0.0_f32; 500])?;
    let scale = module.get_function("scale")?;
    let (factor, n) = (3.0_f32, 500_u32);
    // SAFETY: `scale` reads `n` floats of `x` and writes as many of `y`.
    unsafe {
        cust::launch!(scale<<<4, 128, 0, stream>>>(
            y.as_device_ptr(),
            x.as_device_ptr(),
            factor,
            n
        ))?;
    }
    stream.synchronize()?;
    let mut back = [0.0_f32; 500];
    y.copy_to(&mut back)?;
    assert_eq!(back, [3.0; 500]);
    Ok(())
}

#[test]
fn a_function_without_an_emulation_says_so() {
    if std::env::var("STREAMLINGS_DEVICE").as_deref() == Ok("gpu") {
        return;
    }
    let mut array = std::ptr::null_mut();
    let name = CString::new("cuArray3DCreate_v2");
    assert!(name.is_ok());
    // SAFETY: the emulated device returns before it looks at the arguments.
    let result = unsafe { cudarc::driver::sys::cuArray3DCreate_v2(&mut array, std::ptr::null()) };
    assert_eq!(result, cudarc::driver::sys::CUresult::CUDA_ERROR_NOT_SUPPORTED);
}
