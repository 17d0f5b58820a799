/* A library to preload: counts, traces, fails, halves and kills at the calls that change files.
 *
 * The library sees the calls of all code in a process: the program, libgit2 and the git program. Only files below a
 * folder count. Calls of all processes are serialized and numbered together, so that a number names one call.
 *
 * Variables:
 *   UNFURL_SHIM_CONTROL  a file of 64 KiB zeros, which the processes share
 *   UNFURL_SHIM_ROOT     the folder whose files count
 *   UNFURL_SHIM_MODE     count | kill:N | half:N | fail:N:ERRNO | fail-from:N:ERRNO
 *                        kill: before call N, all counted processes die
 *                        half: the same after call N; a write has written half
 *   UNFURL_SHIM_TRACE    a file that gets one record for each call
 *   UNFURL_SHIM_DATA     if set, records of writes include the bytes
 *   UNFURL_SHIM_EVERYONE if set, kill and half end the commands of tasks too
 *   UNFURL_SHIM_BOOT     a file to read instead of the kernel's boot id
 *   UNFURL_SHIM_MACHINE  a file to read instead of /etc/machine-id
 *   UNFURL_SHIM_CLOCK    seconds to add to the clock
 *   UNFURL_SHIM_FROZEN   seconds since 1970 at which the clock stands still
 *
 * Not seen: files changed through mmap, static programs, and system calls that do not pass through libc. After each
 * run, a test replays the trace and compares the files.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define PROCESSES 4000

struct control {
    _Atomic int owner;
    _Atomic int dead;
    _Atomic long calls;
    _Atomic int processes;
    /* Process ids; negative ids are those of processes that do not count. */
    _Atomic int pids[PROCESSES];
};

enum mode { COUNT, KILL, HALF, FAIL, FAIL_FROM };

static struct control *control;
static char root[PATH_MAX];
static size_t root_length;
static enum mode mode;
static long at;
static int fail_errno;
static int trace = -1;
static int with_data;
static int everyone;
static const char *boot_file;
static const char *machine_file;
static long clock_offset;
static long clock_frozen;
static int active;
static char program[64];
static long (*real_syscall)(long, ...);

static long (*find_syscall(void))(long, ...) {
    if (!real_syscall)
        real_syscall = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    return real_syscall;
}
#define SYS(...) (find_syscall()(__VA_ARGS__))

static void enroll(void) {
    if (!control)
        return;
    int place = atomic_fetch_add(&control->processes, 1);
    if (place < PROCESSES)
        atomic_store(&control->pids[place], active ? getpid() : -getpid());
}

static int ends_with(const char *text, const char *end) {
    size_t length = strlen(text), of_end = strlen(end);
    return length >= of_end && !strcmp(text + length - of_end, end);
}

static int below_root(const char *path) {
    return root_length && !strncmp(path, root, root_length) && (path[root_length] == '/' || !path[root_length]);
}

