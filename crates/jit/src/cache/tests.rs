use super::*;
use std::os::unix::fs::PermissionsExt;

/// A cache in a folder of its own, which goes with the first value.
fn cache() -> (tempfile::TempDir, Cache) {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::at(folder.path().join("warploom"));
    (folder, cache)
}

fn key(number: u8) -> Key {
    Key([number; DIGEST])
}

#[test]
fn what_was_stored_comes_back() {
    let (_folder, cache) = cache();
    assert_eq!(cache.load(&key(1)), None);
    cache.store(&key(1), b"one");
    cache.store(&key(2), b"two");
    assert_eq!(cache.load(&key(1)).as_deref(), Some(&b"one"[..]));
    assert_eq!(cache.load(&key(2)).as_deref(), Some(&b"two"[..]));
    assert_eq!(cache.kept().unwrap().files, 2);
    assert_eq!(cache.folder.metadata().unwrap().mode() & 0o777, 0o700);
    assert_eq!(cache.clear().unwrap().files, 2);
    assert_eq!(cache.load(&key(1)), None);
    assert_eq!(cache.kept().unwrap(), Kept::default());
}

/// Every byte of a file counts, and so does its name.
#[test]
fn what_is_damaged_is_not_used() {
    let (_folder, cache) = cache();
    cache.store(&key(1), b"object");
    let path = cache.folder.join(key(1).file());
    let whole = fs::read(&path).unwrap();
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        fs::write(&path, damaged).unwrap();
        assert_eq!(cache.load(&key(1)), None, "byte {at}");
    }
    for bytes in 0..whole.len() {
        fs::write(&path, &whole[..bytes]).unwrap();
        assert_eq!(cache.load(&key(1)), None, "{bytes} bytes");
    }
    fs::write(cache.folder.join(key(2).file()), &whole).unwrap();
    assert_eq!(cache.load(&key(2)), None);
    fs::write(&path, &whole).unwrap();
    assert!(cache.load(&key(1)).is_some());
}

#[test]
fn what_others_may_write_is_not_used() {
    let (_folder, cache) = cache();
    cache.store(&key(1), b"object");
    let path = cache.folder.join(key(1).file());
    let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    set(&path, 0o666);
    assert_eq!(cache.load(&key(1)), None);
    set(&path, 0o600);
    assert!(cache.load(&key(1)).is_some());
    set(&cache.folder, 0o777);
    assert_eq!(cache.load(&key(1)), None);
    cache.store(&key(2), b"object");
    assert_eq!(cache.kept().unwrap().files, 1);
    set(&cache.folder, 0o700);
    // Another user's, where the test may make it so.
    if std::os::unix::fs::chown(&path, Some(12345), None).is_ok() {
        assert_eq!(cache.load(&key(1)), None);
    }
}

#[test]
fn links_are_not_followed() {
    let (folder, cache) = cache();
    cache.store(&key(1), b"object");
    let (path, elsewhere) = (cache.folder.join(key(1).file()), folder.path().join("elsewhere"));
    fs::rename(&path, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
    assert_eq!(cache.load(&key(1)), None);
}

#[test]
fn what_was_not_used_for_longest_goes() {
    let (_folder, cache) = cache();
    for number in 0..8 {
        cache.store(&key(number), &[number; 1000]);
        let file = File::open(cache.folder.join(key(number).file())).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(number.into())).unwrap();
    }
    // Used now, so it stays.
    assert!(cache.load(&key(0)).is_some());
    let each = cache.kept().unwrap().bytes / 8;
    cache.shrink(each * 8);
    assert_eq!(cache.kept().unwrap().files, 8);
    cache.shrink(each * 4);
    let left: Vec<u8> = (0..8).filter(|&number| cache.load(&key(number)).is_some()).collect();
    assert_eq!(left, [0, 6, 7]);
}

/// Readers see whole files or none while others write and remove them.
#[test]
fn processes_meet() {
    let (_folder, cache) = cache();
    let object = vec![7; 100_000];
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for round in 0..50 {
                    cache.store(&key(1), &object);
                    if let Some(found) = cache.load(&key(1)) {
                        assert!(found == object);
                    }
                    if round % 10 == 0 {
                        let _ = cache.clear();
                    }
                }
            });
        }
    });
    cache.store(&key(1), &object);
    assert_eq!(cache.load(&key(1)), Some(object));
    // Nothing is left behind of what was removed before it was whole.
    let entries = fs::read_dir(&cache.folder).unwrap().map(|entry| entry.unwrap().file_name());
    let begun = entries.filter(|name| name.to_string_lossy().starts_with('.')).count();
    assert_eq!((begun, cache.kept().unwrap().files), (0, 1));
}
