//! What management tools do: open the library by name, and ask.

use libloading::{Library, Symbol};
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_ulonglong, c_void};
use std::path::Path;
use std::ptr::null_mut;

type Handle = *mut c_void;
type Text = unsafe extern "C" fn(Handle, *mut c_char, c_uint) -> c_uint;
type Number = unsafe extern "C" fn(Handle, *mut c_uint) -> c_uint;

const UNINITIALIZED: c_uint = 1;
const INVALID_ARGUMENT: c_uint = 2;
const NOT_SUPPORTED: c_uint = 3;
const NOT_FOUND: c_uint = 6;
const INSUFFICIENT_SIZE: c_uint = 7;

/// The library, with the driver's beside it, as it is installed.
fn open() -> Library {
    let test = std::env::current_exe().unwrap();
    let deps = test.parent().unwrap();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("management");
    std::fs::create_dir_all(&folder).unwrap();
    for (built, name) in [("libcuda.so", "libcuda.so.1"), ("libnvml.so", "libnvidia-ml.so.1")] {
        std::fs::copy(deps.join(built), folder.join(name)).unwrap();
    }
    // SAFETY: it has no initialisers that do anything.
    unsafe { Library::new(folder.join("libnvidia-ml.so.1")).unwrap() }
}

fn function<'l, T>(library: &'l Library, name: &str) -> Symbol<'l, T> {
    // SAFETY: the types are those of nvml.h.
    unsafe { library.get(name.as_bytes()).unwrap_or_else(|error| panic!("{name}: {error}")) }
}

fn text(call: impl FnOnce(*mut c_char, c_uint) -> c_uint) -> String {
    let mut buffer = [0_u8; 96];
    assert_eq!(call(buffer.as_mut_ptr().cast(), buffer.len() as c_uint), 0);
    CStr::from_bytes_until_nul(&buffer).unwrap().to_str().unwrap().to_owned()
}

type WithArgument = unsafe extern "C" fn(Handle, c_uint, *mut c_uint) -> c_uint;

/// Compares answers with those of an H200.
fn answers_as_recorded(library: &Library, device: Handle) {
    let lines = include_str!("h200.txt").lines().filter(|line| !line.starts_with('#'));
    for line in lines {
        let (call, answer) = line.split_once(" = ").unwrap();
        // Some write a number of 64 bits.
        let mut value = 0_u64;
        let out = (&raw mut value).cast();
        // SAFETY: the functions have these types.
        let code = unsafe {
            match call.split_once(' ') {
                None => function::<Number>(library, call)(device, out),
                Some((name, argument)) => {
                    function::<WithArgument>(library, name)(device, argument.parse().unwrap(), out)
                }
            }
        };
        let answered = if code == 0 { format!("0 {value}") } else { code.to_string() };
        assert_eq!(answered, answer, "{call}");
    }
}