/* Whether the calls of this process count: the program under test, or git in its repository. */
static int is_counted(void) {
    char exe[PATH_MAX], words[4096], folder[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", exe, sizeof exe - 1);
    if (length <= 0)
        return 0;
    exe[length] = 0;
    const char *name = strrchr(exe, '/') ? strrchr(exe, '/') + 1 : exe;
    snprintf(program, sizeof program, "%.60s", name);
    if (ends_with(name, "unfurl"))
        return 1;
    if (strncmp(name, "git", 3) || !getcwd(folder, sizeof folder) || !below_root(folder))
        return 0;
    int file = SYS(SYS_openat, AT_FDCWD, "/proc/self/cmdline", O_RDONLY | O_CLOEXEC, 0);
    length = file < 0 ? 0 : SYS(SYS_read, file, words, sizeof words - 1);
    if (file >= 0)
        close(file);
    words[length > 0 ? length : 0] = 0;
    const char *second = words + strlen(words) + 1;
    if (second >= words + length)
        second = "";
    /* The remote is another machine. */
    if (ends_with(words, "receive-pack") || ends_with(words, "upload-pack"))
        return 0;
    if (!strcmp(second, "receive-pack") || !strcmp(second, "upload-pack"))
        return 0;
    return 1;
}

__attribute__((constructor)) static void begin_process(void) {
    int saved = errno;
    const char *value;
    boot_file = getenv("UNFURL_SHIM_BOOT");
    machine_file = getenv("UNFURL_SHIM_MACHINE");
    if ((value = getenv("UNFURL_SHIM_CLOCK")))
        clock_offset = atol(value);
    if ((value = getenv("UNFURL_SHIM_FROZEN")))
        clock_frozen = atol(value);
    const char *file = getenv("UNFURL_SHIM_CONTROL");
    if (!file || !(value = getenv("UNFURL_SHIM_ROOT")))
        return;
    snprintf(root, sizeof root, "%s", value);
    root_length = strlen(root);
    if ((value = getenv("UNFURL_SHIM_MODE"))) {
        char word[32] = "";
        sscanf(value, "%31[^:]:%ld:%d", word, &at, &fail_errno);
        mode = !strcmp(word, "kill") ? KILL : !strcmp(word, "half") ? HALF : !strcmp(word, "fail") ? FAIL
            : !strcmp(word, "fail-from") ? FAIL_FROM : COUNT;
    }
    with_data = getenv("UNFURL_SHIM_DATA") != NULL;
    everyone = getenv("UNFURL_SHIM_EVERYONE") != NULL;
    int opened = SYS(SYS_openat, AT_FDCWD, file, O_RDWR | O_CLOEXEC, 0);
    if (opened < 0)
        return;
    void *memory = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, opened, 0);
    close(opened);
    if (memory == MAP_FAILED)
        return;
    control = memory;
    active = is_counted();
    if (active && (value = getenv("UNFURL_SHIM_TRACE"))) {
        int low = SYS(SYS_openat, AT_FDCWD, value, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
        trace = low < 0 ? -1 : fcntl(low, F_DUPFD_CLOEXEC, 500);
        if (low >= 0)
            close(low);
    }
    enroll();
    pthread_atfork(NULL, NULL, enroll);
    errno = saved;
}

/* Kills all processes that count, and this one. */
static void die(void) {
    atomic_store(&control->dead, 1);
    int count = atomic_load(&control->processes);
    for (int place = 0; place < count && place < PROCESSES; place++) {
        int pid = atomic_load(&control->pids[place]);
        if (pid < 0 && everyone)
            pid = -pid;
        if (pid > 0 && pid != getpid())
            kill(pid, SIGKILL);
    }
    for (;;)
        kill(getpid(), SIGKILL);
}

static void take_lock(void) {
    int own = SYS(SYS_gettid);
    for (;;) {
        int expected = 0;
        if (atomic_load(&control->dead))
            die();
        if (atomic_compare_exchange_weak(&control->owner, &expected, own))
            return;
        if (expected && kill(expected, 0) < 0 && errno == ESRCH)
            atomic_compare_exchange_strong(&control->owner, &expected, 0);
        sched_yield();
    }
}

/* A call that counts. */
struct call {
    const char *kind;
    long number;
    ino_t inode;
    long offset;
    unsigned mode;
    const void *data;
    size_t length;
    char path[PATH_MAX];
    char other[PATH_MAX];
    int half;
};

static void record(const struct call *call, long result) {
    if (trace < 0)
        return;
    char head[2 * PATH_MAX + 200];
    size_t data = with_data && result > 0 && call->data ? (size_t)result : 0;
    int length = snprintf(head, sizeof head, "%ld\t%d\t%s\t%s\t%ld\t%lu\t%ld\t%zu\t%o\t%s\t%s\n", call->number, getpid(),
        program, call->kind, result, (unsigned long)call->inode, call->offset, data, call->mode, call->path, call->other);
    struct iovec parts[2] = {{head, length}, {(void *)call->data, data}};
    SYS(SYS_writev, trace, parts, data ? 2 : 1);
}

/* Numbers a call and holds the lock until `end`. Returns 0 if the call has to fail, with `errno`. */
static int begin(struct call *call) {
    take_lock();
    call->number = atomic_fetch_add(&control->calls, 1) + 1;
    if (mode == KILL && call->number == at) {
        call->data = NULL;
        record(call, -1000);
        die();
    }
    call->half = mode == HALF && call->number == at;
    if ((mode == FAIL && call->number == at) || (mode == FAIL_FROM && call->number >= at)) {
        call->data = NULL;
        record(call, -fail_errno);
        atomic_store(&control->owner, 0);
        errno = fail_errno;
        return 0;
    }
    return 1;
}

static void end(struct call *call, long result) {
    int saved = errno;
    record(call, result < 0 ? -saved : result);
    if (call->half)
        die();
    atomic_store(&control->owner, 0);
    errno = saved;
}

/* Removes `.` and `..` and doubled slashes. */
static void normalize(char *path) {
    char *to = path;
    for (char *from = path; *from;) {
        while (*from == '/')
            from++;
        size_t length = strcspn(from, "/");
        if (!length)
            break;
        if (length == 2 && from[0] == '.' && from[1] == '.') {
            while (to > path && *--to != '/')
                ;
        } else if (length != 1 || from[0] != '.') {
            *to++ = '/';
            memmove(to, from, length);
            to += length;
        }
        from += length;
    }
    if (to == path)
        *to++ = '/';
    *to = 0;
}

static int path_of_fd(int fd, char *into) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, into, PATH_MAX - 1);
    if (length < 0)
        return 0;
    into[length] = 0;
    if (ends_with(into, " (deleted)"))
        into[length - 10] = 0;
    return 1;
}

