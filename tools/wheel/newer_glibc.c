// What libstdc++ 12 takes from a C library that is newer than the oldest one on which a wheel runs.
#include <stdint.h>
#include <sys/random.h>
#include <stdlib.h>

// Whether there has been one thread alone (glibc 2.32): false is always right.
char __libc_single_threaded = 0;

// Random bits of the kernel (glibc 2.36), for std::random_device.
uint32_t arc4random(void) {
  uint32_t bits;
  if (getrandom(&bits, sizeof bits, 0) != (ssize_t)sizeof bits) abort();
  return bits;
}
