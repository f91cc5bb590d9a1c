//! The target architectures and the PTX version that introduced each (PTX ISA, "Directives: .target").

use crate::types::{Arch, ArchVariant, Version};

const fn target(sm: u16, variant: ArchVariant, major: u8, minor: u8) -> (Arch, Version) {
    (Arch { sm, variant }, Version { major, minor })
}

/// Every target architecture with the first PTX version that knows it, oldest first.
pub const TARGETS: [(Arch, Version); 43] = {
    use ArchVariant::{Base, Family, Specific};
    [
        target(10, Base, 1, 0),
        target(11, Base, 1, 0),
        target(12, Base, 1, 2),
        target(13, Base, 1, 2),
        target(20, Base, 2, 0),
        target(30, Base, 3, 0),
        target(32, Base, 4, 0),
        target(35, Base, 3, 1),
        target(37, Base, 4, 1),
        target(50, Base, 4, 0),
        target(52, Base, 4, 1),
        target(53, Base, 4, 2),
        target(60, Base, 5, 0),
        target(61, Base, 5, 0),
        target(62, Base, 5, 0),
        target(70, Base, 6, 0),
        target(72, Base, 6, 1),
        target(75, Base, 6, 3),
        target(80, Base, 7, 0),
        target(86, Base, 7, 1),
        target(87, Base, 7, 4),
        target(88, Base, 9, 0),
        target(89, Base, 7, 8),
        target(90, Base, 7, 8),
        target(90, Specific, 8, 0),
        target(100, Base, 8, 6),
        target(100, Family, 8, 8),
        target(100, Specific, 8, 6),
        target(101, Base, 8, 6),
        target(101, Family, 8, 8),
        target(101, Specific, 8, 6),
        target(103, Base, 8, 8),
        target(103, Family, 8, 8),
        target(103, Specific, 8, 8),
        target(110, Base, 9, 0),
        target(110, Family, 9, 0),
        target(110, Specific, 9, 0),
        target(120, Base, 8, 7),
        target(120, Family, 8, 8),
        target(120, Specific, 8, 7),
        target(121, Base, 8, 8),
        target(121, Family, 8, 8),
        target(121, Specific, 8, 8),
    ]
};
