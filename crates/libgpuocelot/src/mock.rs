//! How long buffers are, where somebody knows: tinygrad's mock, if this process is a Python that has loaded it.
//!
//! Its CUDA driver allocates `bytearray`s and keeps them in a table, address to `memoryview`. The functions of Python that read it are
//! those of its stable interface, found in the process; a process without them is no Python.

use libloading::os::unix::Library;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ops::Range;
use std::ptr::null_mut;

/// The module, and the attributes on the way to the table.
const MODULE: &CStr = c"test.mockgpu.cuda.cuda";
const TABLE: [&CStr; 2] = [c"cuda_state", c"memory"];

type Object = *mut c_void;

/// The functions of Python that are called here.
struct Python {
    is_initialized: unsafe extern "C" fn() -> c_int,
    ensure: unsafe extern "C" fn() -> c_int,
    release: unsafe extern "C" fn(c_int),
    modules: unsafe extern "C" fn() -> Object,
    item: unsafe extern "C" fn(Object, *const c_char) -> Object,
    attribute: unsafe extern "C" fn(Object, *const c_char) -> Object,
    next: unsafe extern "C" fn(Object, *mut isize, *mut Object, *mut Object) -> c_int,
    number: unsafe extern "C" fn(Object) -> u64,
    length: unsafe extern "C" fn(Object) -> isize,
    drop: unsafe extern "C" fn(Object),
    clear: unsafe extern "C" fn(),
}

impl Python {
    /// This process's.
    fn found() -> Option<Self> {
        let process = Library::this();
        // SAFETY: the types are those of Python's manual.
        unsafe {
            macro_rules! function {
                ($name:literal) => {
                    *process.get($name).ok()?
                };
            }
            Some(Self {
                is_initialized: function!(b"Py_IsInitialized"),
                ensure: function!(b"PyGILState_Ensure"),
                release: function!(b"PyGILState_Release"),
                modules: function!(b"PyImport_GetModuleDict"),
                item: function!(b"PyDict_GetItemString"),
                attribute: function!(b"PyObject_GetAttrString"),
                next: function!(b"PyDict_Next"),
                number: function!(b"PyLong_AsUnsignedLongLong"),
                length: function!(b"PyObject_Size"),
                drop: function!(b"Py_DecRef"),
                clear: function!(b"PyErr_Clear"),
            })
        }
    }

    /// The buffers in the mock's table; nothing if it is not loaded.
    ///
    /// # Safety
    /// This thread holds Python's lock.
    unsafe fn buffers(&self) -> Option<Vec<Range<u64>>> {
        let mut buffers = Vec::new();
        // SAFETY: by contract; objects are used while they are held, borrowed ones while the table is.
        unsafe {
            let module = (self.item)((self.modules)(), MODULE.as_ptr());
            let state = self.of(module, TABLE[0])?;
            let table = self.of(state, TABLE[1]);
            (self.drop)(state);
            let table = table?;
            let (mut at, mut address, mut view) = (0, null_mut(), null_mut());
            while (self.next)(table, &raw mut at, &raw mut address, &raw mut view) != 0 {
                let (start, bytes) = ((self.number)(address), (self.length)(view));
                if let Some(end) = u64::try_from(bytes).ok().and_then(|bytes| start.checked_add(bytes)) {
                    buffers.push(start..end);
                }
            }
            (self.clear)();
            (self.drop)(table);
        }
        Some(buffers)
    }

    /// An attribute of an object, which may not be there.
    ///
    /// # Safety
    /// As [`Python::buffers`].
    unsafe fn of(&self, object: Object, name: &CStr) -> Option<Object> {
        if object.is_null() {
            return None;
        }
        // SAFETY: by contract, and the object is there.
        let found = unsafe { (self.attribute)(object, name.as_ptr()) };
        if found.is_null() {
            // SAFETY: by contract.
            unsafe { (self.clear)() };
            return None;
        }
        Some(found)
    }
}

/// All buffers of the mock's, if this process has loaded it.
pub(crate) fn buffers() -> Option<Vec<Range<u64>>> {
    let python = Python::found()?;
    // SAFETY: where Python is running, its lock is taken, and given back.
    unsafe {
        if (python.is_initialized)() == 0 {
            return None;
        }
        let lock = (python.ensure)();
        let buffers = python.buffers();
        (python.release)(lock);
        buffers
    }
}
