//! Watches for the signals that request termination, such as SIGINT and SIGTERM.
//!
//! [`watch_signals`] runs its own thread and reports signals through [`Interrupts`].

use std::task::Poll;

use nix::sys::signal::Signal;
use tokio::signal::unix;

use crate::system::signals::{Interrupts, termination_signals};

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
            }
        });
    });
    // Without the thread, signals are caught but have no effect; SIGKILL still ends the program.
    drop(watcher);
    interrupts
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
