/* Preloaded into a process, fails one of its calls that write: the N-th on files below a folder.

   FAULT_UNDER  the folder; nothing happens without it
   FAULT_LOG    a file that each of the calls is recorded in, a line each; nothing fails
   FAULT_AT     N, counted from 1
   FAULT_HOW    EIO     that call fails once
                broken  it and all calls after it fail with EIO
                ENOSPC  it and all after it that need room fail, as on a full disk
                short   half of what is to be written is written
                kill    the process is killed before it
                torn    half of it is written, then the process is killed
                power   the power fails before it, or at the end of the process where that comes first: of what was
                        written since the last sync of each file, a part is lost
   FAULT_SEED   decides what a power cut loses

   A rename, a new name and a removal count as lasting at once, as on a file system with a journal that keeps their
   order. What is written through mapped memory is not seen: SQLite maps only the index of its journal, which it makes
   anew after a crash. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))real(#name))
#define SECTOR 512

enum verdict { PASS, FAIL, SHORT };
enum need { ROOM, NO_ROOM };

/* What was written to a file since its last sync, for a power cut. */
struct change {
    off_t at, size; /* size: of the file before */
    size_t before, length;
    char *old, *new; /* new: NULL when the file was only cut */
    struct change *earlier;
};

struct file {
    dev_t device;
    ino_t inode;
    int fd;
    struct change *changes;
    struct file *next;
};

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static struct file *files;
static long calls;

static void *real(const char *name) { return dlsym(RTLD_NEXT, name); }

static int is(const char *how) {
    const char *wanted = getenv("FAULT_HOW");
    return wanted && !strcmp(wanted, how);
}

static int counts(const char *path) {
    const char *under = getenv("FAULT_UNDER");
    return under && path && !strncmp(path, under, strlen(under));
}

static const char *path_of(int fd, char *buffer) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, buffer, PATH_MAX - 1);
    buffer[length > 0 ? length : 0] = 0;
    return buffer;
}

/* The file that a descriptor belongs to: one that is opened twice is one. */
static struct file *find(int fd) {
    struct stat found;
    if (fstat(fd, &found) || !S_ISREG(found.st_mode))
        return NULL;
    for (struct file *each = files; each; each = each->next)
        if (each->device == found.st_dev && each->inode == found.st_ino)
            return each;
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    struct file *made = calloc(1, sizeof *made);
    made->device = found.st_dev;
    made->inode = found.st_ino;
    made->fd = open(link, O_RDWR | O_CLOEXEC); /* never closed: that would drop the locks of the process */
    made->next = files;
    files = made;
    return made;
}

static void remember(int fd, off_t at, const void *data, size_t length) {
    struct file *file = is("power") ? find(fd) : NULL;
    if (!file || file->fd < 0)
        return;
    struct stat now;
    fstat(fd, &now);
    struct change *change = calloc(1, sizeof *change);
    change->at = at;
    change->size = now.st_size;
    change->length = length;
    size_t reach = data ? length : (now.st_size > at ? (size_t)(now.st_size - at) : 0);
    change->old = malloc(reach + 1);
    ssize_t got = pread(file->fd, change->old, reach, at);
    change->before = got > 0 ? (size_t)got : 0;
    if (data) {
        change->new = malloc(length + 1);
        memcpy(change->new, data, length);
    }
    change->earlier = file->changes;
    file->changes = change;
}

static void synced(int fd) {
    struct file *file = is("power") ? find(fd) : NULL;
    if (file)
        file->changes = NULL;
}

/* Take everything back that was not synced, then do a part of it again: whole, torn at a sector, or not at all. */
static void lose(struct file *file) {
    struct change *order[1 << 16];
    size_t many = 0;
    for (struct change *each = file->changes; each && many < 1 << 16; each = each->earlier) {
        if (each->before)
            syscall(SYS_pwrite64, file->fd, each->old, each->before, each->at);
        syscall(SYS_ftruncate, file->fd, each->size);
        order[many++] = each;
    }
    while (many--) {
        struct change *each = order[many];
        int chance = rand() % 4;
        if (chance == 0)
            continue;
        if (!each->new)
            syscall(SYS_ftruncate, file->fd, each->at);
        else if (chance == 1)
            syscall(SYS_pwrite64, file->fd, each->new, each->length / 2 / SECTOR * SECTOR, each->at);
        else
            syscall(SYS_pwrite64, file->fd, each->new, each->length, each->at);
    }
}