/* Whether a path counts; puts its absolute form into `into`. */
static int counts(int folder, const char *path, char *into) {
    int saved = errno;
    char base[PATH_MAX];
    into[0] = 0;
    if (!active || !path)
        return 0;
    if (path[0] == '/')
        snprintf(into, PATH_MAX, "%s", path);
    else {
        if (folder == AT_FDCWD ? !getcwd(base, sizeof base) : !path_of_fd(folder, base))
            return 0;
        if (snprintf(into, PATH_MAX, "%s/%s", base, path) >= PATH_MAX)
            return 0;
    }
    normalize(into);
    errno = saved;
    return below_root(into);
}

/* Whether an open file or folder counts; fills in its path and inode. */
static int counts_fd(int fd, struct call *call) {
    struct stat state;
    int saved = errno;
    if (!active || fd == trace)
        return 0;
    int good = !SYS(SYS_fstat, fd, &state) && (S_ISREG(state.st_mode) || S_ISDIR(state.st_mode))
        && path_of_fd(fd, call->path) && below_root(call->path);
    call->inode = state.st_ino;
    call->mode = state.st_mode;
    errno = saved;
    return good;
}

static const char *redirected(const char *path) {
    if (!path || path[0] != '/')
        return path;
    if (boot_file && !strcmp(path, "/proc/sys/kernel/random/boot_id"))
        return boot_file;
    if (machine_file && !strcmp(path, "/etc/machine-id"))
        return machine_file;
    return path;
}

static long plain_open(int folder, const char *path, int flags, mode_t bits, const struct open_how *how, size_t size) {
    if (how)
        return SYS(SYS_openat2, folder, path, how, size);
    return SYS(SYS_openat, folder, path, flags, bits);
}

static int is_temporary(int flags) {
    return (flags & O_TMPFILE) == O_TMPFILE;
}

