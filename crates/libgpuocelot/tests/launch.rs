//! What tinygrad's mock does: open the library by name, and hand over PTX and pointers of its own.

use libloading::{Library, Symbol};
use std::ffi::{CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

type Run = unsafe extern "C" fn(
    *const c_char,
    c_int,
    *mut *mut c_void,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
) -> u32;

const SUCCESS: u32 = 0;
const INVALID_VALUE: u32 = 1;
const INVALID_PTX: u32 = 218;
const NOT_FOUND: u32 = 500;
const ILLEGAL_ADDRESS: u32 = 700;

/// `to[i] = from[i] * factor + i` for each of the 32 threads of two blocks.
const SCALE: &str = "
.version 7.8
.target sm_35
.address_size 64
.visible .entry scale(.param .u64 to, .param .u64 from, .param .u32 factor)
{
    .reg .b32 %r<7>;
    .reg .b64 %p<4>;
    ld.param.u64 %p0, [to];
    ld.param.u64 %p1, [from];
    ld.param.u32 %r0, [factor];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    mul.wide.u32 %p2, %r4, 4;
    add.u64 %p3, %p1, %p2;
    ld.global.u32 %r5, [%p3];
    mad.lo.u32 %r6, %r5, %r0, %r4;
    add.u64 %p3, %p0, %p2;
    st.global.u32 [%p3], %r6;
    ret;
}";

/// Where the libraries are put.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("gpuocelot")
}

/// The library with the driver's beside it, as it is installed: one for the process, as there is one driver.
fn library() -> &'static Library {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let test = std::env::current_exe().unwrap();
        let deps = test.parent().unwrap();
        let folder = folder();
        std::fs::create_dir_all(&folder).unwrap();
        for (built, name) in [("libcuda.so", "libcuda.so.1"), ("libgpuocelot.so", "libgpuocelot.so")] {
            std::fs::copy(deps.join(built), folder.join(name)).unwrap();
        }
        // SAFETY: it has no initialisers that do anything.
        unsafe { Library::new(folder.join("libgpuocelot.so")).unwrap() }
    })
}

/// Calls the function with numbers and with pointers, which are passed alike.
fn run(source: &str, arguments: &mut [*mut c_void], blocks: c_int) -> u32 {
    let source = CString::new(source).unwrap();
    // SAFETY: the type is the function's; the arguments are as many as is said.
    unsafe {
        let run: Symbol<'_, Run> = library().get(b"ptx_run").unwrap();
        run(source.as_ptr(), arguments.len() as c_int, arguments.as_mut_ptr(), 16, 1, 1, blocks, 1, 1, 0)
    }
}

fn number(value: usize) -> *mut c_void {
    std::ptr::without_provenance_mut(value)
}

#[test]
fn kernels_work_on_memory_of_the_program() {
    // Small buffers lie in the heap, large ones have mappings of their own.
    for length in [32, 1 << 20] {
        let (mut to, mut from) = (vec![0_u32; length], vec![0_u32; length]);
        from.iter_mut().zip(100..).for_each(|(place, value)| *place = value);
        for factor in [3, 7] {
            let mut arguments = [to.as_mut_ptr().cast(), from.as_mut_ptr().cast(), number(factor)];
            assert_eq!(run(SCALE, &mut arguments, 2), SUCCESS);
            let factor = factor as u32;
            let expected: Vec<u32> = (0..32).map(|i| (100 + i) * factor + i).collect();
            assert_eq!(to[..32], expected, "{length} elements, times {factor}");
            assert!(to[32..].iter().all(|&untouched| untouched == 0));
        }
    }
    let mut buffer = vec![0_u32; 1 << 20];
    let place: *mut c_void = buffer.as_mut_ptr().cast();
    // Nothing is there.
    assert_eq!(run(SCALE, &mut [number(4096), place, number(1)], 2), ILLEGAL_ADDRESS);
    assert_eq!(run(SCALE, &mut [place, place], 2), INVALID_VALUE);
    assert_eq!(run(SCALE, &mut [place, place, number(1)], -1), INVALID_VALUE);
    assert_eq!(run("not PTX", &mut [], 1), INVALID_PTX);
    assert_eq!(run(".version 7.8\n.target sm_35\n.address_size 64\n", &mut [], 1), NOT_FOUND);
    // None of that is in the way of the next.
    buffer.fill(5);
    let place: *mut c_void = buffer.as_mut_ptr().cast();
    assert_eq!(run(SCALE, &mut [place, place, number(2)], 2), SUCCESS);
    assert_eq!(buffer[..32], (0..32).map(|i| 10 + i).collect::<Vec<u32>>());
}

/// As the mock does, in Python: the table of buffers is where it has it, and says where they end.
#[test]
fn buffers_end_where_the_mock_says() {
    library();
    let python = Command::new("python3")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mock.py"))
        .arg(folder())
        .env("SCALE", SCALE)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&python.stderr);
    assert_eq!(String::from_utf8_lossy(&python.stdout), "mock: passed\n", "{said}");
    assert!(said.contains("illegal address: store of 4 bytes"), "{said}");
}

#[test]
fn threads_take_turns() {
    std::thread::scope(|scope| {
        for factor in 1..5 {
            scope.spawn(move || {
                for _ in 0..20 {
                    let (mut to, mut from) = (vec![0_u32; 32], vec![1_u32; 32]);
                    let mut arguments = [to.as_mut_ptr().cast(), from.as_mut_ptr().cast(), number(factor)];
                    assert_eq!(run(SCALE, &mut arguments, 2), SUCCESS);
                    assert_eq!(to, (0..32).map(|i| factor as u32 + i).collect::<Vec<u32>>());
                }
            });
        }
    });
}