static void die(void) {
    if (is("power")) {
        const char *seed = getenv("FAULT_SEED");
        srand(seed ? atoi(seed) : 1);
        for (struct file *each = files; each; each = each->next)
            lose(each);
    }
    syscall(SYS_kill, getpid(), SIGKILL);
    for (;;)
        pause();
}

static __attribute__((destructor)) void end(void) {
    if (getenv("FAULT_UNDER") && is("power"))
        die();
}

static void record(const char *call, const char *path) {
    char line[PATH_MAX + 32];
    int length = snprintf(line, sizeof line, "%s %s\n", call, path);
    int fd = syscall(SYS_openat, AT_FDCWD, getenv("FAULT_LOG"), O_WRONLY | O_CREAT | O_APPEND, 0600);
    syscall(SYS_write, fd, line, length);
    syscall(SYS_close, fd);
}

/* What becomes of a call. The lock is held. */
static enum verdict judge(const char *call, const char *path, enum need need, int can_be_short) {
    if (!counts(path))
        return PASS;
    calls++;
    if (getenv("FAULT_LOG")) {
        record(call, path);
        return PASS;
    }
    const char *at = getenv("FAULT_AT");
    long wanted = at ? atol(at) : 0;
    if (!wanted || calls < wanted)
        return PASS;
    if (is("broken") || (is("EIO") && calls == wanted)) {
        errno = EIO;
        return FAIL;
    }
    if (is("ENOSPC") && need == ROOM) {
        errno = ENOSPC;
        return FAIL;
    }
    if (calls != wanted)
        return PASS;
    if (is("kill") || is("power") || (is("torn") && !can_be_short))
        die();
    return can_be_short && (is("short") || is("torn")) ? SHORT : PASS;
}

static ssize_t writing(const char *call, int fd, const void *data, size_t length, off_t at, int at_end) {
    char path[PATH_MAX];
    if (!getenv("FAULT_UNDER") || !counts(path_of(fd, path)))
        return at_end ? syscall(SYS_write, fd, data, length) : syscall(SYS_pwrite64, fd, data, length, at);
    pthread_mutex_lock(&lock);
    enum verdict verdict = judge(call, path, ROOM, length > 1);
    ssize_t written = -1;
    if (verdict != FAIL) {
        if (at_end)
            at = lseek(fd, 0, SEEK_CUR);
        size_t part = verdict == SHORT ? length / 2 : length;
        remember(fd, at, data, part);
        written = at_end ? syscall(SYS_write, fd, data, part) : syscall(SYS_pwrite64, fd, data, part, at);
        if (verdict == SHORT && is("torn"))
            die();
    }
    pthread_mutex_unlock(&lock);
    return written;
}

ssize_t write(int fd, const void *data, size_t length) { return writing("write", fd, data, length, 0, 1); }
ssize_t pwrite(int fd, const void *data, size_t length, off_t at) { return writing("write", fd, data, length, at, 0); }
ssize_t pwrite64(int fd, const void *data, size_t length, off64_t at) {
    return writing("write", fd, data, length, at, 0);
}

static int syncing(int fd, long number) {
    char path[PATH_MAX];
    if (!getenv("FAULT_UNDER") || !counts(path_of(fd, path)))
        return syscall(number, fd);
    pthread_mutex_lock(&lock);
    int done = judge("sync", path, NO_ROOM, 0) == FAIL ? -1 : 0;
    if (!done)
        synced(fd); /* nothing is really synced: the machine goes on, and it takes time */
    pthread_mutex_unlock(&lock);
    return done;
}

int fsync(int fd) { return syncing(fd, SYS_fsync); }
int fdatasync(int fd) { return syncing(fd, SYS_fdatasync); }

