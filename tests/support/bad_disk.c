// A disk that is slow or fails, for programs that are started with it in LD_PRELOAD: calls that write to files below
// BAD_DISK_FOLDER take BAD_DISK_DELAY_MS longer, and of the call BAD_DISK_CALL (pwrite, write, fsync, rename, mkdir; short) the
// one with number BAD_DISK_NTH and all later ones fail with EIO. With `short` every pwrite writes half of what it is given.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static int is_below(const char* path) {
  const char* folder = getenv("BAD_DISK_FOLDER");
  return folder != NULL && strncmp(path, folder, strlen(folder)) == 0;
}

static int is_ours(int fd) {
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return is_below(path);
}

/// Waits; true when the call is to fail.
static int is_bad(const char* call) {
  static atomic_int calls = 0;
  const char* delay = getenv("BAD_DISK_DELAY_MS");
  if (delay != NULL) {
    const long ms = atol(delay);
    const struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, NULL);
  }
  const char *chosen = getenv("BAD_DISK_CALL"), *nth = getenv("BAD_DISK_NTH");
  if (chosen == NULL || strcmp(chosen, call) != 0) return 0;
  if (atomic_fetch_add(&calls, 1) + 1 < (nth != NULL ? atoi(nth) : 1)) return 0;
  errno = EIO;
  return 1;
}

ssize_t pwrite64(int fd, const void* data, size_t bytes, off64_t offset) {
  static ssize_t (*real)(int, const void*, size_t, off64_t);
  if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, "pwrite64");
  if (!is_ours(fd)) return real(fd, data, bytes, offset);
  if (is_bad("pwrite")) return -1;
  const char* chosen = getenv("BAD_DISK_CALL");
  const int halves = chosen != NULL && strcmp(chosen, "short") == 0 && bytes > 1;
  return real(fd, data, halves ? bytes / 2 : bytes, offset);
}
ssize_t pwrite(int fd, const void* data, size_t bytes, off_t offset) { return pwrite64(fd, data, bytes, offset); }

ssize_t write(int fd, const void* data, size_t bytes) {
  static ssize_t (*real)(int, const void*, size_t);
  if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, "write");
  return is_ours(fd) && is_bad("write") ? -1 : real(fd, data, bytes);
}

int fsync(int fd) {
  static int (*real)(int);
  if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, "fsync");
  return is_ours(fd) && is_bad("fsync") ? -1 : real(fd);
}

int rename(const char* from, const char* to) {
  static int (*real)(const char*, const char*);
  if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, "rename");
  return is_below(to) && is_bad("rename") ? -1 : real(from, to);
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  static int (*real)(int, const char*, int, const char*, unsigned);
  if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, "renameat2");
  return is_below(to) && is_bad("rename") ? -1 : real(from_folder, from, to_folder, to, flags);
}

int mkdir(const char* path, mode_t mode) {
  static int (*real)(const char*, mode_t);
  if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, "mkdir");
  return is_below(path) && is_bad("mkdir") ? -1 : real(path, mode);
}
