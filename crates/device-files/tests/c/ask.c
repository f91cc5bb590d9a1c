// Asks about a path in the ways that C has, and says what it hears: which ways found a device, and whether it opens.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int count, char **arguments) {
    for (int i = 1; i < count; i++) {
        const char *path = arguments[i];
        struct stat one, other;
        struct statx extended;
        int found = stat(path, &one) == 0 && S_ISCHR(one.st_mode);
        int at = fstatat(AT_FDCWD, path, &other, 0) == 0 && S_ISCHR(other.st_mode);
        int full = statx(AT_FDCWD, path, 0, STATX_TYPE, &extended) == 0 && S_ISCHR(extended.stx_mode);
        int allowed = access(path, R_OK | W_OK) == 0 && faccessat(AT_FDCWD, path, R_OK, 0) == 0;
        printf("%d%d%d%d%d\n", found, at, full, allowed, open(path, O_RDWR) >= 0);
    }
    return 0;
}
