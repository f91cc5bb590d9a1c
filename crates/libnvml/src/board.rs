//! What a board has beside its device: power, heat, fans, error-correcting memory, its link to the host.
//!
//! A virtual GPU has none of that, but tools print it, and some stop where it is missing. So they are told of a board that has
//! nothing to do: what an H200 without work answers (driver 580.159.04), and for other boards the same in proportion to
//! what their data sheets say.

use crate::ffi::{Error, Result};
use crate::state::Device;
use driver_api::sys as driver;

/// Degrees Celsius of a board without work.
pub(crate) const TEMPERATURE: u32 = 36;
/// Degrees at which a board stops, slows down, and should be kept below, for its memory and its processor.
pub(crate) const SHUTDOWN: u32 = 95;
pub(crate) const SLOWDOWN: u32 = 89;
pub(crate) const MEMORY_MOST: u32 = 95;
pub(crate) const GPU_MOST: u32 = 87;
/// Degrees between an H200's temperature and where it must slow down.
pub(crate) const MARGIN: u32 = 52;
/// MHz of the multiprocessors without work, and those of the video units.
pub(crate) const IDLE_CLOCK: u32 = 345;
pub(crate) const VIDEO_CLOCK: u32 = 765;
pub(crate) const MOST_VIDEO_CLOCK: u32 = 1545;
/// The part of its limit that a board draws without work: an H200 78.7 W of 700 W.
const IDLE_PART: u32 = 9;
/// The part of its limit that it can be limited to: an H200 200 W of 700 W.
const LEAST_PART: (u32, u32) = (2, 7);
const MILLIWATTS: u32 = 1000;
/// Lanes to the host.
pub(crate) const PCIE_WIDTH: u32 = 16;

/// A board of a data sheet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Board {
    /// The device's name ends like this.
    name: &'static str,
    /// Watts at most.
    watts: u32,
    /// Fans of its own; boards for servers have none.
    pub(crate) fans: u32,
    /// The generation of its PCI Express.
    pub(crate) pcie: u32,
}

const fn board(name: &'static str, watts: u32, fans: u32, pcie: u32) -> Board {
    Board { name, watts, fans, pcie }
}

/// By the data sheets of NVIDIA's products.
const BOARDS: [Board; 10] = [
    board("H200", 700, 0, 5),
    board("H100 80GB HBM3", 700, 0, 5),
    board("L40S", 350, 0, 4),
    board("B200", 1000, 0, 5),
    board("RTX 5090", 575, 2, 5),
    board("RTX 4090", 450, 2, 4),
    board("RTX 3090", 350, 2, 4),
    board("A100-SXM4-80GB", 400, 0, 4),
    board("T4", 70, 0, 3),
    board("V100-SXM2-32GB", 300, 0, 3),
];

impl Device {
    /// The board that it is on.
    pub(crate) fn board(self) -> Result<Board> {
        let name = self.name()?;
        BOARDS.into_iter().find(|board| name.ends_with(board.name)).ok_or(Error::NOT_SUPPORTED)
    }

    /// Whether its memory corrects errors, as the driver says.
    pub(crate) fn corrects_errors(self) -> Result<bool> {
        Ok(self.attribute(driver::CU_DEVICE_ATTRIBUTE_ECC_ENABLED)? != 0)
    }
}

impl Board {
    /// The most that it draws.
    pub(crate) fn limit(self) -> u32 {
        self.watts * MILLIWATTS
    }

    /// The least that it can be limited to.
    pub(crate) fn least_limit(self) -> u32 {
        self.limit() / LEAST_PART.1 * LEAST_PART.0
    }

    /// What it draws without work.
    pub(crate) fn draws(self) -> u32 {
        self.limit() / IDLE_PART
    }
}
