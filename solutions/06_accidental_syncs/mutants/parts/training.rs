//! The solution's loop with one thing wrong, which is for the mutants to choose.

use accidental_syncs_solution::{Batch, Report, Settings};
use streamlings::Clock;
use streamlings::tensor::nn::{Linear, sgd_step};
use streamlings::tensor::{Device, Download, HostTensor, Result, Tensor};

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(dead_code, reason = "each mutant chooses one")]
pub enum Wrong {
    /// The loss is printed in each step.
    Print,
    /// The host decides about the step.
    Condition,
    /// The outputs above 0 are selected.
    Mask,
    /// Batches are uploaded from pageable memory.
    Upload,
    /// The same, asking not to be held.
    UploadByLuck,
    /// The outputs are counted by the host.
    Metric,
    /// The loss is read right after each lap.
    SyncBetweenLaps,
    /// The device is waited for before every second lap.
    SyncBetweenSomeLaps,
    /// In each lap it is asked for the loss until it has arrived.
    Polls,
    /// The same, between the laps.
    PollsBetweenLaps,
    /// In each lap another thread waits for the device, and is waited for.
    WaitsOnAThread,
    /// Bad batches are learnt from.
    NoLimit,
    /// Bad batches end the training.
    StopsAtBad,
    /// The last step's outputs are not counted.
    LeavesOneOut,
}

fn poll(loss: &Download) -> Result<()> {
    while !loss.is_ready()? {
        std::thread::yield_now();
    }
    Ok(())
}

fn wait_on_a_thread() -> Result<()> {
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| Device::get()?.synchronize());
        waits.join().expect("it does not panic")
    })
}

pub fn train(
    wrong: Wrong,
    model: &Linear,
    batches: &[Batch],
    settings: Settings,
    clock: &mut Clock,
) -> Result<Report> {
    let parameters = model.parameters();
    let (zero, one) = (Tensor::zeros([])?, Tensor::full([], 1.0)?);
    let positives = Tensor::zeros([])?;
    let above = Tensor::zeros([])?;
    let mut above_on_host = 0;
    let mut log = Vec::new();
    let mut losses = Vec::new();
    let mut download = None;
    let upload = |batch: &HostTensor| match wrong {
        Wrong::Upload => batch.to_device(false),
        Wrong::UploadByLuck => batch.to_device(true),
        _ => batch.pin()?.to_device(true),
    };

    for (step, batch) in batches.iter().enumerate() {
        clock.lap(|| -> Result<()> {
            let x = upload(&batch.x)?;
            let target = upload(&batch.target)?;
            let y = model.forward(&x)?;
            let loss = y.mse(&target)?;
            if wrong == Wrong::Print {
                log.push(format!("step {step}: loss {loss}"));
            }
            losses.push(loss.detach());
            match wrong {
                Wrong::Polls => poll(&loss.to_host_pinned()?)?,
                Wrong::PollsBetweenLaps => download = Some(loss.to_host_pinned()?),
                Wrong::WaitsOnAThread => wait_on_a_thread()?,
                _ => {}
            }

            parameters.iter().for_each(Tensor::clear_grad);
            let limit = if wrong == Wrong::NoLimit { f32::MAX } else { settings.limit };
            if wrong == Wrong::Condition {
                if loss.item()? <= limit {
                    loss.backward()?;
                    sgd_step(&parameters, settings.rate)?;
                }
            } else {
                let keep = Tensor::select(&loss.gt(limit)?, &zero, &one)?;
                loss.mul(&keep)?.backward()?;
                if wrong == Wrong::StopsAtBad {
                    one.copy_(&keep)?;
                }
                sgd_step(&parameters, settings.rate)?;
            }

            let y = y.detach();
            let mask = y.gt(0.0)?;
            match wrong {
                Wrong::Mask => positives.axpy_(1.0, &y.masked_select(&mask)?.sum()?)?,
                _ => positives.axpy_(1.0, &y.mul(&mask)?.sum()?)?,
            }
            match wrong {
                Wrong::Metric => {
                    let outputs = y.to_vec()?;
                    above_on_host += outputs.iter().filter(|output| **output > 0.5).count();
                }
                Wrong::LeavesOneOut if step + 1 == batches.len() => {}
                _ => above.axpy_(1.0, &y.gt(0.5)?.sum()?)?,
            }
            Ok(())
        })?;
        match wrong {
            Wrong::SyncBetweenLaps => {
                log.push(format!("step {step}: loss {}", losses[step]));
            }
            Wrong::PollsBetweenLaps => download.iter().try_for_each(poll)?,
            Wrong::SyncBetweenSomeLaps if step % 2 == 1 => {
                streamlings::tensor::current_stream()?.synchronize()?;
            }
            _ => {}
        }
    }

    if log.is_empty() {
        let lines = losses.iter().enumerate().map(|(at, loss)| format!("step {at}: loss {loss}"));
        log.extend(lines);
    }
    let above = above.item()? as usize + above_on_host;
    Ok(Report { log, positives: positives.item()?, above })
}
