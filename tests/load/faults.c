/* Faults for a process and all that it starts: LD_PRELOAD this. LOAD_SEED: of the draws. LOAD_RATE: one of so many calls
   that write a file, put it on the disk, rename it or lock it fails. LOAD_CLOCK: one of so many looks at the wall clock
   moves it, by up to a day. Only files below LOAD_FOLDER are touched. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static unsigned long long state;
static long long moved;

static unsigned draw(void) {
    if (!state) state = strtoull(getenv("LOAD_SEED") ? getenv("LOAD_SEED") : "1", 0, 10) * 2654435761u + getpid();
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(state >> 33);
}

static int strikes(const char *name) {
    const char *rate = getenv(name);
    unsigned one_of = rate ? (unsigned)atoi(rate) : 0;
    return one_of && draw() % one_of == 0;
}

static int ours(int fd) {
    char link[64], path[PATH_MAX];
    const char *folder = getenv("LOAD_FOLDER");
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (!folder || length < 0) return 0;
    path[length] = 0;
    return strncmp(path, folder, strlen(folder)) == 0;
}

static int failed(void) {
    static const int codes[] = {ENOSPC, EIO, EDQUOT};
    errno = codes[draw() % 3];
    return -1;
}

ssize_t write(int fd, const void *data, size_t count) {
    static ssize_t (*real)(int, const void *, size_t);
    if (!real) real = dlsym(RTLD_NEXT, "write");
    if (count && ours(fd) && strikes("LOAD_RATE")) {
        if (draw() % 2 && count > 1) return real(fd, data, count / 2);
        return failed();
    }
    return real(fd, data, count);
}

int fsync(int fd) {
    static int (*real)(int);
    if (!real) real = dlsym(RTLD_NEXT, "fsync");
    return ours(fd) && strikes("LOAD_RATE") ? failed() : real(fd);
}

int rename(const char *from, const char *to) {
    static int (*real)(const char *, const char *);
    const char *folder = getenv("LOAD_FOLDER");
    if (!real) real = dlsym(RTLD_NEXT, "rename");
    if (folder && strncmp(to, folder, strlen(folder)) == 0 && strikes("LOAD_RATE")) return failed();
    return real(from, to);
}

int flock(int fd, int operation) {
    static int (*real)(int, int);
    if (!real) real = dlsym(RTLD_NEXT, "flock");
    if (!(operation & LOCK_UN) && ours(fd) && strikes("LOAD_RATE")) {
        errno = ENOLCK;
        return -1;
    }
    return real(fd, operation);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int status = real(clock, now);
    if (status == 0 && clock == CLOCK_REALTIME && getenv("LOAD_CLOCK")) {
        if (strikes("LOAD_CLOCK")) moved = (long long)(draw() % 172800) - 86400;
        now->tv_sec += moved;
    }
    return status;
}