static int cutting(int fd, off_t size) {
    char path[PATH_MAX];
    if (!getenv("FAULT_UNDER") || !counts(path_of(fd, path)))
        return syscall(SYS_ftruncate, fd, size);
    pthread_mutex_lock(&lock);
    int done = judge("truncate", path, NO_ROOM, 0) == FAIL ? -1 : 0;
    if (!done) {
        remember(fd, size, NULL, 0);
        done = syscall(SYS_ftruncate, fd, size);
    }
    pthread_mutex_unlock(&lock);
    return done;
}

int ftruncate(int fd, off_t size) { return cutting(fd, size); }
int ftruncate64(int fd, off64_t size) { return cutting(fd, size); }

static int allowed(const char *call, const char *path, enum need need) {
    char whole[PATH_MAX] = "";
    if (!getenv("FAULT_UNDER"))
        return 1;
    if (path[0] != '/' && getcwd(whole, sizeof whole / 2))
        strcat(whole, "/");
    strncat(whole, path, sizeof whole - strlen(whole) - 1);
    pthread_mutex_lock(&lock);
    enum verdict verdict = judge(call, whole, need, 0);
    pthread_mutex_unlock(&lock);
    return verdict != FAIL;
}

int rename(const char *from, const char *to) {
    return allowed("rename", to, NO_ROOM) ? REAL(rename)(from, to) : -1;
}
int renameat(int a, const char *from, int b, const char *to) {
    return allowed("rename", to, NO_ROOM) ? REAL(renameat)(a, from, b, to) : -1;
}
int link(const char *from, const char *to) { return allowed("link", to, ROOM) ? REAL(link)(from, to) : -1; }
int linkat(int a, const char *from, int b, const char *to, int flags) {
    return allowed("link", to, ROOM) ? REAL(linkat)(a, from, b, to, flags) : -1;
}
int unlink(const char *path) { return allowed("unlink", path, NO_ROOM) ? REAL(unlink)(path) : -1; }
int unlinkat(int folder, const char *path, int flags) {
    return allowed("unlink", path, NO_ROOM) ? REAL(unlinkat)(folder, path, flags) : -1;
}
int mkdir(const char *path, mode_t mode) { return allowed("mkdir", path, ROOM) ? REAL(mkdir)(path, mode) : -1; }
int chmod(const char *path, mode_t mode) { return allowed("chmod", path, NO_ROOM) ? REAL(chmod)(path, mode) : -1; }

static int creating(const char *path, int flags, mode_t mode) {
    if ((flags & O_ACCMODE) != O_RDONLY && (flags & O_CREAT) && access(path, F_OK) && !allowed("create", path, ROOM))
        return -1;
    if ((flags & O_TRUNC) && getenv("FAULT_UNDER") && is("power") && counts(path)) {
        int before = syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0);
        if (before >= 0) {
            pthread_mutex_lock(&lock);
            remember(before, 0, NULL, 0);
            pthread_mutex_unlock(&lock);
            close(before);
        }
    }
    return syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int open(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, int) : 0;
    va_end(more);
    return creating(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, int) : 0;
    va_end(more);
    return creating(path, flags | O_LARGEFILE, mode);
}

int statvfs64(const char *path, struct statvfs64 *found) {
    int done = REAL(statvfs64)(path, found);
    if (!done && getenv("FAULT_UNDER") && is("ENOSPC"))
        found->f_bavail = found->f_bfree = 0;
    return done;
}
int statvfs(const char *path, struct statvfs *found) {
    int done = REAL(statvfs)(path, found);
    if (!done && getenv("FAULT_UNDER") && is("ENOSPC"))
        found->f_bavail = found->f_bfree = 0;
    return done;
}

/* Copies within the kernel are left out, so that each copy is made of writes. */
ssize_t sendfile(int to, int from, off_t *at, size_t count) {
    errno = EINVAL;
    return -1;
}
ssize_t sendfile64(int to, int from, off64_t *at, size_t count) {
    errno = EINVAL;
    return -1;
}
ssize_t copy_file_range(int from, off64_t *a, int to, off64_t *b, size_t count, unsigned flags) {
    errno = EINVAL;
    return -1;
}
