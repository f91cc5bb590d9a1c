use super::*;
use std::os::unix::fs::PermissionsExt;

/// What stands for a library here.
fn content() -> Vec<u8> {
    (0..50_000_u32).flat_map(|number| number.wrapping_mul(number).to_le_bytes()).collect()
}

fn packed() -> Packed {
    let mut packer = packing::packer(Vec::new()).unwrap();
    packer.write_all(&content()).unwrap();
    Packed(packer.finish().unwrap())
}

fn cache() -> (tempfile::TempDir, Cache) {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::at(folder.path().join("warploom"));
    (folder, cache)
}

/// The names in the folder of a cache.
fn names(cache: &Cache) -> Vec<String> {
    let entries = fs::read_dir(cache.folder()).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn names_say_what_is_packed() {
    assert!(Packed::at(Path::new("libLLVM.so.19.1")).is_none());
    assert!(Packed::at(Path::new("/nowhere/libLLVM.so.xz")).is_some_and(|packed| packed.is_err()));
}

#[test]
fn one_is_kept_for_all() {
    let (_folder, cache) = cache();
    let file = packed().keep_in(&cache).unwrap();
    assert_eq!(fs::read(&file).unwrap(), content());
    let first = fs::metadata(&file).unwrap().modified().unwrap();
    assert_eq!(packed().keep_in(&cache).unwrap(), file);
    assert_eq!(fs::metadata(&file).unwrap().modified().unwrap(), first);
    assert_eq!(names(&cache).len(), 1);
    cache.clear().unwrap();
    assert!(!file.exists());
}

#[test]
fn what_is_cut_or_another_users_is_made_anew() {
    let (_folder, cache) = cache();
    let file = packed().keep_in(&cache).unwrap();
    for bytes in [0, content().len() - 1, content().len() + 1] {
        File::options().write(true).open(&file).unwrap().set_len(bytes as u64).unwrap();
        assert_eq!(fs::read(packed().keep_in(&cache).unwrap()).unwrap(), content(), "{bytes}");
    }
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    packed().keep_in(&cache).unwrap();
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o022, 0);
    let elsewhere = cache.folder().join("elsewhere");
    fs::rename(&file, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &file).unwrap();
    packed().keep_in(&cache).unwrap();
    assert!(fs::symlink_metadata(&file).unwrap().is_file());
}

#[test]
fn what_is_damaged_is_not_kept() {
    let (_folder, cache) = cache();
    let whole = packed().0;
    for at in (0..whole.len()).step_by(whole.len() / 50) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        for packed in [Packed(damaged), Packed(whole[..at].to_vec())] {
            assert!(packed.keep_in(&cache).is_err(), "byte {at}");
            assert!(packed.in_memory().is_err(), "byte {at}");
        }
    }
    assert_eq!(names(&cache), [""; 0]);
}

/// A folder that others may write is none that code is loaded from; memory is left.
#[test]
fn where_nothing_can_be_kept_there_is_memory() {
    let (folder, cache) = cache();
    fs::create_dir(cache.folder()).unwrap();
    fs::set_permissions(cache.folder(), fs::Permissions::from_mode(0o777)).unwrap();
    assert!(packed().keep_in(&cache).is_err());
    assert_eq!(names(&cache), [""; 0]);
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(packed().keep_in(&Cache::at(file.join("warploom"))).is_err());
    let memory = packed().in_memory().unwrap();
    let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&memory));
    assert_eq!(fs::read(path).unwrap(), content());
}

#[test]
fn processes_meet() {
    let (_folder, cache) = cache();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..10 {
                    // Whole or gone, never in part.
                    let file = packed().keep_in(&cache).unwrap();
                    if let Ok(found) = fs::read(&file) {
                        assert!(found == content());
                    }
                    let _ = cache.clear();
                }
            });
        }
    });
    packed().keep_in(&cache).unwrap();
    assert_eq!(names(&cache).len(), 1);
}