static long do_open(int folder, const char *path, int flags, mode_t bits, const struct open_how *how, size_t size) {
    struct call call = {.kind = "open"};
    path = redirected(path);
    int changes = (flags & (O_CREAT | O_TRUNC)) || (flags & O_ACCMODE) != O_RDONLY;
    if (!changes || !counts(folder, path, call.path))
        return plain_open(folder, path, flags, bits, how, size);
    if (!begin(&call))
        return -1;
    struct stat state;
    int existed = !SYS(SYS_newfstatat, folder, path, &state, AT_SYMLINK_NOFOLLOW);
    long opened = plain_open(folder, path, flags, bits, how, size);
    int saved = errno;
    if (opened >= 0 && !SYS(SYS_fstat, (int)opened, &state)) {
        call.inode = state.st_ino;
        call.mode = state.st_mode;
        call.kind = is_temporary(flags) ? "tmpfile" : !existed ? "create" : (flags & O_TRUNC) ? "truncate" : "open";
    }
    errno = saved;
    end(&call, opened);
    return opened;
}

static mode_t mode_argument(int flags, va_list list) {
    return (flags & O_CREAT) || is_temporary(flags) ? va_arg(list, mode_t) : 0;
}

#define OPEN(name)                                                                                                     \
    int name(const char *path, int flags, ...) {                                                                       \
        va_list list;                                                                                                  \
        va_start(list, flags);                                                                                         \
        mode_t bits = mode_argument(flags, list);                                                                      \
        va_end(list);                                                                                                  \
        return do_open(AT_FDCWD, path, flags, bits, NULL, 0);                                                          \
    }
#define OPENAT(name)                                                                                                   \
    int name(int folder, const char *path, int flags, ...) {                                                           \
        va_list list;                                                                                                  \
        va_start(list, flags);                                                                                         \
        mode_t bits = mode_argument(flags, list);                                                                      \
        va_end(list);                                                                                                  \
        return do_open(folder, path, flags, bits, NULL, 0);                                                            \
    }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)
int __open_2(const char *path, int flags) { return do_open(AT_FDCWD, path, flags, 0, NULL, 0); }
int __open64_2(const char *path, int flags) { return do_open(AT_FDCWD, path, flags, 0, NULL, 0); }
int __openat_2(int folder, const char *path, int flags) { return do_open(folder, path, flags, 0, NULL, 0); }
int __openat64_2(int folder, const char *path, int flags) { return do_open(folder, path, flags, 0, NULL, 0); }
int creat(const char *path, mode_t bits) {
    return do_open(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, bits, NULL, 0);
}
int creat64(const char *path, mode_t bits) { return creat(path, bits); }

static ssize_t do_write(int fd, const void *data, size_t length, off_t offset) {
    struct call call = {.kind = "write", .data = data, .length = length};
    if (!counts_fd(fd, &call) || S_ISDIR(call.mode))
        return offset < 0 ? SYS(SYS_write, fd, data, length) : SYS(SYS_pwrite64, fd, data, length, offset);
    if (!begin(&call))
        return -1;
    int saved = errno;
    int flags = SYS(SYS_fcntl, fd, F_GETFL);
    struct stat state;
    call.offset = offset;
    if (flags >= 0 && (flags & O_APPEND) && !SYS(SYS_fstat, fd, &state))
        call.offset = state.st_size;
    else if (offset < 0)
        call.offset = SYS(SYS_lseek, fd, 0, SEEK_CUR);
    errno = saved;
    if (call.half)
        length = length / 2;
    ssize_t done = offset < 0 ? SYS(SYS_write, fd, data, length) : SYS(SYS_pwrite64, fd, data, length, offset);
    end(&call, done);
    return done;
}
ssize_t write(int fd, const void *data, size_t length) { return do_write(fd, data, length, -1); }
ssize_t pwrite(int fd, const void *data, size_t length, off_t offset) { return do_write(fd, data, length, offset); }
ssize_t pwrite64(int fd, const void *data, size_t length, off64_t offset) { return do_write(fd, data, length, offset); }
ssize_t writev(int fd, const struct iovec *parts, int count) {
    struct call call;
    if (!counts_fd(fd, &call))
        return SYS(SYS_writev, fd, parts, count);
    /* A short write is a legal answer. */
    for (int part = 0; part < count; part++)
        if (parts[part].iov_len)
            return write(fd, parts[part].iov_base, parts[part].iov_len);
    return 0;
}

