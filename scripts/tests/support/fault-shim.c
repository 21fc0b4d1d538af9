/*
 * Makes the Nth change of files below one folder fail, or end the process there: a preloaded library for crash tests.
 *
 *   cc -O1 -shared -fPIC -o shim.so fault-shim.c -ldl
 *   FAULT_ROOT=/run/dir FAULT_AT=17 FAULT_MODE=torn LD_PRELOAD=./shim.so node orchestrate.mjs __coordinate /run/dir
 *
 * Counted, from 1: opening for writing or creating, write, pwrite, writev, fsync, fdatasync, ftruncate, rename, link,
 * unlink, rmdir, mkdir, on paths below FAULT_ROOT and on descriptors that lead there; in the modes that kill also fork,
 * as `spawn`, so that there is a point right before and right after the start of a child.
 *
 * FAULT_AT    the operation that is hit; 0 or unset: none, only count
 * FAULT_MODE  kill-before | kill-after | torn (half of a write, then dead; else kill-after)
 *             eio | enospc | eacces (refused, nothing done) | short (half of a write is done and said to be done)
 * FAULT_STICKY=1  every later operation is hit too
 * FAULT_ONLY  `kind:end of path` pairs with commas between them: count nothing else
 * FAULT_LOG   a file outside FAULT_ROOT: one line `number kind path` an operation, written before it is done
 *
 * Children are not touched: the variables are gone from the environment once this library is loaded.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum mode { NONE, KILL_BEFORE, KILL_AFTER, TORN, SHORT, REFUSE };

static char root[4096];
static size_t root_length;
static long hit_at;
static enum mode mode;
static int refusal;
static int sticky;
static char only[1024];
static int log_fd = -1;
static long counter;

static void choose_mode(const char *name) {
  static const struct { const char *name; enum mode mode; int refusal; } modes[] = {
    {"kill-before", KILL_BEFORE, 0}, {"kill-after", KILL_AFTER, 0}, {"torn", TORN, 0}, {"short", SHORT, 0},
    {"eio", REFUSE, EIO}, {"enospc", REFUSE, ENOSPC}, {"eacces", REFUSE, EACCES},
  };
  for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
    if (strcmp(name, modes[i].name) == 0) {
      mode = modes[i].mode;
      refusal = modes[i].refusal;
      return;
    }
  fprintf(stderr, "fault-shim: no mode %s\n", name);
  _exit(99);
}

__attribute__((constructor)) static void start(void) {
  const char *value = getenv("FAULT_ROOT");
  if (value != NULL) {
    snprintf(root, sizeof root, "%s", value);
    root_length = strlen(root);
  }
  if ((value = getenv("FAULT_AT")) != NULL) hit_at = atol(value);
  if ((value = getenv("FAULT_MODE")) != NULL) choose_mode(value);
  sticky = getenv("FAULT_STICKY") != NULL;
  if ((value = getenv("FAULT_ONLY")) != NULL) snprintf(only, sizeof only, "%s", value);
  if ((value = getenv("FAULT_LOG")) != NULL)
    log_fd = (int)syscall(SYS_openat, AT_FDCWD, value, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  static const char *const ours[] = {"LD_PRELOAD",   "FAULT_ROOT", "FAULT_AT", "FAULT_MODE",
                                     "FAULT_STICKY", "FAULT_ONLY", "FAULT_LOG"};
  for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) unsetenv(ours[i]);
}

static int below(const char *path) {
  if (root_length == 0 || path == NULL || strncmp(path, root, root_length) != 0) return 0;
  return path[root_length] == '/' || path[root_length] == '\0';
}

/* Where a descriptor leads; "" for what has no path. */
static const char *path_of(int fd) {
  static __thread char path[4096];
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  path[length > 0 ? length : 0] = '\0';
  return path;
}

static int ends_with(const char *text, const char *end, size_t end_length) {
  size_t length = strlen(text);
  return length >= end_length && memcmp(text + length - end_length, end, end_length) == 0;
}

static int wanted(const char *kind, const char *path) {
  if (*only == '\0') return 1;
  for (const char *pair = only; *pair != '\0';) {
    size_t length = strcspn(pair, ",");
    size_t kind_length = strcspn(pair, ":");
    if (kind_length < length && strlen(kind) == kind_length && strncmp(kind, pair, kind_length) == 0 &&
        ends_with(path, pair + kind_length + 1, length - kind_length - 1))
      return 1;
    pair += length + (pair[length] == ',');
  }
  return 0;
}