/// One test, since the library's state is the process's.
#[test]
fn tools_find_the_devices() {
    // SAFETY: no other thread reads the environment: this is the only test.
    unsafe { std::env::set_var("WARPLOOM_DEVICES", "h200,t4") };
    let library = open();
    let initialise: Symbol<'_, unsafe extern "C" fn() -> c_uint> = function(&library, "nvmlInit_v2");
    let shut_down: Symbol<'_, unsafe extern "C" fn() -> c_uint> = function(&library, "nvmlShutdown");
    let words: Symbol<'_, unsafe extern "C" fn(c_uint) -> *const c_char> =
        function(&library, "nvmlErrorString");
    let count: Symbol<'_, unsafe extern "C" fn(*mut c_uint) -> c_uint> =
        function(&library, "nvmlDeviceGetCount_v2");
    let by_index: Symbol<'_, unsafe extern "C" fn(c_uint, *mut Handle) -> c_uint> =
        function(&library, "nvmlDeviceGetHandleByIndex_v2");
    // SAFETY: every call is as nvml.h has it.
    unsafe {
        let mut number = 0;
        assert_eq!(count(&raw mut number), UNINITIALIZED);
        assert_eq!(shut_down(), UNINITIALIZED);
        assert_eq!(CStr::from_ptr(words(UNINITIALIZED)), c"Uninitialized");
        assert_eq!(initialise(), 0);
        assert_eq!((count(&raw mut number), number), (0, 2));
        let version: Symbol<'_, unsafe extern "C" fn(*mut c_int) -> c_uint> =
            function(&library, "nvmlSystemGetCudaDriverVersion_v2");
        let mut cuda = 0;
        assert_eq!((version(&raw mut cuda), cuda), (0, 13000));

        let mut devices = [null_mut(); 2];
        assert_eq!(by_index(0, &raw mut devices[0]), 0);
        assert_eq!(by_index(1, &raw mut devices[1]), 0);
        assert_eq!(by_index(2, &raw mut devices[0]), INVALID_ARGUMENT);
        let name: Symbol<'_, Text> = function(&library, "nvmlDeviceGetName");
        let uuid: Symbol<'_, Text> = function(&library, "nvmlDeviceGetUUID");
        assert_eq!(text(|buffer, size| name(devices[0], buffer, size)), "NVIDIA H200");
        assert_eq!(text(|buffer, size| name(devices[1], buffer, size)), "Tesla T4");
        assert_eq!(name(devices[0], (&raw mut number).cast(), 4), INSUFFICIENT_SIZE);
        assert_eq!(name(null_mut(), (&raw mut number).cast(), 4), INVALID_ARGUMENT);
        let identity = text(|buffer, size| uuid(devices[1], buffer, size));
        assert!(identity.starts_with("GPU-") && identity.len() == 40, "{identity}");
        let by_uuid: Symbol<'_, unsafe extern "C" fn(*const c_char, *mut Handle) -> c_uint> =
            function(&library, "nvmlDeviceGetHandleByUUID");
        let identity = CString::new(identity).unwrap();
        let mut found = null_mut();
        assert_eq!((by_uuid(identity.as_ptr(), &raw mut found), found), (0, devices[1]));
        assert_eq!(by_uuid(c"GPU-0".as_ptr(), &raw mut found), NOT_FOUND);
        let by_bus: Symbol<'_, unsafe extern "C" fn(*const c_char, *mut Handle) -> c_uint> =
            function(&library, "nvmlDeviceGetHandleByPciBusId_v2");
        for spelling in [c"00000000:02:00.0", c"0000:02:00.0", c"02:00.0"] {
            assert_eq!((by_bus(spelling.as_ptr(), &raw mut found), found), (0, devices[1]), "{spelling:?}");
        }

        #[repr(C)]
        struct Memory {
            version: c_uint,
            total: c_ulonglong,
            reserved: c_ulonglong,
            free: c_ulonglong,
            used: c_ulonglong,
        }
        let memory: Symbol<'_, unsafe extern "C" fn(Handle, *mut Memory) -> c_uint> =
            function(&library, "nvmlDeviceGetMemoryInfo_v2");
        let mut info = Memory { version: 40 | 2 << 24, total: 0, reserved: 0, free: 0, used: 9 };
        assert_eq!(memory(devices[1], &raw mut info), 0);
        // As much as the board has, or the host can give.
        assert!((1 << 20..=16 << 30).contains(&info.total) && info.free == info.total && info.used == 0);
        info.version = 1;
        assert_eq!(memory(devices[1], &raw mut info), 25);

        let capability: Symbol<'_, unsafe extern "C" fn(Handle, *mut c_int, *mut c_int) -> c_uint> =
            function(&library, "nvmlDeviceGetCudaComputeCapability");
        let (mut major, mut minor) = (0, 0);
        assert_eq!(capability(devices[1], &raw mut major, &raw mut minor), 0);
        assert_eq!((major, minor), (7, 5));
        let cores: Symbol<'_, Number> = function(&library, "nvmlDeviceGetNumGpuCores");
        assert_eq!((cores(devices[0], &raw mut number), number), (0, 16896));
        assert_eq!((cores(devices[1], &raw mut number), number), (0, 2560));
        answers_as_recorded(&library, devices[0]);
        let pair: Symbol<'_, unsafe extern "C" fn(Handle, *mut c_uint, *mut c_uint) -> c_uint> =
            function(&library, "nvmlDeviceGetEccMode");
        let (mut current, mut pending) = (7, 7);
        assert_eq!(pair(devices[0], &raw mut current, &raw mut pending), 0);
        assert_eq!((current, pending), (1, 1));
        let limits: Symbol<'_, unsafe extern "C" fn(Handle, *mut c_uint, *mut c_uint) -> c_uint> =
            function(&library, "nvmlDeviceGetPowerManagementLimitConstraints");
        assert_eq!(limits(devices[0], &raw mut current, &raw mut pending), 0);
        assert_eq!((current, pending), (200_000, 700_000));
        let power: Symbol<'_, Number> = function(&library, "nvmlDeviceGetPowerUsage");
        for (device, limit) in [(devices[0], 700_000), (devices[1], 70_000)] {
            assert_eq!(power(device, &raw mut number), 0);
            assert!((limit / 20..limit / 5).contains(&number), "{number}");
        }
        let temperature: Symbol<'_, WithArgument> = function(&library, "nvmlDeviceGetTemperature");
        assert_eq!(CStr::from_ptr(words(NOT_SUPPORTED)), c"Not Supported");
        assert_eq!(shut_down(), 0);
        assert_eq!(temperature(devices[0], 0, &raw mut number), UNINITIALIZED);
    }
}