/* Streams of files below the root, whose bytes have to pass through `write`. The C library writes by itself. */
static struct {
    _Atomic(FILE *) stream;
    int fd;
} streams[64];

static ssize_t stream_read(void *cookie, char *into, size_t length) {
    return read((int)(long)cookie, into, length);
}
static ssize_t stream_write(void *cookie, const char *data, size_t length) {
    ssize_t done = write((int)(long)cookie, data, length);
    return done < 0 ? 0 : done;
}
static int stream_seek(void *cookie, off64_t *offset, int whence) {
    *offset = lseek((int)(long)cookie, *offset, whence);
    return *offset < 0 ? -1 : 0;
}
static int stream_close(void *cookie) {
    for (size_t place = 0; place < sizeof streams / sizeof *streams; place++)
        if (streams[place].stream && streams[place].fd == (int)(long)cookie)
            streams[place].stream = NULL;
    return close((int)(long)cookie);
}

static FILE *plain_fdopen(int fd, const char *how) {
    static FILE *(*real)(int, const char *);
    if (!real)
        real = (FILE * (*)(int, const char *)) dlsym(RTLD_NEXT, "fdopen");
    return real(fd, how);
}

FILE *fdopen(int fd, const char *how) {
    struct call call;
    if (how[0] == 'r' && !strchr(how, '+'))
        return plain_fdopen(fd, how);
    if (!counts_fd(fd, &call))
        return plain_fdopen(fd, how);
    cookie_io_functions_t functions = {stream_read, stream_write, stream_seek, stream_close};
    FILE *stream = fopencookie((void *)(long)fd, how, functions);
    for (size_t place = 0; stream && place < sizeof streams / sizeof *streams; place++) {
        FILE *expected = NULL;
        if (atomic_compare_exchange_strong(&streams[place].stream, &expected, stream)) {
            streams[place].fd = fd;
            break;
        }
    }
    return stream;
}

int fileno(FILE *stream) {
    static int (*real)(FILE *);
    for (size_t place = 0; place < sizeof streams / sizeof *streams; place++)
        if (streams[place].stream == stream)
            return streams[place].fd;
    if (!real)
        real = (int (*)(FILE *))dlsym(RTLD_NEXT, "fileno");
    return real(stream);
}

static FILE *do_fopen(const char *path, const char *how) {
    int flags = strchr(how, '+') ? O_RDWR : how[0] == 'r' ? O_RDONLY : O_WRONLY;
    flags |= how[0] == 'w' ? O_CREAT | O_TRUNC : how[0] == 'a' ? O_CREAT | O_APPEND : 0;
    flags |= strchr(how, 'x') ? O_EXCL : 0;
    int file = do_open(AT_FDCWD, path, flags | (strchr(how, 'e') ? O_CLOEXEC : 0), 0666, NULL, 0);
    if (file < 0)
        return NULL;
    FILE *stream = fdopen(file, how);
    if (!stream)
        close(file);
    return stream;
}
FILE *fopen(const char *path, const char *how) { return do_fopen(path, how); }
FILE *fopen64(const char *path, const char *how) { return do_fopen(path, how); }