static void die(void) {
  syscall(SYS_kill, getpid(), SIGKILL);
  for (;;) pause();
}

/* What is to be done with this operation: NONE lets it pass. */
static enum mode next(const char *kind, const char *path) {
  if (!below(path) || !wanted(kind, path)) return NONE;
  long number = __atomic_add_fetch(&counter, 1, __ATOMIC_SEQ_CST);
  if (log_fd >= 0) {
    char line[4200];
    int length = snprintf(line, sizeof line, "%ld %s %s\n", number, kind, path);
    syscall(SYS_write, log_fd, line, (size_t)length);
  }
  if (hit_at == 0 || number < hit_at || (number > hit_at && !sticky)) return NONE;
  if (mode == KILL_BEFORE) die();
  if (mode == REFUSE) errno = refusal;
  return mode;
}

#define REAL(name) \
  static __typeof__(name) *real; \
  if (real == NULL) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

/* An operation that is done whole or not at all. */
#define WHOLE(kind, path, call) \
  do { \
    enum mode todo = next(kind, path); \
    if (todo == REFUSE) return -1; \
    __typeof__(call) result = call; \
    if (todo == KILL_AFTER || todo == TORN) die(); \
    return result; \
  } while (0)

/* A write, of which a half can be done. */
#define WRITE(kind, half, full) \
  do { \
    enum mode todo = fd < 3 ? NONE : next(kind, path_of(fd)); \
    if (todo == REFUSE) return -1; \
    ssize_t result = todo == TORN || todo == SHORT ? half : full; \
    if (todo == KILL_AFTER || todo == TORN) die(); \
    return result; \
  } while (0)

static size_t half_of(size_t count) { return count > 1 ? count / 2 : count; }

ssize_t write(int fd, const void *data, size_t count) {
  REAL(write);
  WRITE("write", real(fd, data, half_of(count)), real(fd, data, count));
}

ssize_t pwrite64(int fd, const void *data, size_t count, off64_t at) {
  REAL(pwrite64);
  WRITE("pwrite", real(fd, data, half_of(count), at), real(fd, data, count, at));
}

ssize_t pwrite(int fd, const void *data, size_t count, off_t at) {
  REAL(pwrite);
  WRITE("pwrite", real(fd, data, half_of(count), at), real(fd, data, count, at));
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
  REAL(writev);
  WRITE("writev", syscall(SYS_write, fd, parts[0].iov_base, half_of(parts[0].iov_len)), real(fd, parts, count));
}

int fsync(int fd) {
  REAL(fsync);
  WHOLE("fsync", path_of(fd), real(fd));
}

int fdatasync(int fd) {
  REAL(fdatasync);
  WHOLE("fdatasync", path_of(fd), real(fd));
}

int ftruncate64(int fd, off64_t length) {
  REAL(ftruncate64);
  WHOLE("ftruncate", path_of(fd), real(fd, length));
}

int ftruncate(int fd, off_t length) {
  REAL(ftruncate);
  WHOLE("ftruncate", path_of(fd), real(fd, length));
}

int rename(const char *from, const char *to) {
  REAL(rename);
  WHOLE("rename", to, real(from, to));
}

int link(const char *from, const char *to) {
  REAL(link);
  WHOLE("link", to, real(from, to));
}

int unlink(const char *path) {
  REAL(unlink);
  WHOLE("unlink", path, real(path));
}

int rmdir(const char *path) {
  REAL(rmdir);
  WHOLE("rmdir", path, real(path));
}

int mkdir(const char *path, mode_t permissions) {
  REAL(mkdir);
  WHOLE("mkdir", path, real(path, permissions));
}

/* Refusing a start is no fault of the disk, so only the modes that kill count it. */
pid_t fork(void) {
  REAL(fork);
  if (mode == REFUSE || mode == SHORT) return real();
  enum mode todo = next("spawn", root);
  pid_t child = real();
  if (child != 0 && (todo == KILL_AFTER || todo == TORN)) die();
  return child;
}

/* Opening a file only to read it changes nothing and is not counted. */
#define OPEN(name) \
  int name(const char *path, int flags, ...) { \
    mode_t permissions = 0; \
    if (flags & (O_CREAT | O_TMPFILE)) { \
      va_list rest; \
      va_start(rest, flags); \
      permissions = va_arg(rest, mode_t); \
      va_end(rest); \
    } \
    REAL(name); \
    if (!(flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC))) return real(path, flags, permissions); \
    WHOLE("open", path, real(path, flags, permissions)); \
  }

OPEN(open)
OPEN(open64)
