//! Nothing of it is written.

use std::time::Duration;

use streamlings::{DriverError, Gpu, Product};

#[derive(Clone, Copy, Debug)]
pub struct TwoWay {
    pub event_ms: f32,
    pub bare: Duration,
}

pub fn time_with_events(_gpu: &Gpu, _product: &mut Product) -> Result<f32, DriverError> {
    todo!()
}

pub fn time_bare_clock(_gpu: &Gpu, _product: &mut Product) -> Result<Duration, DriverError> {
    unimplemented!()
}

pub fn time_synchronized(_gpu: &Gpu, _product: &mut Product) -> Result<Duration, DriverError> {
    todo!("later")
}

pub fn two_way(_gpu: &Gpu, _product: &mut Product) -> Result<TwoWay, DriverError> {
    todo!()
}
