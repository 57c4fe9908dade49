//! The crates that the learner's code may be written with: the same cases grade both.

use std::time::Duration;

use super::exercise;
use streamlings::cudarc::driver::sys;
use streamlings::cust::launch;
use streamlings::cust::memory::DeviceBuffer;
use streamlings::cust::module::Module;
use streamlings::cust::stream::{Stream, StreamFlags};
use streamlings::driver::recording;
use streamlings::grade::Finding;
use streamlings::{CudaSlice, Gpu, LaunchConfig, PushKernelArg};

/// A crate to program the device with: the same cases grade both.
pub trait Track: Sized {
    type Upload;
    type Download;
    type Source;

    /// Keeps the stream busy.
    fn spin(&self, time: Duration) -> Result<(), Finding>;
    fn upload(&self, values: &[f32]) -> Result<Self::Upload, String>;
    /// What is on the device, when nothing runs there any more.
    fn uploaded(&self, upload: &Self::Upload) -> Result<Vec<f32>, Finding>;
    fn source(&self, values: &[f32]) -> Result<Self::Source, Finding>;
    fn download(&self, source: &Self::Source) -> Result<Self::Download, String>;
    fn wait(download: &Self::Download) -> Result<Vec<f32>, String>;
}

pub struct Cudarc(Gpu);

impl Cudarc {
    pub fn open() -> Result<Cudarc, Finding> {
        let track = Cudarc(Gpu::new()?);
        warm_up(&track)?;
        Ok(track)
    }
}

impl Track for Cudarc {
    type Upload = exercise::Upload;
    type Download = exercise::Download;
    type Source = CudaSlice<f32>;

    fn spin(&self, time: Duration) -> Result<(), Finding> {
        let (spin, nanos) = (self.0.kernel("spin")?, time.as_nanos() as u64);
        // SAFETY: `spin` takes one unsigned 64-bit integer.
        unsafe {
            let mut launch = self.0.stream.launch_builder(&spin);
            launch.arg(&nanos).launch(LaunchConfig::for_num_elems(1))?
        };
        Ok(())
    }

    fn upload(&self, values: &[f32]) -> Result<Self::Upload, String> {
        exercise::upload_async(&self.0, values).map_err(|error| error.to_string())
    }

    fn uploaded(&self, upload: &Self::Upload) -> Result<Vec<f32>, Finding> {
        Ok(self.0.stream.clone_dtoh(&upload.on_device)?)
    }

    fn source(&self, values: &[f32]) -> Result<Self::Source, Finding> {
        let source = self.0.stream.clone_htod(values)?;
        self.0.stream.synchronize()?;
        Ok(source)
    }

    fn download(&self, source: &Self::Source) -> Result<Self::Download, String> {
        exercise::download_async(&self.0, source).map_err(|error| error.to_string())
    }

    fn wait(download: &Self::Download) -> Result<Vec<f32>, String> {
        download.wait().map_err(|error| error.to_string())
    }
}

pub struct Cust {
    stream: Stream,
    module: Module,
    /// Keeps the context alive, which cust takes as it finds it.
    _gpu: Gpu,
}

impl Cust {
    pub fn open() -> Result<Cust, Finding> {
        let gpu = Gpu::new()?;
        let module = Module::from_ptx(streamlings::kernels::PTX, &[])?;
        let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
        recording::name_stream(stream.as_inner() as usize, "stream");
        let track = Cust { stream, module, _gpu: gpu };
        warm_up(&track)?;
        Ok(track)
    }
}

impl Track for Cust {
    type Upload = exercise::CustUpload;
    type Download = exercise::CustDownload;
    type Source = DeviceBuffer<f32>;

    fn spin(&self, time: Duration) -> Result<(), Finding> {
        let spin = self.module.get_function("spin")?;
        let (stream, nanos) = (&self.stream, time.as_nanos() as u64);
        // SAFETY: `spin` takes one unsigned 64-bit integer.
        unsafe { launch!(spin<<<1, 1, 0, stream>>>(nanos))? };
        Ok(())
    }

    fn upload(&self, values: &[f32]) -> Result<Self::Upload, String> {
        exercise::upload_async_cust(&self.stream, values).map_err(|error| error.to_string())
    }

    fn uploaded(&self, upload: &Self::Upload) -> Result<Vec<f32>, Finding> {
        Ok(upload.on_device.as_host_vec()?)
    }

    fn source(&self, values: &[f32]) -> Result<Self::Source, Finding> {
        Ok(DeviceBuffer::from_slice(values)?)
    }

    fn download(&self, source: &Self::Source) -> Result<Self::Download, String> {
        exercise::download_async_cust(&self.stream, source).map_err(|error| error.to_string())
    }

    fn wait(download: &Self::Download) -> Result<Vec<f32>, String> {
        download.wait().map_err(|error| error.to_string())
    }
}

/// A kernel's first launch takes longer than the others.
fn warm_up(track: &impl Track) -> Result<(), Finding> {
    track.spin(Duration::ZERO)?;
    // SAFETY: the context is current.
    unsafe { sys::cuCtxSynchronize() }.result()?;
    Ok(())
}

/// Whether the driver knows host memory as page-locked.
pub fn is_pinned(address: u64) -> bool {
    let mut flags = 0;
    // SAFETY: the context is current; the address is looked up and not followed.
    unsafe { sys::cuMemHostGetFlags(&mut flags, address as *mut _) }.result().is_ok()
}