/* Copies within the kernel are refused, so that programs fall back to writes. */
ssize_t copy_file_range(int from, off64_t *at_from, int to, off64_t *at_to, size_t length, unsigned flags) {
    struct call call;
    if (counts_fd(to, &call)) {
        errno = ENOSYS;
        return -1;
    }
    return SYS(SYS_copy_file_range, from, at_from, to, at_to, length, flags);
}
static ssize_t do_sendfile(int to, int from, off_t *offset, size_t length) {
    struct call call;
    if (counts_fd(to, &call)) {
        errno = EINVAL;
        return -1;
    }
    return SYS(SYS_sendfile, to, from, offset, length);
}
ssize_t sendfile(int to, int from, off_t *offset, size_t length) { return do_sendfile(to, from, offset, length); }
ssize_t sendfile64(int to, int from, off64_t *offset, size_t length) { return do_sendfile(to, from, offset, length); }

#define ON_FD(name, call_kind, number, ...)                                                                            \
    {                                                                                                                  \
        struct call call = {.kind = call_kind};                                                                        \
        if (!counts_fd(fd, &call))                                                                                     \
            return SYS(number, fd, ##__VA_ARGS__);                                                                     \
        if (!begin(&call))                                                                                             \
            return -1;                                                                                                 \
        long result = SYS(number, fd, ##__VA_ARGS__);                                                                  \
        end(&call, result);                                                                                            \
        return result;                                                                                                 \
    }
int fsync(int fd) ON_FD(fsync, "sync", SYS_fsync)
int fdatasync(int fd) ON_FD(fdatasync, "sync", SYS_fdatasync)
int syncfs(int fd) ON_FD(syncfs, "sync-all", SYS_syncfs)
int fchmod(int fd, mode_t bits) ON_FD(fchmod, "chmod", SYS_fchmod, bits)

static int do_ftruncate(int fd, off_t length) {
    struct call call = {.kind = "truncate", .offset = length};
    if (!counts_fd(fd, &call))
        return SYS(SYS_ftruncate, fd, length);
    if (!begin(&call))
        return -1;
    int result = SYS(SYS_ftruncate, fd, length);
    end(&call, result);
    return result;
}
int ftruncate(int fd, off_t length) { return do_ftruncate(fd, length); }
int ftruncate64(int fd, off64_t length) { return do_ftruncate(fd, length); }

static void stat_into(int folder, const char *path, struct call *call) {
    struct stat state;
    int saved = errno;
    if (!SYS(SYS_newfstatat, folder, path, &state, AT_SYMLINK_NOFOLLOW)) {
        call->inode = state.st_ino;
        call->mode = state.st_mode;
    }
    errno = saved;
}

static int do_truncate(const char *path, off_t length) {
    struct call call = {.kind = "truncate", .offset = length};
    if (!counts(AT_FDCWD, path, call.path))
        return SYS(SYS_truncate, path, length);
    if (!begin(&call))
        return -1;
    stat_into(AT_FDCWD, path, &call);
    int result = SYS(SYS_truncate, path, length);
    end(&call, result);
    return result;
}
int truncate(const char *path, off_t length) { return do_truncate(path, length); }
int truncate64(const char *path, off64_t length) { return do_truncate(path, length); }

static int on_path(const char *kind, int folder, const char *path, long number, long third) {
    struct call call = {.kind = kind};
    if (!counts(folder, path, call.path))
        return SYS(number, folder, path, third);
    if (!begin(&call))
        return -1;
    int result = SYS(number, folder, path, third);
    if (number != SYS_unlinkat)
        stat_into(folder, path, &call);
    end(&call, result);
    return result;
}
int unlinkat(int folder, const char *path, int flags) {
    return on_path(flags & AT_REMOVEDIR ? "rmdir" : "unlink", folder, path, SYS_unlinkat, flags);
}
int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }
int remove(const char *path) {
    int result = unlink(path);
    return result < 0 && errno == EISDIR ? rmdir(path) : result;
}
int mkdirat(int folder, const char *path, mode_t bits) { return on_path("mkdir", folder, path, SYS_mkdirat, bits); }
int mkdir(const char *path, mode_t bits) { return mkdirat(AT_FDCWD, path, bits); }
int chmod(const char *path, mode_t bits) { return on_path("chmod", AT_FDCWD, path, SYS_fchmodat, bits); }
int fchmodat(int folder, const char *path, mode_t bits, int flags) {
    (void)flags;
    return on_path("chmod", folder, path, SYS_fchmodat, bits);
}

static int do_rename(int from_folder, const char *from, int to_folder, const char *to, unsigned flags) {
    struct call call = {.kind = flags & RENAME_EXCHANGE ? "exchange" : "rename"};
    int source = counts(from_folder, from, call.path);
    if (!(counts(to_folder, to, call.other) | source))
        return SYS(SYS_renameat2, from_folder, from, to_folder, to, flags);
    if (!begin(&call))
        return -1;
    stat_into(from_folder, from, &call);
    int result = SYS(SYS_renameat2, from_folder, from, to_folder, to, flags);
    end(&call, result);
    return result;
}
int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags) {
    return do_rename(from_folder, from, to_folder, to, flags);
}
int renameat(int from_folder, const char *from, int to_folder, const char *to) {
    return do_rename(from_folder, from, to_folder, to, 0);
}
int rename(const char *from, const char *to) { return do_rename(AT_FDCWD, from, AT_FDCWD, to, 0); }

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags) {
    struct call call = {.kind = "link"};
    if (!counts(to_folder, to, call.other))
        return SYS(SYS_linkat, from_folder, from, to_folder, to, flags);
    counts(from_folder, from, call.path);
    if (!begin(&call))
        return -1;
    int result = SYS(SYS_linkat, from_folder, from, to_folder, to, flags);
    stat_into(to_folder, to, &call);
    end(&call, result);
    return result;
}
int link(const char *from, const char *to) { return linkat(AT_FDCWD, from, AT_FDCWD, to, 0); }

