//! Watches for the signals that request termination, such as SIGINT and SIGTERM.
//!
//! [`watch_signals`] runs its own thread and reports signals through [`Interrupts`].

use std::task::Poll;
use std::time::Duration;

use nix::sys::signal::Signal;
use tokio::signal::unix;

use crate::system::signals::{Interrupts, termination_signals};

/// The time in which the program notices a signal and ends in order, before anything has started.
const GRACE: Duration = Duration::from_millis(300);

/// The time between two attempts to end a process that has something to complete.
const RETRY: Duration = Duration::from_millis(10);

/// Starts a thread that watches for signals.
///
/// If the event queue cannot be created, the signals keep their default effect. If the thread cannot be
/// created, they are caught and have no effect.
pub fn watch_signals() -> Interrupts {
    let interrupts = Interrupts::default();
    let notifier = interrupts.clone();
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
    else {
        return interrupts;
    };
    let mut signals = {
        let _entered = runtime.enter();
        let listen = |signal: Signal| {
            let kind = unix::SignalKind::from_raw(signal as i32);
            Some((signal, unix::signal(kind).ok()?))
        };
        termination_signals()
            .into_iter()
            .filter_map(listen)
            .collect::<Vec<_>>()
    };
    let watcher = std::thread::Builder::new().name("signals".to_owned());
    let watcher = watcher.spawn(move || {
        runtime.block_on(async {
            loop {
                notifier.signal(next_signal(&mut signals).await);
                end_unless_heeded(&notifier, &mut signals).await;
            }
        });
    });
    // Without the thread, signals are caught but have no effect; SIGKILL still ends the program.
    drop(watcher);
    interrupts
}

/// Waits until something has noticed the first signal. If nothing does, ends the process: before any change
/// has started, the first signal is enough.
async fn end_unless_heeded(interrupts: &Interrupts, signals: &mut [(Signal, unix::Signal)]) {
    let mut patience = GRACE;
    while interrupts.is_unheeded() {
        match tokio::time::timeout(patience, next_signal(signals)).await {
            Ok(signal) => interrupts.signal(signal),
            Err(_) => interrupts.end_if_unheeded(),
        }
        patience = RETRY;
    }
}

async fn next_signal(streams: &mut [(Signal, unix::Signal)]) -> Signal {
    std::future::poll_fn(|context| {
        for (signal, stream) in &mut *streams {
            if stream.poll_recv(context).is_ready() {
                return Poll::Ready(*signal);
            }
        }
        Poll::Pending
    })
    .await
}
