// A library that uses the device before the preloaded library's constructors have run, and after
// its destructors: what libLLVM and HIP do. Preloaded objects are constructed last and destroyed
// first.
#include "tests/preload/early_client.h"

#include <fcntl.h>
#include <linux/kfd_ioctl.h>
#include <sys/ioctl.h>

#include <cstdio>

namespace {

int kfd = -1;

__attribute__((constructor)) void begin() {
  kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
  ask_driver("constructor");
}

__attribute__((destructor)) void end() {
  ask_driver("destructor");
}

}  // namespace

void ask_driver(const char* when) {
  kfd_ioctl_get_version_args args{};
  if (ioctl(kfd, AMDKFD_IOC_GET_VERSION, &args) == 0)
    std::printf("%s: version %u\n", when, args.major_version);
  else
    std::printf("%s: no answer\n", when);
}
