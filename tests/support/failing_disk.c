/* Preloaded into a program: its calls on files below $FAILING_BELOW fail, are cut short or wait, as the
   shared words in $FAILING_CONTROL say at that moment. Everything else goes through untouched. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum { OPEN = 1, WRITE = 2, SYNC = 4, CUT = 8, RENAME = 16, FOLDER = 32 };

/* calls: which fail; error: with what (0: they do not fail); most: bytes a write takes at once (0: all);
   wait: milliseconds that a call takes; met: how many calls were harmed so far. */
struct control { volatile int calls, error, most, wait, met; };

static struct control *control(void) {
    static struct control *found;
    const char *path = getenv("FAILING_CONTROL");
    if (found || !path) return found;
    int (*really)(const char *, int, ...) = dlsym(RTLD_NEXT, "open");
    int fd = really(path, O_RDWR);
    if (fd < 0) return NULL;
    void *shared = mmap(NULL, sizeof *found, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (shared != MAP_FAILED) found = shared;
    return found;
}

static int below(const char *path) {
    const char *folder = getenv("FAILING_BELOW");
    return folder && path && !strncmp(path, folder, strlen(folder));
}

static int fd_below(int fd) {
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return below(path);
}

/* Whether a call of that kind fails now; errno is set. */
static int harmed(int kind) {
    struct control *now = control();
    if (!now || !(now->calls & kind)) return 0;
    __sync_fetch_and_add(&now->met, 1);
    if (now->wait) usleep(now->wait * 1000);
    if (!now->error) return 0;
    errno = now->error;
    return 1;
}

#define OPENING(name, arguments, given, path)                                   \
    int name arguments {                                                        \
        int mode = 0;                                                           \
        va_list rest;                                                           \
        va_start(rest, flags);                                                  \
        if (flags & (O_CREAT | O_TMPFILE)) mode = va_arg(rest, int);            \
        va_end(rest);                                                           \
        if ((flags & O_ACCMODE) != O_RDONLY && below(path) && harmed(OPEN)) return -1; \
        int (*really) arguments = dlsym(RTLD_NEXT, #name);                      \
        return really given;                                                    \
    }

OPENING(open, (const char *path, int flags, ...), (path, flags, mode), path)
OPENING(open64, (const char *path, int flags, ...), (path, flags, mode), path)
OPENING(openat, (int at, const char *path, int flags, ...), (at, path, flags, mode), path)
OPENING(openat64, (int at, const char *path, int flags, ...), (at, path, flags, mode), path)

ssize_t write(int fd, const void *data, size_t count) {
    ssize_t (*really)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
    struct control *now = control();
    if (now && (now->calls & WRITE) && fd_below(fd)) {
        if (harmed(WRITE)) return -1;
        if (now->most && count > (size_t)now->most) count = now->most;
    }
    return really(fd, data, count);
}

#define ON_A_FILE(name, kind, arguments, given)                          \
    int name arguments {                                                 \
        int (*really) arguments = dlsym(RTLD_NEXT, #name);               \
        struct control *now = control();                                 \
        if (now && (now->calls & kind) && fd_below(fd) && harmed(kind)) return -1; \
        return really given;                                             \
    }

ON_A_FILE(fsync, SYNC, (int fd), (fd))
ON_A_FILE(fdatasync, SYNC, (int fd), (fd))
ON_A_FILE(ftruncate, CUT, (int fd, off_t size), (fd, size))
ON_A_FILE(ftruncate64, CUT, (int fd, off64_t size), (fd, size))

int rename(const char *from, const char *to) {
    int (*really)(const char *, const char *) = dlsym(RTLD_NEXT, "rename");
    return below(to) && harmed(RENAME) ? -1 : really(from, to);
}

int mkdir(const char *path, mode_t mode) {
    int (*really)(const char *, mode_t) = dlsym(RTLD_NEXT, "mkdir");
    return below(path) && harmed(FOLDER) ? -1 : really(path, mode);
}
