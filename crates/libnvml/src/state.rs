//! Whether the library is initialised, and its devices.

use crate::ffi::{Error, Result};
use crate::sys;
use driver_api::cu;
use driver_api::sys::{self as driver, CUdevice};
use std::ffi::{CStr, c_char, c_int};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How often `nvmlInit` was called without its `nvmlShutdown`.
static USERS: AtomicUsize = AtomicUsize::new(0);

/// Handles keep their lowest bits clear and are never null.
const SHIFT: u32 = 4;
/// The longest name of a device.
const NAME: usize = 96;
/// The longest bus address.
const BUS: usize = 32;

/// A device of the driver's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Device(CUdevice);

/// Bytes of memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    pub(crate) total: u64,
    pub(crate) free: u64,
}

/// Where a device is on the bus.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PciAddress {
    pub(crate) domain: u32,
    pub(crate) bus: u32,
    pub(crate) device: u32,
}

/// Makes functions work.
pub(crate) fn initialise() -> Result<()> {
    driver_api::initialise()?;
    USERS.fetch_add(1, Ordering::Relaxed);
    Ok(())
}

/// Undoes one [`initialise`].
pub(crate) fn shut_down() -> Result<()> {
    let less = |users: usize| users.checked_sub(1);
    USERS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).map(drop).map_err(|_| Error::UNINITIALIZED)
}

/// Whether functions work.
pub(crate) fn initialised() -> Result<()> {
    if USERS.load(Ordering::Relaxed) > 0 { Ok(()) } else { Err(Error::UNINITIALIZED) }
}

/// All devices.
pub(crate) fn devices() -> Result<impl Iterator<Item = Device>> {
    initialised()?;
    let mut count = 0;
    // SAFETY: a place for a number.
    unsafe { cu::cuDeviceGetCount(&raw mut count)? };
    Ok((0..count).map(Device))
}

/// The device that a handle means.
pub(crate) fn device(handle: sys::nvmlDevice_t) -> Result<Device> {
    devices()?.find(|device| device.handle() == handle).ok_or(Error::INVALID_ARGUMENT)
}

/// The first device of which something holds.
pub(crate) fn find(mut is: impl FnMut(Device) -> Result<bool>) -> Result<sys::nvmlDevice_t> {
    for device in devices()? {
        if is(device)? {
            return Ok(device.handle());
        }
    }
    Err(Error::NOT_FOUND)
}

impl Device {
    /// Its handle.
    pub(crate) fn handle(self) -> sys::nvmlDevice_t {
        std::ptr::without_provenance_mut((self.index() as usize + 1) << SHIFT)
    }

    /// Its number.
    pub(crate) fn index(self) -> u32 {
        self.0.unsigned_abs()
    }

    /// One of the driver's attributes.
    pub(crate) fn attribute(self, which: driver::CUdevice_attribute) -> Result<u32> {
        let mut value: c_int = 0;
        // SAFETY: a place for a number.
        unsafe { cu::cuDeviceGetAttribute(&raw mut value, which, self.0)? };
        u32::try_from(value).map_err(|_| Error::NOT_SUPPORTED)
    }

    /// Its marketing name.
    pub(crate) fn name(self) -> Result<String> {
        let mut text = [0; NAME];
        // SAFETY: a buffer of the given size.
        unsafe { cu::cuDeviceGetName(text.as_mut_ptr(), NAME as c_int, self.0)? };
        Ok(shown(&text))
    }

    /// Its identity, as this API writes it.
    pub(crate) fn uuid(self) -> Result<String> {
        let mut uuid = driver::CUuuid { bytes: [0; 16] };
        // SAFETY: a place for an identity.
        unsafe { cu::cuDeviceGetUuid_v2(&raw mut uuid, self.0)? };
        let digits: String = uuid.bytes.iter().map(|&byte| format!("{:02x}", byte as u8)).collect();
        let parts = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
        Ok(format!("GPU-{}", parts.join("-")))
    }

    /// Where it is on the bus.
    pub(crate) fn place(self) -> Result<PciAddress> {
        Ok(PciAddress {
            domain: self.attribute(driver::CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID)?,
            bus: self.attribute(driver::CU_DEVICE_ATTRIBUTE_PCI_BUS_ID)?,
            device: self.attribute(driver::CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID)?,
        })
    }

    /// The device at a bus address in any of the spellings that the driver takes.
    pub(crate) fn at(bus: &CStr) -> Result<Self> {
        let wanted = bus.to_str().map_err(|_| Error::INVALID_ARGUMENT)?;
        let fields = |text: &str| {
            let mut parts = text.rsplit([':', '.']).map(|part| u32::from_str_radix(part, 16).ok());
            // Function, device, bus, domain; the last may be left out.
            [parts.next(), parts.next(), parts.next(), parts.next().or(Some(Some(0)))]
        };
        devices()?
            .find(|device| device.bus_id().is_ok_and(|id| fields(&id) == fields(wanted)))
            .ok_or(Error::NOT_FOUND)
    }

    /// Its bus address as the driver writes it.
    fn bus_id(self) -> Result<String> {
        let mut text = [0; BUS];
        // SAFETY: a buffer of the given size.
        unsafe { cu::cuDeviceGetPCIBusId(text.as_mut_ptr(), BUS as c_int, self.0)? };
        Ok(shown(&text))
    }

    /// Whether this process has a context on it.
    pub(crate) fn in_use(self) -> Result<bool> {
        let (mut flags, mut active) = (0, 0);
        // SAFETY: places for numbers.
        unsafe { cu::cuDevicePrimaryCtxGetState(self.0, &raw mut flags, &raw mut active)? };
        Ok(active != 0)
    }

    /// Its memory. Only this process uses a virtual device, and only if it has a context.
    pub(crate) fn memory(self) -> Result<Memory> {
        let (mut free, mut total) = (0, 0);
        if !self.in_use()? {
            // SAFETY: a place for a number.
            unsafe { cu::cuDeviceTotalMem_v2(&raw mut total, self.0)? };
            return Ok(Memory { total: total as u64, free: total as u64 });
        }
        let (mut context, mut popped) = (null_mut(), null_mut());
        // SAFETY: places for handles and numbers; the context is current only between the inner calls.
        unsafe {
            cu::cuDevicePrimaryCtxRetain(&raw mut context, self.0)?;
            let asked = cu::cuCtxPushCurrent_v2(context).and_then(|()| {
                let asked = cu::cuMemGetInfo_v2(&raw mut free, &raw mut total);
                cu::cuCtxPopCurrent_v2(&raw mut popped).and(asked)
            });
            cu::cuDevicePrimaryCtxRelease_v2(self.0)?;
            asked?;
        }
        Ok(Memory { total: total as u64, free: free as u64 })
    }

    /// Compute capability.
    pub(crate) fn capability(self) -> Result<(u32, u32)> {
        Ok((
            self.attribute(driver::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            self.attribute(driver::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        ))
    }
}

/// Text that ends with a zero.
fn shown(text: &[c_char]) -> String {
    text.iter().take_while(|&&byte| byte != 0).map(|&byte| char::from(byte as u8)).collect()
}
