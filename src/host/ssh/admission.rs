//! The limit on handshakes that run at the same time.
//!
//! A connection takes one of the limited places when the host has sent its first bytes, so that hosts that answer
//! nothing take no place from others. The time that a connection waits for its place is not part of its time limit.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep};

/// The beginning of the line in which a server names its version.
const BANNER: &[u8] = b"SSH-";
/// The number of bytes that are read before a connection has its place.
const FIRST_BYTES: usize = 1024;
/// The least time between two looks at the time limit, while a connection waits for its place.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// The admission of one connection to the handshake.
#[derive(Debug)]
pub(super) struct Admission {
    places: Arc<Semaphore>,
    state: Mutex<AdmissionState>,
}

#[derive(Debug, Default)]
struct AdmissionState {
    place: Option<OwnedSemaphorePermit>,
    is_connected: bool,
    has_banner: bool,
    /// The start of the current wait for a place.
    waiting_since: Option<Instant>,
    /// The length of earlier waits.
    waited: Duration,
    is_over: bool,
}

impl Admission {
    pub(super) fn new(places: &Arc<Semaphore>) -> Self {
        Self {
            places: Arc::clone(places),
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, AdmissionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if the host accepted the connection, but has not named its version yet.
    pub(super) fn lacks_banner(&self) -> bool {
        let state = self.state();
        state.is_connected && !state.has_banner
    }

    /// Waits until the connection has used up its time, without the time that it waited for a place.
    pub(super) async fn time_limit(&self, time: Duration) {
        let start = Instant::now();
        loop {
            let (waited, is_waiting) = {
                let state = self.state();
                let now = state.waiting_since.map(|since| since.elapsed());
                (state.waited + now.unwrap_or_default(), now.is_some())
            };
            let left = (time + waited).saturating_sub(start.elapsed());
            if left.is_zero() && !is_waiting {
                return;
            }
            sleep(left.max(LOOK_INTERVAL)).await;
        }
    }

    fn begin_wait(&self, has_banner: bool) {
        let mut state = self.state();
        state.has_banner = has_banner;
        state.waiting_since = Some(Instant::now());
    }

    /// Keeps the place until the handshake is over.
    fn admit(&self, place: Option<OwnedSemaphorePermit>) {
        let mut state = self.state();
        if let Some(since) = state.waiting_since.take() {
            state.waited += since.elapsed();
        }
        if !state.is_over {
            state.place = place;
        }
    }

    fn leave(&self) {
        let mut state = self.state();
        state.is_over = true;
        state.place = None;
    }
}

/// Frees the place of a connection at the end of its handshake, however it ends.
#[derive(Debug)]
pub(super) struct Handshake(pub(super) Arc<Admission>);

impl Drop for Handshake {
    fn drop(&mut self) {
        self.0.leave();
    }
}

/// A wait for a place.
type PlaceWait = Pin<Box<dyn Future<Output = Option<OwnedSemaphorePermit>> + Send>>;

/// The gate before the first bytes of a stream, which are passed on when the connection has a place.
pub(super) struct Gate {
    admission: Arc<Admission>,
    /// The bytes that were read and are not passed on yet.
    first: Vec<u8>,
    wait: Option<PlaceWait>,
    is_open: bool,
}

impl Gate {
    /// Creates the gate of a connection that the host has accepted.
    pub(super) fn new(admission: &Arc<Admission>) -> Self {
        admission.state().is_connected = true;
        Self {
            admission: Arc::clone(admission),
            first: Vec::new(),
            wait: None,
            is_open: false,
        }
    }

    /// Reads from the stream behind the gate.
    pub(super) fn poll_read(
        &mut self,
        stream: &mut (impl AsyncRead + Unpin),
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        if !self.is_open {
            ready!(self.poll_place(stream, context))?;
            if self.first.is_empty() {
                return Poll::Ready(Ok(()));
            }
        }
        if self.first.is_empty() {
            return Pin::new(stream).poll_read(context, buffer);
        }
        let count = self.first.len().min(buffer.remaining());
        buffer.put_slice(&self.first[..count]);
        self.first.drain(..count);
        Poll::Ready(Ok(()))
    }

    /// Reads the first bytes and waits for a place. The end of the stream needs none.
    fn poll_place(
        &mut self,
        stream: &mut (impl AsyncRead + Unpin),
        context: &mut Context<'_>,
    ) -> Poll<std::io::Result<()>> {
        let wait = match &mut self.wait {
            Some(wait) => wait,
            none => {
                let mut bytes = [0; FIRST_BYTES];
                let mut buffer = ReadBuf::new(&mut bytes);
                ready!(Pin::new(stream).poll_read(context, &mut buffer))?;
                if buffer.filled().is_empty() {
                    self.is_open = true;
                    return Poll::Ready(Ok(()));
                }
                self.first = buffer.filled().to_vec();
                self.admission.begin_wait(self.first.starts_with(BANNER));
                let places = Arc::clone(&self.admission.places);
                none.insert(Box::pin(async move { places.acquire_owned().await.ok() }))
            }
        };
        let place = ready!(wait.as_mut().poll(context));
        self.admission.admit(place);
        self.wait = None;
        self.is_open = true;
        Poll::Ready(Ok(()))
    }
}
