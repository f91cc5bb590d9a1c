//! Devices that use one another's memory.
//!
//! A kernel reaches the memory of another device after a context of its own device has asked for that. What is enabled
//! is the whole of the other device's memory, for all contexts of the asking device.

use crate::context::Context;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::lock;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// The devices whose memory a device's kernels reach, and how often that was asked for.
#[derive(Debug, Default)]
struct Peers(Mutex<BTreeMap<usize, usize>>);

/// The devices whose memory a context's kernels may use.
#[derive(Default)]
struct Enabled(Mutex<Vec<Arc<Device>>>);

impl Device {
    /// Whether kernels of this device can be given another one's memory: any other's.
    pub fn can_access(&self, other: &Self) -> bool {
        self.ordinal() != other.ordinal()
    }

    /// Lets kernels reach the memory of another device. Every call is to be matched by [`Device::close_peer`].
    pub fn open_peer(&self, other: &Self) -> Result<()> {
        let peers = self.extensions.get::<Peers>();
        let mut peers = lock(&peers.0);
        let count = peers.entry(other.ordinal()).or_default();
        if *count == 0 {
            self.machine()?.reach().attach(other.machine()?.shared_memory());
        }
        *count += 1;
        Ok(())
    }

    /// Undoes one [`Device::open_peer`]; waits for kernels that can still use the memory.
    pub fn close_peer(&self, other: &Self) -> Result<()> {
        let peers = self.extensions.get::<Peers>();
        let mut peers = lock(&peers.0);
        let Some(count) = peers.get_mut(&other.ordinal()) else { return Ok(()) };
        *count -= 1;
        if *count == 0 {
            peers.remove(&other.ordinal());
            self.machine()?.reach().detach(other.machine()?.shared_memory());
        }
        Ok(())
    }
}

impl Context {
    /// Lets kernels of this context use the memory of another one's device.
    pub fn enable_peer(&self, other: &Context) -> Result<()> {
        self.usable()?;
        other.usable()?;
        if !self.device().can_access(other.device()) {
            return Err(Error::PeerAccessUnsupported);
        }
        let enabled = self.extensions.get::<Enabled>();
        let mut peers = lock(&enabled.0);
        if peers.iter().any(|known| known.ordinal() == other.device().ordinal()) {
            return Err(Error::PeerAccessAlreadyEnabled);
        }
        self.device().open_peer(other.device())?;
        peers.push(Arc::clone(other.device()));
        Ok(())
    }

    /// Undoes [`Context::enable_peer`].
    pub fn disable_peer(&self, other: &Context) -> Result<()> {
        let enabled = self.extensions.get::<Enabled>();
        let mut peers = lock(&enabled.0);
        let at = peers.iter().position(|known| known.ordinal() == other.device().ordinal());
        let device = peers.remove(at.ok_or(Error::PeerAccessNotEnabled)?);
        drop(peers);
        self.device().close_peer(&device)
    }

    /// The context ends.
    pub(crate) fn close_peers(&self) {
        for device in std::mem::take(&mut *lock(&self.extensions.get::<Enabled>().0)) {
            // Both machines are there, since the access was enabled.
            let _ = self.device().close_peer(&device);
        }
    }
}
