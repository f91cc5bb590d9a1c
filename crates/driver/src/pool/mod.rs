//! Memory pools: memory that streams allocate and free in their order (CUDA programming guide, "Stream Ordered Memory
//! Allocator").
//!
//! What a stream frees stays with the pool, with the place in the stream's order where it was freed. The next
//! allocation takes it up if that place lies before its own: in the same stream always, in another one when the place is
//! passed or, when there is no other memory, by waiting for it. What a pool keeps unused beyond its release threshold
//! it gives back when the program waits for something.
//!
//! A pool's memory is a device's, page-locked memory of the host, or managed memory. Every allocation is one of the
//! machine's own, so that an access beyond its end is found.
//!
//! A pool that other processes share is known to them by a file that names it; they see the allocations that they are
//! told of one by one ([`crate::ipc`]), and allocate nothing from it.
//!
//! | module | what it alone knows |
//! | --- | --- |
//! | `reserve` | one pool: what it has reserved, what of it is used and what is free again |
//! | `registry` | the pools of a process, and the pool that an allocation is of |
//! | `stream_ordered` | allocating and freeing at a place in a stream's order |

mod registry;
mod reserve;
mod stream_ordered;

pub use reserve::{Home, Origin, Pool, Sharing, Statistics};
