//! What NVIDIA's compilers pack device code into. So far: fatbins, the containers that hold one program for several
//! architectures, and the host objects and archives that hold fatbins. Bytes go in, borrowed views come out; nothing here knows what the code means.

pub mod fatbin;
pub mod object;
