// Says which library of a name it got: one it is linked with, and one that it loads by its path.
#include <dlfcn.h>
#include <stdio.h>

const char *linked(void);

static void load(const char *path) {
    void *library = dlopen(path, RTLD_NOW);
    const char *(*loaded)(void) = library ? (const char *(*)(void))dlsym(library, "loaded") : NULL;
    printf("%s\n", loaded ? loaded() : dlerror());
}

int main(int count, char **arguments) {
    printf("%s\n", linked());
    for (int i = 1; i < count; i++)
        load(arguments[i]);
    return 0;
}