int symlinkat(const char *target, int folder, const char *path) {
    struct call call = {.kind = "symlink"};
    if (!counts(folder, path, call.path))
        return SYS(SYS_symlinkat, target, folder, path);
    snprintf(call.other, sizeof call.other, "%s", target);
    if (!begin(&call))
        return -1;
    int result = SYS(SYS_symlinkat, target, folder, path);
    stat_into(folder, path, &call);
    end(&call, result);
    return result;
}
int symlink(const char *target, const char *path) { return symlinkat(target, AT_FDCWD, path); }

/* Some libraries call the kernel through this function. */
long syscall(long number, ...) {
    long a[6];
    va_list list;
    va_start(list, number);
    for (int place = 0; place < 6; place++)
        a[place] = va_arg(list, long);
    va_end(list);
    if (number == SYS_openat2) {
        const struct open_how *how = (const struct open_how *)a[2];
        return do_open((int)a[0], (const char *)a[1], (int)how->flags, (mode_t)how->mode, how, (size_t)a[3]);
    }
    if (number == SYS_renameat2)
        return do_rename((int)a[0], (const char *)a[1], (int)a[2], (const char *)a[3], (unsigned)a[4]);
    if (number == SYS_copy_file_range)
        return copy_file_range((int)a[0], (off64_t *)a[1], (int)a[2], (off64_t *)a[3], (size_t)a[4], (unsigned)a[5]);
    return SYS(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

int clock_gettime(clockid_t which, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real)
        real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(which, now);
    if (result || (which != CLOCK_REALTIME && which != CLOCK_REALTIME_COARSE))
        return result;
    if (clock_frozen)
        *now = (struct timespec){.tv_sec = clock_frozen};
    now->tv_sec += clock_offset;
    return 0;
}
int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    (void)zone;
    struct timespec exact;
    int result = clock_gettime(CLOCK_REALTIME, &exact);
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return result;
}
time_t time(time_t *into) {
    struct timespec exact;
    clock_gettime(CLOCK_REALTIME, &exact);
    if (into)
        *into = exact.tv_sec;
    return exact.tv_sec;
}
