//! Makes a stream of its own, and puts all of it there.

pub use event_timing_solution::{TwoWay, time_bare_clock, time_synchronized};
use streamlings::cudarc::driver::sys::CUevent_flags::CU_EVENT_DEFAULT;
use streamlings::{DriverError, Gpu, Product};

pub fn time_with_events(gpu: &Gpu, product: &mut Product) -> Result<f32, DriverError> {
    let own = gpu.new_stream("own")?;
    product.launch(&own)?;
    own.synchronize()?;
    let start = own.record_event(Some(CU_EVENT_DEFAULT))?;
    product.launch(&own)?;
    let end = own.record_event(Some(CU_EVENT_DEFAULT))?;
    end.synchronize()?;
    start.elapsed_ms(&end)
}

pub fn two_way(gpu: &Gpu, product: &mut Product) -> Result<TwoWay, DriverError> {
    let event_ms = time_with_events(gpu, product)?;
    Ok(TwoWay { event_ms, bare: time_bare_clock(gpu, product)? })
}
